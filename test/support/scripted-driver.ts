/**
 * A driver in memory: workloads are what a test says of them. It outlives the runtime under test,
 * as a real one does, so that a test can discard everything else and begin again over it.
 */
import type { Driver, DriverEvent, Pipe, Terminal, Volumes } from '../../src/drivers/driver.ts';
import type {
  EdgeCertificate,
  EdgeRoute,
  Exit,
  LogEntry,
  Workload,
  WorkloadSpec,
  ExecOutcome,
  Usage,
  WorkloadState,
} from '../../src/protocol/workload.ts';
import type { Listener } from '../../src/lib/processes/listening-sockets.ts';
import type { ScriptedImages } from './scripted-images.ts';

interface Running {
  spec: WorkloadSpec;
  state: WorkloadState;
  probe: 'listening' | 'silent' | 'foreign';
  address: Workload['address'];
  waiters: (() => void)[];
}

/** What becomes of a workload as soon as it is started. */
export type Script = (spec: WorkloadSpec) => {
  /** A job or service ends at once with this code. */
  exitCode?: number;
  /** It never starts, and says so. */
  failure?: string;
  probe?: 'listening' | 'silent' | 'foreign';
  health?: 'starting' | 'healthy' | 'unhealthy';
  address?: Workload['address'];
};

export class ScriptedDriver implements Driver {
  readonly name;
  readonly runs;
  /** Null: it runs programs of the machine. */
  readonly images: ScriptedImages | null;
  volumes: Volumes | null = null;
  readonly started: WorkloadSpec[] = [];
  readonly removed: string[] = [];
  /** Where everything listens besides. */
  listening: Listener[] = [];
  readonly removedVolumes: string[] = [];
  /** Throws what a start is refused with. */
  beforeStart: (spec: WorkloadSpec) => void = () => undefined;
  readonly output = new Map<string, string[]>();
  routes: readonly EdgeRoute[] = [];
  certificates: readonly EdgeCertificate[] = [];
  /** Each set of routes the edge was given, for what it saw in between. */
  readonly routed: (readonly EdgeRoute[])[] = [];
  script: Script = (spec) => (spec.kind === 'job' ? { exitCode: 0 } : { probe: 'listening' });
  readonly #running = new Map<string, Running>();
  readonly #listeners = new Set<(event: DriverEvent) => void>();
  #port = 20_000;

  constructor(images: ScriptedImages | null = null) {
    this.images = images;
    this.name = images === null ? ('process' as const) : ('docker' as const);
    this.runs = images === null ? ('host' as const) : ('image' as const);
  }

  open(): Promise<void> {
    return Promise.resolve();
  }

  async start(spec: WorkloadSpec): Promise<Workload> {
    const known = this.#running.get(spec.id);
    if (known !== undefined) return toWorkload(known);
    await Promise.resolve();
    this.beforeStart(spec);
    this.started.push(spec);
    const { exitCode, failure, probe = 'silent', health, address } = this.script(spec);
    const running: Running = {
      spec,
      state: { phase: 'running', startedAtMs: 0, restarts: 0, ...(health && { health }) },
      probe,
      address,
      waiters: [],
    };
    this.#running.set(spec.id, running);
    if (exitCode !== undefined) this.end(spec.id, { code: exitCode });
    if (failure !== undefined) {
      this.end(spec.id, { code: null, reason: 'failed_to_start', detail: failure });
    }
    return toWorkload(running);
  }

  inspect(id: string): Promise<Workload | undefined> {
    const running = this.#running.get(id);
    return Promise.resolve(running && toWorkload(running));
  }

