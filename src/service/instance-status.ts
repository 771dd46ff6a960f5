/** Owns how the instance is, as its administrator is told: versions, the machine, and what answers. */
import { readFile, statfs } from 'node:fs/promises';
import os from 'node:os';
import manifest from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import type { InstanceStatus, MachineStatus } from '../graphql/context.ts';
import { accepts } from '../lib/connect.ts';
import type { Reader } from '../store/reader-and-journal.ts';
import { isUsed } from './runtime-choice.ts';

export interface InstanceStatusOptions {
  config: Pick<Config, 'dataDir' | 'edgeHost' | 'edgePort'>;
  reader: Reader;
  startedAtMs: number;
  placeAnswers: () => Promise<boolean>;
  warnings: () => string[];
  /** Where the installed version stands. */
  manifestFile?: URL;
}

const edgeMs = 2_000;
const ownManifest = new URL('../../package.json', import.meta.url);

export async function instanceStatus(options: InstanceStatusOptions): Promise<InstanceStatus> {
  const { config, reader, startedAtMs, manifestFile = ownManifest } = options;
  // Neither runs before something is deployed, and nothing is started to be asked.
  const isInUse = isUsed(reader);
  const [placeAnswers, edgeAnswers, installedVersion, machine] = await Promise.all([
    isInUse ? options.placeAnswers() : null,
    isInUse ? accepts({ host: config.edgeHost, port: config.edgePort }, edgeMs) : null,
    versionIn(manifestFile),
    machineStatus(config.dataDir),
  ]);
  return {
    version: manifest.version,
    installedVersion,
    nodeVersion: process.versions.node,
    startedAtMs,
    placeAnswers,
    edgeAnswers,
    warnings: options.warnings(),
    machine,
  };
}

async function versionIn(file: URL): Promise<string> {
  try {
    return (JSON.parse(await readFile(file, 'utf8')) as typeof manifest).version;
  } catch {
    // It is being replaced at this moment.
    return manifest.version;
  }
}

async function machineStatus(dataDir: string): Promise<MachineStatus> {
  const { blocks, bavail, bsize } = await statfs(dataDir);
  return {
    name: os.hostname(),
    system: `${os.type()} ${os.release()} ${os.machine()}`,
    cores: os.availableParallelism(),
    load: os.loadavg()[0] ?? 0,
    memoryBytes: os.totalmem(),
    memoryFreeBytes: os.freemem(),
    diskBytes: blocks * bsize,
    diskFreeBytes: bavail * bsize,
  };
}
