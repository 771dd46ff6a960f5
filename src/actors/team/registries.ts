/**
 * Owns the registries of a team: where its images come from, and with which login.
 *
 * 1. A password is stored sealed, and leaves only to the driver that pulls.
 * 2. A team has one registry for each host, so a host always has one login.
 */
import { isIP } from 'node:net';
import { ServiceError } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { checkedName } from '../../lib/names.ts';
import type { RegistryRecord } from '../../store/records/records.ts';
import { insert, take } from '../../store/records/table.ts';
import { tables } from '../../store/records/tables.ts';
import type { SecretBox } from '../workload/deps.ts';
import { bad } from '../app/settings/validate.ts';
import type { NewRegistry, TeamHandlers } from './protocol.ts';
import type { Team } from './team.ts';

const registriesMax = 100;
const loginMax = 255;
/** Tokens of cloud providers come close to this length. */
const passwordMax = 16 * 1024;

export function registryHandlers(team: Team) {
  const { id: teamId, reader, clock, secrets, context } = team;
  return {
    'registry-add': async ({ registry: input }) => {
      team.require();
      const { password, ...wanted } = checkRegistry(input);
      team.mustHaveRoom(tables.registries, registriesMax, 'registries');
      const nowMs = clock.now();
      const id = newId('reg', nowMs);
      const sealed = password === null ? null : secrets.seal(password, contextOf(id));
      const registry: RegistryRecord = { id, teamId, ...wanted, sealed, createdAtMs: nowMs };
      await context.commit([insert(tables.registries, registry)]);
      return registry;
    },
    'registry-remove': async ({ registryId }) => {
      if (reader.get(tables.registries, registryId)?.teamId !== teamId) {
        throw new ServiceError('NOT_FOUND', 'No such registry.');
      }
      await context.commit([take(tables.registries, registryId)]);
      return true;
    },
  } satisfies TeamHandlers;
}

/** The password of a registry; null for one without. */
export function openRegistryPassword(
  secrets: SecretBox,
  { id, sealed }: Readonly<RegistryRecord>,
): string | null {
  return sealed === null ? null : secrets.open(sealed, contextOf(id));
}

/** The registry in its stored form: trimmed, the host in lower case. Throws BAD_USER_INPUT. */
function checkRegistry(input: NewRegistry): NewRegistry {
  const name = checkedName(input.name, 'A registry name');
  const username = (input.username ?? '').trim() || null;
  const password = input.password === '' ? null : input.password;
  if ((username === null) !== (password === null)) {
    throw bad('Give username and password together, or neither.');
  }
  if (username !== null && (username.length > loginMax || /[\p{Cc}:]/u.test(username))) {
    throw bad('username has at most 255 characters, none of them a control character or ":".');
  }
  if (
    password !== null &&
    (Buffer.byteLength(password) > passwordMax || /[\0\r\n]/.test(password))
  ) {
    throw bad('password has at most 16 KiB, on one line.');
  }
  return { name, host: checkHost(input.host), username, password };
}

const hostLabel = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const hostPattern = new RegExp(`^(${hostLabel}(\\.${hostLabel})*)(:(\\d{1,5}))?$`);

/** `host` or `host:port`, as it stands before an image's name. */
function checkHost(given: string): string {
  const host = given.trim().toLowerCase();
  const [, name = '', , , , , port] = hostPattern.exec(host) ?? [];
  const portFits = port === undefined || (Number(port) >= 1 && Number(port) <= 65_535);
  // Without a dot or a port, the first part of an image's name counts as a folder of Docker Hub.
  const isHost = name === 'localhost' || name.includes('.') || port !== undefined;
  const isNumber = /^[\d.]+$/.test(name) && isIP(name) === 0;
  // Clouds keep secrets of the machine at these addresses.
  if (name.startsWith('169.254.') && isIP(name) !== 0) {
    throw bad('host must not be a link-local address.');
  }
  if (name === '' || name.length > 253 || !portFits || !isHost || isNumber) {
    throw bad('host must be a host name with or without port, such as registry.example:5000.');
  }
  return hubNames.has(host) ? 'docker.io' : host;
}

/** Other names of the registry of images without a host. */
const hubNames: ReadonlySet<string> = new Set(['index.docker.io', 'registry-1.docker.io']);

function contextOf(registryId: string): string {
  return `registry:${registryId}`;
}
