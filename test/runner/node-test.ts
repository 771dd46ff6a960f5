/**
 * What `import ... from 'node:test'` gives a test file of a run, besides all that Node gives:
 *
 * 1. Hooks have a limit.
 * 2. Tests of a skipped suite are counted. Node does not look into those, so that two hundred tests
 *    could be missing without a word. Here `describe()` with a reason to skip names each test of its
 *    body as skipped for that reason, and runs neither tests nor hooks.
 */
import * as node from 'node:test';
import { testMs } from './limits.ts';

export const { mock, run, snapshot, suite } = node;

type Hook = typeof node.before;

const limited =
  (original: Hook): Hook =>
  (fn, options) => {
    original(fn, { timeout: testMs, ...options });
  };
const hooks = {
  before: limited(node.before),
  after: limited(node.after),
  beforeEach: limited(node.beforeEach),
  afterEach: limited(node.afterEach),
};

// Other modules see what these become, as long as it is that.
export let describe = describeOr(undefined);
export let it: typeof node.it = node.it;
export let test: typeof node.test = node.test;
export let { before, after, beforeEach, afterEach } = hooks;

/** `outer`: why the suite around is skipped. */
function describeOr(outer: string | undefined): typeof node.describe {
  const counting = (...args: unknown[]): unknown => {
    const [reason, body] = [outer ?? reasonIn(args), args.at(-1)];
    if (reason === undefined || typeof body !== 'function') {
      return Reflect.apply(node.describe, undefined, args);
    }
    return node.describe(String(args[0]), () => {
      within(reason, body as () => void);
    });
  };
  return Object.assign(counting, node.describe);
}

function reasonIn(args: unknown[]): string | undefined {
  const options = args.length > 2 ? (args[1] as { skip?: unknown } | undefined) : undefined;
  return typeof options?.skip === 'string' ? options.skip : undefined;
}

function within(reason: string, body: () => void): void {
  const outside = { describe, it, test };
  const skipped = (name: unknown): unknown => node.it(String(name), { skip: reason });
  const none = (): void => undefined;
  describe = describeOr(reason);
  it = Object.assign(skipped, node.it) as typeof node.it;
  test = it;
  before = after = beforeEach = afterEach = none;
  try {
    body();
  } catch {
    // It opens what is not there on the way; the tests that follow can't be counted.
    skipped('the other tests of this suite');
  } finally {
    ({ describe, it, test } = outside);
    ({ before, after, beforeEach, afterEach } = hooks);
  }
}