  list(): Promise<Workload[]> {
    return Promise.resolve([...this.#running.values()].map(toWorkload));
  }

  stop(id: string): Promise<void> {
    if (this.#running.has(id)) this.end(id, { code: null, signal: 'SIGTERM', reason: 'stopped' });
    return Promise.resolve();
  }

  async remove(id: string): Promise<void> {
    await this.stop(id);
    if (this.#running.delete(id)) this.removed.push(id);
  }

  watch(listener: (event: DriverEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async follow(
    id: string,
    afterSeq: number,
    sink: (entries: readonly LogEntry[]) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const lines = this.output.get(id) ?? [];
    const entries = lines.map((line, i) => ({
      seq: i + 1,
      atMs: 0,
      stream: 'stdout' as const,
      bytes: Buffer.from(`${line}\n`),
    }));
    await sink(entries.filter(({ seq }) => seq > afterSeq));
    const running = this.#running.get(id);
    if (running === undefined || running.state.phase === 'ended' || signal.aborted) return;
    await new Promise<void>((resolve) => {
      running.waiters.push(resolve);
      signal.addEventListener('abort', () => {
        resolve();
      });
    });
  }

  acknowledge(): void {
    // Nothing is kept that could be dropped.
  }

  probe(id: string): Promise<'listening' | 'silent' | 'foreign'> {
    return Promise.resolve(this.#running.get(id)?.probe ?? 'silent');
  }

  listeners(): Promise<Listener[]> {
    return Promise.resolve(this.listening);
  }

  openTerminal(): Promise<Terminal> {
    return Promise.reject(new Error('A scripted driver has no terminals'));
  }

  attach(): Promise<Terminal> {
    return Promise.reject(new Error('A scripted driver has no terminals'));
  }

  exec(): Promise<ExecOutcome> {
    return Promise.reject(new Error('A scripted driver has no terminals'));
  }

  pipe(): Promise<Pipe> {
    return Promise.reject(new Error('A scripted driver has no programs'));
  }

  usage(): Promise<Usage | undefined> {
    return Promise.resolve(undefined);
  }

  removeVolume(name: string): Promise<void> {
    this.removedVolumes.push(name);
    return Promise.resolve();
  }

  removeVolumesOf(owner: string): Promise<void> {
    this.removedVolumes.push(`${owner}-data`);
    return Promise.resolve();
  }

  answers(): Promise<boolean> {
    return Promise.resolve(true);
  }

  freePort(): Promise<number> {
    return Promise.resolve((this.#port += 1));
  }

  setRoutes(routes: readonly EdgeRoute[]): Promise<void> {
    this.routes = routes;
    this.routed.push(routes);
    return Promise.resolve();
  }

  setCertificates(certificates: readonly EdgeCertificate[]): Promise<void> {
    this.certificates = certificates;
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Ends a workload for good. */
  end(id: string, exit: Partial<Exit>): void {
    const full = { code: 0, signal: null, reason: 'exited', detail: null, atMs: 0 } as const;
    this.#change(id, { phase: 'ended', exit: { ...full, ...exit } });
  }

  /** A service that ended by itself and waits for its next start. */
  crash(id: string, restarts: number, exit: Partial<Exit> = {}, nextStartAtMs = 0): void {
    const full = { code: 1, signal: null, reason: 'exited', detail: null, atMs: 0 } as const;
    const lastExit = { ...full, ...exit };
    this.#change(id, { phase: 'waiting', restarts, nextStartAtMs, lastExit });
  }

  /** A service whose port somebody else has taken. */
  squat(id: string, restarts: number): void {
    const lastExit = { code: 1, signal: null, reason: 'exited', detail: null, atMs: 0 } as const;
    const state = { phase: 'waiting', restarts, nextStartAtMs: 0, lastExit } as const;
    this.#change(id, { ...state, portTaken: true });
  }

  revive(id: string, restarts: number, lastExit?: Exit): void {
    const before = lastExit && { lastExit };
    this.#change(id, { phase: 'running', startedAtMs: 0, restarts, ...before });
  }

  setProbe(id: string, probe: Running['probe']): void {
    const running = this.#running.get(id);
    if (running) running.probe = probe;
  }

  /** Forgets everything, as a machine that lost its power. */
  lose(): void {
    this.#running.clear();
  }

  get ids(): string[] {
    return [...this.#running.keys()];
  }

  /** Host and targets of a route, such as `web.test` and `['127.0.0.1:20001']`. */
  targets(host: string): string[] | undefined {
    const route = this.routes.find((one) => one.host === host);
    return route?.targets.map((target) => `${target.host}:${String(target.port)}`);
  }

  #change(id: string, state: WorkloadState): void {
    const running = this.#running.get(id);
    if (running === undefined) throw new Error(`no workload ${id}`);
    running.state = state;
    if (state.phase === 'ended') for (const resolve of running.waiters.splice(0)) resolve();
    const event = { type: 'state', workload: toWorkload(running) } as const;
    for (const listener of this.#listeners) listener(event);
  }
}

function toWorkload({ spec, state, address }: Running): Workload {
  const { id, owner, kind, port } = spec;
  return { spec: { id, owner, kind, port }, state, ...(address && { address }) };
}
