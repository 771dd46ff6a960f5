/** Owns what the agent serves of its machine: files, programs, and connections to what runs here. */
import { join } from 'node:path';

import type { Driver } from '../../drivers/driver.ts';
import { prepareAppsRoot } from '../../drivers/process/apps-root.ts';
import { prepareToolchain } from '../../drivers/process/toolchain.ts';
import { buildEnvOf } from '../../lib/build-env.ts';
import type { Logger } from '../../lib/log.ts';
import { inlineExtractor } from '../../places/inline-extractor.ts';
import { dropIncoming, servedPlace } from '../../places/served-place.ts';
import { thisMachine } from '../../places/this-machine.ts';
import type { AgentServices } from '../../protocol/agent-link.ts';

export interface PlaceServicesOptions {
  /** Absolute. */
  dataDir: string;
  /** Of its runner. */
  driver: Pick<Driver, 'inspect' | 'probe'>;
  logger: Logger;
}

export async function placeServices({
  dataDir,
  driver,
  logger,
}: PlaceServicesOptions): Promise<AgentServices> {
  const root = await prepareAppsRoot({ dataDir, logger });
  const { appsRoot } = root;
  const incoming = join(dataDir, 'incoming');
  await dropIncoming(incoming);
  let prepared: Promise<unknown> | undefined;
  const prepareTools = (): Promise<unknown> => {
    const asked = (prepared ??= prepareToolchain({ appsRoot, logger }));
    asked.catch(() => {
      if (prepared === asked) prepared = undefined;
    });
    return asked;
  };
  const machine = thisMachine({
    ...{ appsRoot: root, runs: 'host', extractor: inlineExtractor, prepareTools, logger },
    buildEnv: buildEnvOf(process.env),
  });
  return servedPlace({
    ...{ appsRoot, machine, incoming, logger },
    listens: (workload, host, port) => listens(driver, { workload, host, port }),
  });
}

/** At an address of its own nobody else does. */
async function listens(
  driver: Pick<Driver, 'inspect' | 'probe'>,
  { workload, host, port }: { workload: string; host: string; port: number },
): Promise<boolean> {
  const found = await driver.inspect(workload);
  if (found?.state.phase !== 'running') return false;
  if (found.address?.host === host) return true;
  return found.spec.port === port && (await driver.probe(workload)) === 'listening';
}
