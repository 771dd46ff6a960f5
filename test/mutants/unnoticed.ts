/** Breaks that no test noticed once. */
import type { Break } from './break.ts';

const times = ['scenario/times.test.ts'];
const options = ['scenario/options.test.ts'];
const network = ['scenario/options-network.test.ts'];
const threads = ['scenario/options-threads.test.ts'];
const power = ['scenario/power-cut.test.ts'];
const endings = ['scenario/endings.test.ts'];
const oauth = ['scenario/oauth-refusals.test.ts'];
const deployments = ['unit/actors/app/deploying/deployments.test.ts'];

/** An option that is read and goes nowhere. */
function ignored(
  option: string,
  file: string,
  [find, replace]: readonly [string, string],
  tests: readonly string[],
): Break {
  return { name: `option ${option} is ignored`, file, find, replace, tests };
}

export const unnoticed: readonly Break[] = [
  {
    name: 'LMDB is opened without sync',
    file: 'src/store/files/environment.ts',
    find: 'overlappingSync: false,',
    replace: 'overlappingSync: false, noSync: true,',
    tests: power,
  },
  {
    name: 'log segments are never synced',
    file: 'src/logs/files/open-log.ts',
    find: 'if (this.#fd !== undefined) await dataSync(this.#fd);',
    replace: '',
    tests: power,
  },
  {
    name: 'feeds acknowledge lines that are not on disk',
    file: 'src/logs/live/feed.ts',
    find: 'await writer.sync(log);',
    replace: '',
    tests: power,
  },
  {
    name: 'archives are never synced',
    file: 'src/archives/receiving/receiver.ts',
    find: 'await this.#file.sync();',
    replace: '',
    tests: power,
  },
  {
    name: 'the folder of an archive is never synced',
    file: 'src/archives/receiving/receiver.ts',
    find: 'await folder.sync();',
    replace: '',
    tests: power,
  },
  {
    name: 'PKCE is not required of clients with a secret',
    file: 'src/auth/oauth/library.ts',
    find: 'allowUnauthenticatedClientRegistration: true,',
    replace: 'allowUnauthenticatedClientRegistration: true, clientRegistrationRequirePKCE: false,',
    tests: oauth,
  },
  {
    name: 'a consent counts in any session',
    file: 'src/auth/oauth/provider.ts',
    find: "if (params.get('ba_pl') !== person.sessionId) return null;",
    replace: '',
    tests: oauth,
  },
  {
    name: 'a remembered token outlives its expiry',
    file: 'src/auth/callers/authenticator.ts',
    find: 'if (found === null || found.expiresAtMs <= now || !isFor) throw badToken();',
    replace: 'if (found === null || !isFor) throw badToken();',
    tests: times,
  },
  {
    name: 'access tokens live for a day',
    file: 'src/auth/oauth/lifetimes.ts',
    find: 'export const accessTokenMs = 3_600_000;',
    replace: 'export const accessTokenMs = 86_400_000;',
    tests: times,
  },
  {
    name: 'codes live for an hour',
    file: 'src/auth/oauth/lifetimes.ts',
    find: 'export const codeMs = 60_000;',
    replace: 'export const codeMs = 3_600_000;',
    tests: times,
  },
  {
    name: 'healthPath accepts any status',
    file: 'src/actors/app/running/health.ts',
    find: 'status >= 200 && status < 400 ? null',
    replace: 'status >= 100 ? null',
    tests: options,
  },
  {
    name: 'log retention is never applied',
    file: 'src/service/platform.ts',
    find: '    this.#retain();\n    logger.info',
    replace: '    logger.info',
    tests: options,
  },
  ignored(
    'logQuotaMb',
    'src/service/platform.ts',
    ['quotaBytes: config.logQuotaMb * 2 ** 20', 'quotaBytes: Infinity'],
    options,
  ),
  ignored(
    'logMaxDays',
    'src/service/platform.ts',
    ["store.get(tables.instance, 'instance')?.logMaxDays ?? config.logMaxDays", '14'],
    options,
  ),
  ignored(
    'maxUploadMb',
    'src/service/front.ts',
    ['archiveBytes: config.maxUploadMb * 2 ** 20,', ''],
    options,
  ),
  ignored(
    'bodyIdleSeconds',
    'src/service/front.ts',
    ['idleMs: config.bodyIdleSeconds * 1000,', ''],
    options,
  ),
  ignored(
    'buildConcurrency',
    'src/service/actors.ts',
    ['concurrency: config.buildConcurrency', 'concurrency: 2'],
    options,
  ),
  ignored(
    'buildTimeoutMinutes',
    'src/service/actors.ts',
    ['buildTimeoutMs: config.buildTimeoutMinutes * 60_000,', ''],
    options,
  ),
  ignored(
    'healthTimeoutSeconds',
    'src/service/actors.ts',
    ['healthTimeoutMs: config.healthTimeoutSeconds * 1000,\n      drainMs', 'drainMs'],
    options,
  ),
  ignored(
    'appDrainSeconds',
    'src/service/actors.ts',
    ['drainMs: config.appDrainSeconds * 1000,', ''],
    options,
  ),
  ignored('maxSockets', 'src/service/front.ts', ['maxSockets: config.maxSockets,', ''], network),
  ignored(
    'maxHeaderKb',
    'src/service/front.ts',
    ['headerBytes: config.maxHeaderKb * 1024,', ''],
    network,
  ),
  ignored(
    'inlineQueryCost',
    'src/service/graphql.ts',
    ['limits: { inlineCost: config.inlineQueryCost },', ''],
    threads,
  ),
  ignored(
    'queryThreads',
    'src/service/graphql.ts',
    ['threads: options.queryThreads', 'threads: 1'],
    threads,
  ),
  ignored(
    'bulkThreads of those that unpack',
    'src/service/platform.ts',
    ['extractors: config.bulkThreads', 'extractors: 1'],
    threads,
  ),
  ignored(
    'edgeHost',
    'src/service/edge-settings.ts',
    ['const address = { host, port,', "const address = { host: '127.0.0.1', port,"],
    options,
  ),
  ignored(
    'edgeTlsPort',
    'src/service/edge-settings.ts',
    [', ...(tlsPort !== null && { tlsPort }) };', ' };'],
    options,
  ),
  ignored(
    'drainSeconds',
    'src/service/front.ts',
    ['drainMs: config.drainSeconds * 1000,', ''],
    endings,
  ),
  {
    name: 'surplus activity is never dropped',
    file: 'src/actors/activity/actor.ts',
    find: 'while (surplus > 0) {',
    replace: 'while (false) {',
    tests: options,
  },
  {
    name: 'surplus activity waits for the next day',
    file: 'src/service/platform.ts',
    find: "this.actors.inside.tell(activityLog, { type: 'trim', teamId })",
    replace: 'void teamId',
    tests: options,
  },
  {
    name: 'activity is never pruned',
    file: 'src/service/platform.ts',
    find: "this.actors.inside.tell(activityLog, { type: 'prune' });",
    replace: '',
    tests: options,
  },
  ignored(
    'activityDays',
    'src/actors/activity/actor.ts',
    ['clock.now() - days * dayMs', 'clock.now() - 365 * dayMs'],
    options,
  ),
  {
    name: 'apps and databases stay in trash for ever',
    file: 'src/actors/workload/deps.ts',
    find: 'trashMs = 7 * 24 * 3_600_000;',
    replace: 'trashMs = 700 * 24 * 3_600_000;',
    tests: times,
  },
  {
    name: 'apps and databases leave trash after an hour',
    file: 'src/actors/workload/deps.ts',
    find: 'trashMs = 7 * 24 * 3_600_000;',
    replace: 'trashMs = 3_600_000;',
    tests: times,
  },
  {
    name: 'deployments are kept without bound',
    file: 'src/actors/app/deps.ts',
    find: 'deploymentsKept: 200,',
    replace: 'deploymentsKept: Infinity,',
    tests: deployments,
  },
  {
    name: 'deployments that fail are kept without bound',
    file: 'src/actors/app/deploying/deployments.ts',
    find: 'const old = this.#outdated(finished);',
    replace:
      "const old = status === 'ready' ? this.#outdated(finished) : { records: [], changes: [] };",
    tests: deployments,
  },
  {
    name: 'wrong invite links are unlimited',
    file: 'src/auth/sign-in/invitations.ts',
    find: 'const retryAfterS = this.#failures.take(networkOf(origin.address));',
    replace: 'const retryAfterS = networkOf(origin.address) === null ? 1 : 0;',
    tests: times,
  },
  {
    name: 'a second signal is ignored',
    file: 'src/service/serve.ts',
    find: 'endNow: () => void this.#exitNow(),',
    replace: 'endNow: () => undefined,',
    tests: endings,
  },
  {
    name: 'a lost gateway thread does not end the process',
    file: 'src/service/serve.ts',
    find: "logger.fatal({ err }, 'gateway_thread_lost');\n      void this.#exitNow();",
    replace: "logger.fatal({ err }, 'gateway_thread_lost');",
    tests: ['scenario/last-resort.test.ts'],
  },
  {
    name: 'limits that are not enforced are not logged',
    file: 'src/programs/runner/limits/limits.ts',
    find: 'else logger.warn',
    replace: 'else logger.debug',
    tests: ['unit/programs/runner/limits/limits.test.ts'],
  },
  {
    name: 'consoles send no comment for minutes',
    file: 'src/consoles/consoles.ts',
    find: 'pingMs: 15_000,',
    replace: 'pingMs: 150_000,',
    tests: times,
  },
];
