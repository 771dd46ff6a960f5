/**
 * What the clients of a quiet tenant wait while another one attacks, against when nobody does. Needs root, as
 * all that keeps tenants apart does.
 */
import type { Bench, Scenario } from '../harness.ts';
import { quietAnswer } from '../hostile/app.ts';
import { attacks } from '../hostile/attacks.ts';
import { Place } from '../hostile/place.ts';
import { once } from '../load/http.ts';
import { openLoop, openLoopNote } from '../load/open-loop.ts';
import type { OpenResult } from '../load/open-loop.ts';
import { row } from '../model.ts';
import type { Row } from '../model.ts';
import { middles } from '../rounds.ts';

/** Of each kind. Few, so that what is measured is how others are waited for, and not how many fit. */
const perSecond = 100;
const connections = 10;
const rounds = 3;
const [ratioMax, p99MaxMs] = [3, 100];

const kinds = {
  edge: 'a request to the app of another, 99th percentile',
  health: 'a health check, 99th percentile',
} as const;

type Kind = keyof typeof kinds;
type Waits = Record<Kind, OpenResult[]>;

export const scenario: Scenario = {
  title: 'what a quiet tenant waits while another one attacks, against when nobody does',
  async run(bench) {
    if (process.getuid?.() !== 0)
      throw new Error('it needs root: nothing else keeps tenants apart');
    const place = await Place.open(bench);
    const idle: Waits = { edge: [], health: [] };
    const measured: [what: string, waits: Waits][] = [];
    // What runs for the first time takes longer than any attack.
    await measure(bench, place, { edge: [], health: [] });
    for (const attack of attacks(bench.quick)) {
      await bench.eachRound(1, () => measure(bench, place, idle));
      const underWay = await place.begin(attack);
      const waits: Waits = { edge: [], health: [] };
      await bench.eachRound(rounds, async () => {
        // What clients do begins before what is measured.
        const pestering = underWay.clients(secondsOf(bench) + 1);
        await new Promise((resolve) => setTimeout(resolve, bench.pick(700, 200)));
        await Promise.all([measure(bench, place, waits), pestering]);
      });
      await underWay.end();
      measured.push([attack.what, waits]);
    }
    return measured.flatMap(([what, waits]) => rowsOf(what, waits, idle));
  },
};

function secondsOf(bench: Bench): number {
  return bench.pick(3, 1);
}

async function measure(bench: Bench, place: Place, waits: Waits): Promise<void> {
  const { edge, panel, quietHost } = place;
  const common = { connections, perSecond, seconds: secondsOf(bench) };
  const headers = { host: quietHost };
  const health = { path: '/api/health' };
  const healthy = (await once(panel, health)).toString();
  const [ofEdge, ofHealth] = await Promise.all([
    openLoop(bench, edge, {
      ...common,
      calls: ['/', '/fresh'].map((path) => {
        return { request: { path, headers }, share: 1, expected: quietAnswer };
      }),
    }),
    openLoop(bench, panel, {
      ...common,
      calls: [{ request: health, share: 1, expected: healthy }],
    }),
  ]);
  waits.edge.push(ofEdge);
  waits.health.push(ofHealth);
}

function rowsOf(group: string, waits: Waits, idle: Waits): Row[] {
  const rowOf = (kind: Kind): Row => {
    const [ours, quiet] = [waits[kind], idle[kind]].map((list) => list.map((one) => one.latency));
    const all = middles({ ours: ours ?? [], idle: quiet ?? [] });
    const { p50 = 0, max = 0 } = all['ours'] ?? {};
    const late = openLoopNote(waits[kind].map((one) => one.late));
    return row({
      group,
      what: kinds[kind],
      unit: 'ms',
      better: 'lower',
      rounds: {
        ours: (ours ?? []).map(({ p99 }) => p99),
        idle: (quiet ?? []).map(({ p99 }) => p99),
      },
      percentiles: all,
      goals: [{ against: 'idle', ratio: ratioMax }, { value: p99MaxMs }],
      note: `median ${p50.toFixed(1)}, longest ${max.toFixed(0)} ms; ${late}`,
    });
  };
  return [rowOf('edge'), rowOf('health')];
}
