import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, beforeEach, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import manifest from '../../../package.json' with { type: 'json' };
import { instanceStatus } from '../../../src/service/instance-status.ts';
import type { DeploymentRecord } from '../../../src/store/records/records.ts';
import { put } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { cleanups } from '../../support/cleanups.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { freePort } from '../../support/ports.ts';

describe('instanceStatus()', () => {
  const later = cleanups();
  const edge = createServer((socket) => socket.destroy());
  let dataDir: string;
  let store: MemoryStore;
  let asked: number;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'gangway-status-'));
    await new Promise<void>((resolve) => edge.listen(0, '127.0.0.1', resolve));
    later(() => new Promise<void>((resolve) => void edge.close(() => resolve())));
  });
  beforeEach(() => {
    store = new MemoryStore();
    asked = 0;
  });

  const look = async (edgePort: number, manifestFile = join(dataDir, 'package.json')) =>
    instanceStatus({
      config: { dataDir, edgeHost: '127.0.0.1', edgePort },
      reader: store,
      startedAtMs: 5,
      placeAnswers: () => {
        asked += 1;
        return Promise.resolve(false);
      },
      warnings: () => ['Something is open.'],
      manifestFile: pathToFileURL(manifestFile),
    });
  const edgePort = (): number => (edge.address() as { port: number }).port;
  const deploy = (): void => {
    const record = { id: 'dpl_1', appId: 'app_1', status: 'ready' } as unknown as DeploymentRecord;
    store.write([put(tables.deployments, record)]);
  };

  it('tells what runs, what is installed, and how much there is of the machine', async () => {
    await writeFile(join(dataDir, 'package.json'), '{"version": "9.9.9"}');
    const { machine, ...status } = await look(edgePort());
    assert.deepEqual(status, {
      version: manifest.version,
      installedVersion: '9.9.9',
      nodeVersion: process.versions.node,
      startedAtMs: 5,
      placeAnswers: null,
      edgeAnswers: null,
      warnings: ['Something is open.'],
    });
    assert.ok(machine.cores >= 1 && machine.load >= 0 && machine.system !== '');
    assert.ok(machine.memoryFreeBytes > 0 && machine.memoryFreeBytes <= machine.memoryBytes);
    assert.ok(machine.diskFreeBytes > 0 && machine.diskFreeBytes <= machine.diskBytes);
  });

  it('takes the version that runs for the one installed while that cannot be read', async () => {
    await writeFile(join(dataDir, 'half'), '{"version": "9.');
    assert.equal((await look(1, join(dataDir, 'half'))).installedVersion, manifest.version);
    assert.equal((await look(1, join(dataDir, 'none'))).installedVersion, manifest.version);
  });

  it('asks the place and the edge once something was deployed, and starts nothing before', async () => {
    await look(edgePort());
    assert.equal(asked, 0);
    deploy();
    const well = await look(edgePort());
    assert.equal(asked, 1);
    assert.deepEqual([well.placeAnswers, well.edgeAnswers], [false, true]);
    const { edgeAnswers } = await look(await freePort());
    assert.equal(edgeAnswers, false);
  });
});
