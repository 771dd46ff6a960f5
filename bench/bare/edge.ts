/** The edge, without a Gangway beside it, in front of one app. Arguments: the port of the app, a folder of its own. */
import { freePort } from '../gangway.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { lineLogger } from '../../src/lib/line-logger.ts';
import { EdgeKeeper } from '../../src/programs/runner/edge/edge-keeper.ts';
import { EnvSeal } from '../../src/programs/runner/sealed-env.ts';
import { prepareEdgeProgram } from '../../src/drivers/process/program.ts';

const [app = '', dir = ''] = process.argv.slice(2);
const port = await freePort();
const nobody = {
  ownSockets: () => Promise.resolve(new Set<string>()),
  leadIn: () => Promise.resolve(false),
};
const logger = { ...lineLogger('bench'), info: () => undefined };
const seal = new EnvSeal(Buffer.alloc(32));
const own = { stateDir: dir, seal, tenants: () => nobody, uid: null, clock: systemClock, logger };
const keeper = new EdgeKeeper(own);
const { entry: program } = prepareEdgeProgram(dir);
await keeper.configure({ host: '127.0.0.1', port, program });
const targets = [{ host: '127.0.0.1', port: Number(app) }];
await keeper.setRoutes([{ host: '127.0.0.1', targets }]);
process.on('SIGTERM', () => void keeper.close().then(() => process.exit(0)));
console.log(JSON.stringify({ port }));
