/** Owns what people are told when an image cannot be had, and which code that is. */
import { ServiceError } from '../../../lib/errors.ts';
import { isAway, statusOf, unreachable, wordsOf } from '../engine/engine.ts';

const detailMax = 500;
/** Of a command that is named. */
const commandMax = 200;
/** Of what a failed step says, which repeats its whole command: looked at for more than its end. */
const wordsMax = 8192;

/** What a pull, or the first step of a build, failed with. Null: nothing about registries. */
export function registryFailure(
  reference: string,
  words: string,
  withLogin: boolean,
): ServiceError | null {
  const refused = (detail: string): ServiceError => new ServiceError('REGISTRY_REFUSED', detail);
  if (/toomanyrequests|rate limit/i.test(words)) {
    return refused(`The registry of ${reference} gives no more for now: too many requests.`);
  }
  if (/pull access denied|repository does not exist/i.test(words) && !withLogin) {
    return notFound(`There is no image ${reference}, or its registry wants a login.`);
  }
  if (/unauthorized|authentication required|denied|forbidden|no basic auth/i.test(words)) {
    return refused(
      withLogin
        ? `The registry refused ${reference} with the login it was given.`
        : `The registry refused ${reference}: it wants a login.`,
    );
  }
  if (/no matching manifest|no match for platform/i.test(words)) {
    return notFound(`There is no image ${reference} for this kind of machine.`);
  }
  if (/manifest unknown|manifest for .* not found|name unknown|no such image/i.test(words)) {
    return notFound(`There is no image ${reference}.`);
  }
  if (/invalid reference|invalid tag|must be lowercase/i.test(words)) {
    return notFound(`${reference} names no image.`);
  }
  if (
    /dial tcp|no such host|i\/o timeout|connection refused|x509|Client\.Timeout|EOF|TLS/.test(words)
  ) {
    return refused(`The registry of ${reference} is not reached.`);
  }
  return null;
}

/** A failed build in the daemon's words: they repeat steps of the Dockerfile, and no variables. */
export function buildFailure(all: string, hosts: ReadonlySet<string>): ServiceError {
  const words = all.slice(0, wordsMax);
  // A step that ran says nothing of the daemon or of registries, whatever words stand in it.
  const step = /exit code: (\d+)\s*$/.exec(all.slice(-64));
  if (step) {
    const said = `${commandIn(all)} ended with exit code ${step[1] ?? ''}.`;
    return new ServiceError('IMAGE_BUILD_FAILED', `The build failed: ${said}`);
  }
  if (isEnding(words)) return unreachable(words);
  const image = imageIn(words);
  if (image !== undefined) {
    const host = image.split('/')[0] ?? '';
    const registry = registryFailure(image.replace(/:$/, ''), words, hosts.has(host));
    if (registry) return registry;
  }
  if (/no space left/i.test(words)) {
    return new ServiceError('IMAGE_BUILD_FAILED', 'The disk of the server is full.');
  }
  return new ServiceError('IMAGE_BUILD_FAILED', `The build failed: ${cut(words)}`);
}

/** The first line of the command that a step ran, as the builder repeats it. */
function commandIn(words: string): string {
  const [, open = ''] = /^[^"[]{0,200}(["[])/.exec(words) ?? [];
  const from = words.indexOf(open) + open.length;
  const to = words.lastIndexOf(open === '[' ? ']' : open);
  const command = open === '' || to < from ? words : words.slice(from, to);
  const [line = ''] = command
    .slice(0, wordsMax)
    .replace(shell, '')
    .split(/\n|\\n/);
  return line.length <= commandMax ? line : `${line.slice(0, commandMax)} …`;
}

/** What a builder puts in front of a line for the shell. */
const shell = /^\/bin\/(ba)?sh -\w*c /;

/** The image that the words are about. */
function imageIn(words: string): string | undefined {
  const resolved = /source metadata for (\S+?):? /.exec(words)?.[1];
  if (resolved !== undefined) return resolved;
  const asked = /https?:\/\/([^/\s"]+)\/v2\/(?:(\S+)\/manifests\/([^\s"]+))?/.exec(words);
  if (asked) {
    const [, host = '', repository, tag] = asked;
    return repository === undefined ? `${host}/…` : `${host}/${repository}:${tag ?? ''}`;
  }
  const host = /pulling from host (\S+) failed/.exec(words)?.[1];
  if (host !== undefined) return `${host}/…`;
  if (words.includes('failed to create LLB definition')) return 'that it starts from';
  return /(?:access denied for|manifest for|image) ([^\s,]+)/.exec(words)?.[1];
}

/** Of a request that did not come to an answer. */
export function asFailure(error: unknown, code: 'IMAGE_BUILD_FAILED' | 'IMAGE_NOT_FOUND'): unknown {
  if (error instanceof ServiceError) return error;
  if (isAway(error)) return unreachable(error);
  if (statusOf(error) === undefined) return error;
  if (isEnding(wordsOf(error))) return unreachable(error);
  // The client puts the status in front of what the daemon says.
  const words = cut(wordsOf(error).replace(/^\(HTTP code \d+\) [^-]*- /, ''));
  const said = code === 'IMAGE_BUILD_FAILED' ? `The build failed: ${words}` : words;
  return new ServiceError(code, said, { cause: error });
}

/** What a daemon says of everything that is under way when it ends; or it had no moment to hear us. */
function isEnding(words: string): boolean {
  return /context canceled|shutting down|no active session|grpc: the client connection is closing/i.test(
    words,
  );
}

function notFound(detail: string): ServiceError {
  return new ServiceError('IMAGE_NOT_FOUND', detail);
}

function cut(words: string): string {
  if (words.length <= detailMax) return words;
  // The end says how it ended.
  return `${words.slice(0, detailMax - 100)} … ${words.slice(-100)}`;
}
