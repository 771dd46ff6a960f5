/** Breaks of what holds the service together, which tests noticed from the first. */
import type { Break } from './break.ts';

const runtime = ['unit/actors/runtime/runtime.test.ts'];
const rates = ['unit/lib/rate-limit.test.ts'];
const rights = ['unit/auth/rights/authorize.test.ts'];
const authenticator = ['unit/auth/callers/authenticator.test.ts'];
const untrusted = ['unit/lib/untrusted-files/folder.test.ts'];
const instance = ['unit/commands/instance-restore.test.ts'];
const bulk = ['unit/archives/receiving/bulk-pool.test.ts'];

export const core: readonly Break[] = [
  {
    name: 'mailboxes give the newest message first',
    file: 'src/actors/runtime/cell.ts',
    find: '        const envelope = this.#mailbox.shift();',
    replace: '        const envelope = this.#mailbox.pop();',
    tests: runtime,
  },
  {
    name: 'mailboxes have no bound',
    file: 'src/actors/runtime/cell.ts',
    find: 'if (this.#mailbox.length >= mailboxMax && envelope.report === undefined) {',
    replace: 'if (mailboxMax < 0) {',
    tests: runtime,
  },
  {
    name: 'replies leave before what they report is durable',
    file: 'src/actors/runtime/cell.ts',
    find: '      activation.gate(() => envelope.resolve(reply), envelope.reject);',
    replace: '      envelope.resolve(reply);',
    tests: runtime,
  },
  {
    name: 'reports outlive the activation of their work',
    file: 'src/actors/runtime/activation.ts',
    find: "    signal.addEventListener('abort', drop, { once: true });\n",
    replace: '',
    tests: runtime,
  },
  {
    name: 'rates never run out',
    file: 'src/lib/rate-limit.ts',
    find: 'waitS === 0 ? 1 : 0',
    replace: '0',
    tests: rates,
  },
  {
    name: 'rates never refill',
    file: 'src/lib/rate-limit.ts',
    find: 'bucket.tokens + passedMs * this.#tokensPerMs);\n    bucket.atMs',
    replace: 'bucket.tokens);\n    bucket.atMs',
    tests: rates,
  },
  {
    name: 'a token may what its owner may',
    file: 'src/auth/rights/authorize.ts',
    find: "if (token !== null && !(whole && token.capabilities.includes(need))) return 'lacking';",
    replace: '',
    tests: rights,
  },
  {
    name: 'members may anything',
    file: 'src/auth/rights/authorize.ts',
    find: "return personHolds(reader, principal.userId, place, need) ? 'yes' : 'lacking';",
    replace: "return 'yes';",
    tests: rights,
  },
  {
    name: 'strangers see a team',
    file: 'src/auth/rights/authorize.ts',
    find: "if (!reader.get(tables.members, [place.teamId, principal.userId])) return 'invisible';",
    replace: '',
    tests: rights,
  },
  {
    name: 'a revoked token is remembered',
    file: 'src/auth/callers/authenticator.ts',
    find: '      this.#tokens.clear();\n',
    replace: '',
    tests: authenticator,
  },
  {
    name: 'cookies with a wrong signature are good',
    file: 'src/auth/callers/session-cookie.ts',
    find: 'return given.length === right.length && timingSafeEqual(given, right) ? token : null;',
    replace: 'return given.length === right.length ? token : null;',
    tests: authenticator,
  },
  {
    name: 'requests of other sites count',
    file: 'src/gateway/credentials.ts',
    find: "if (origin !== '' && isOurs(origin, publicUrl)) return;",
    replace: "if (origin !== '' || isOurs(origin, publicUrl)) return;",
    tests: ['unit/gateway/credentials.test.ts'],
  },
  {
    name: 'the edge keeps its old routes',
    file: 'src/programs/edge/routes.ts',
    find: '    this.#routes = this.#toMap(routes);\n    this.#refusedAtMs',
    replace: '    this.#refusedAtMs',
    tests: ['unit/programs/edge/edge.test.ts'],
  },
  {
    name: 'the edge trusts whoever took a connection',
    file: 'src/programs/edge/upstreams.ts',
    find: 'if (isSame && !socket.destroyed)',
    replace: 'if (!socket.destroyed)',
    tests: ['unit/programs/edge/upstreams.test.ts'],
  },
  {
    name: 'a mark counts under any uid',
    file: 'src/lib/processes/processes.ts',
    find: 'uidOf(info.pid) !== uid',
    replace: 'uidOf(info.pid) === undefined',
    tests: ['unit/lib/processes/processes.test.ts'],
  },
  {
    name: 'the lock of a runner is taken from one that lives',
    file: 'src/programs/runner/lock.ts',
    find: '&& lives(holder)',
    replace: '&& !lives(holder)',
    tests: ['unit/programs/runner/lock.test.ts'],
  },
  {
    name: 'Last-Event-ID is ignored',
    file: 'src/gateway/transports/log-query.ts',
    find: 'after: resumed ?? after,',
    replace: 'after,',
    tests: ['unit/gateway/transports/log-query.test.ts'],
  },
  {
    name: 'refused archives are left behind',
    file: 'src/archives/receiving/receiver.ts',
    find: '      const broken = this.#file.failure;\n      await this.#remove();',
    replace: '      const broken = this.#file.failure;',
    tests: bulk,
  },
  {
    name: 'secrets of an app are not redacted',
    file: 'src/mcp/redaction/redaction.ts',
    find: 'return this.#index.isClean(text) ? text : this.#text(text);',
    replace: 'return text;',
    tests: ['unit/mcp/redaction/redactor.test.ts'],
  },
  {
    name: 'retention takes all segments',
    file: 'src/logs/files/writer.ts',
    find: 'const drop = young === -1 ? segments.length : young;',
    replace: 'const drop = segments.length;',
    tests: ['unit/logs/files/writer.test.ts'],
  },
  {
    name: 'archives have any number of entries',
    file: 'src/archives/formats/limits.ts',
    find: 'if (++this.#entries > this.#limits.entriesMax) {',
    replace: 'if (++this.#entries > Infinity) {',
    tests: ['unit/archives/formats/tar.test.ts', 'unit/archives/formats/zip.test.ts'],
  },
  {
    name: 'a link that an app puts in the place of a folder is followed',
    file: 'src/lib/untrusted-files/folder.ts',
    find: 'O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path',
    replace: 'O_RDONLY | O_DIRECTORY), path',
    tests: untrusted,
  },
  {
    name: 'a second name of somebody else’s file shows it',
    file: 'src/lib/untrusted-files/folder.ts',
    find: 'found.nlink > 1 &&',
    replace: 'found.nlink > 9 &&',
    tests: untrusted,
  },
  {
    name: 'the last chunk of an encrypted backup is not marked',
    file: 'src/backups/streams/age/payload.ts',
    find: '    this.#nonce[11] = isLast ? 1 : 0;',
    replace: '    this.#nonce[11] = isLast ? 0 : 0;',
    tests: ['unit/backups/streams/age.test.ts'],
  },
  {
    name: 'the instance is backed up where nothing is encrypted',
    file: 'src/actors/backup/backups.ts',
    find: "if (this.target.kind !== 'instance') return;",
    replace: 'return;',
    tests: ['unit/actors/backup/instance.test.ts'],
  },
  {
    name: 'an instance comes back with a link in the place of a folder of ours',
    file: 'src/backups/restores/instance-unpacking.ts',
    find: 'return path.length > above.length;',
    replace: 'return true;',
    tests: instance,
  },
  {
    name: 'an instance comes back with a folder of ours that is theirs',
    file: 'src/backups/restores/instance-unpacking.ts',
    find: 'theirs.test(path) ? owner.uid : ownUid',
    replace: 'owner.uid',
    tests: instance,
  },
  {
    name: 'an instance that is restored removes what it is restored from',
    file: 'src/commands/instance-restore.ts',
    find: "status === 'running' || status === 'verifying'",
    replace: "status !== 'running' && status === 'verifying'",
    tests: instance,
  },
];
