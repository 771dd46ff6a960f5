import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { chooseRuntime } from '../../../src/service/runtime-choice.ts';
import type { DeploymentRecord } from '../../../src/store/records/records.ts';
import { put } from '../../../src/store/records/table.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { MemoryStore } from '../../support/memory-store.ts';

describe('the runtime of an instance', () => {
  let dataDir: string;
  let store: MemoryStore;
  let daemon: Server | null = null;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'gangway-runtime-'));
    store = new MemoryStore();
  });
  afterEach(async () => {
    await end();
    await rm(dataDir, { recursive: true, force: true });
  });

  const socket = (): string => join(dataDir, 'docker.sock');
  const listen = async (status = 200): Promise<void> => {
    daemon = createServer((_request, response) => {
      if (status === 0) return;
      response.writeHead(status).end('OK');
    });
    await new Promise<void>((resolve) => daemon?.listen(socket(), resolve));
  };
  const end = async (): Promise<void> => {
    daemon?.closeAllConnections();
    await new Promise<void>((resolve) => {
      if (daemon === null) resolve();
      else
        daemon.close(() => {
          resolve();
        });
    });
    daemon = null;
  };
  const choose = async (runtime: 'auto' | 'process' | 'docker' = 'auto') => {
    const config = { dataDir, runtime, dockerSocket: socket() };
    const choice = await chooseRuntime({ config, reader: store, pingMs: 1_500 });
    return choice.runtime;
  };
  const deploy = (image: boolean): void => {
    const inImage = { image: { name: 'a', label: 'a', port: null, pulled: null } };
    const plan = {
      kind: 'node',
      startCommand: 'x',
      staticDir: null,
      ...(image && inImage),
    } as const;
    const id = 'dpl_1';
    const record = { id, appId: 'app_1', status: 'ready', plan } as unknown as DeploymentRecord;
    store.write([put(tables.deployments, record)]);
  };

  it('is docker when its socket answers, else process', async () => {
    assert.equal(await choose(), 'process');
    await listen();
    assert.equal(await choose(), 'docker');
    await end();
    assert.equal(await choose(), 'process', 'nothing was deployed yet');
  });

  it('is process when the socket refuses or says nothing in time', async () => {
    await listen(500);
    assert.equal(await choose(), 'process');
    await end();
    await listen(0);
    assert.equal(await choose(), 'process');
  });

  it('stays what the first deployment was made with', async () => {
    await choose();
    deploy(false);
    await listen();
    assert.equal(await choose(), 'process');
  });

  it('stays docker while the daemon is away', async () => {
    await listen();
    await choose();
    deploy(true);
    await end();
    assert.equal(await choose(), 'docker');
  });

  it('is told by the releases where nothing else tells it', async () => {
    deploy(true);
    assert.equal(await choose(), 'docker');
    await rm(join(dataDir, 'runtime'));
    deploy(false);
    await listen();
    assert.equal(await choose(), 'process');
  });

  it('is what is configured, whatever there is', async () => {
    await listen();
    assert.equal(await choose('process'), 'process');
    deploy(false);
    assert.equal(await choose('docker'), 'docker');
    assert.equal(await choose('auto'), 'docker', 'what it was last');
  });
});
