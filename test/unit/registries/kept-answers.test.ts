import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lookupsDefinition } from '../../../src/actors/lookups/actor.ts';
import { lookupsActor } from '../../../src/actors/lookups/protocol.ts';
import { ActorRuntime } from '../../../src/actors/runtime/runtime.ts';
import { type AskRegistry, KeptAnswers } from '../../../src/registries/kept-answers.ts';
import type { Question } from '../../../src/registries/questions.ts';
import { tables } from '../../../src/store/records/tables.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { recordingLogger } from '../../support/silent-logger.ts';

const minuteMs = 60_000;
const node: Question = { kind: 'node' };
const npm = (name: string): Question => ({ kind: 'npm', name });
const sources = {
  dockerHubUrl: null,
  dockerRegistryUrl: null,
  nodeIndexUrl: 'https://node.test/index.json',
  npmRegistryUrl: 'https://npm.test',
};

type Said = Awaited<ReturnType<AskRegistry>>;

class Place {
  readonly clock = new ManualClock();
  readonly store = new MemoryStore();
  readonly asked: Question[] = [];
  say: () => Promise<Said> = () => Promise.resolve(this.version('1.0.0'));
  readonly #actors: ActorRuntime;

  constructor() {
    const { store, clock } = this;
    const logger = recordingLogger();
    this.#actors = new ActorRuntime({ store, clock, logger, carry: structuredClone });
    this.#actors.register(lookupsDefinition({ reader: store }));
  }

  /** As a process that begins has it. */
  answers(): KeptAnswers {
    return new KeptAnswers({
      ask: (question) => {
        this.asked.push(question);
        return this.say();
      },
      sources,
      reader: this.store,
      keep: (lookup) => this.#actors.ask(lookupsActor, { type: 'keep', lookup }),
      logger: recordingLogger(),
      clock: this.clock,
    });
  }

  version(version: string, holdMs = 0): Said {
    return { kind: 'found', found: [{ version, lts: false }], holdMs };
  }
}

async function versionOf(answers: KeptAnswers, from: 'live' | 'kept'): Promise<string> {
  const answer = await answers.get({ kind: 'node' });
  assert.equal(answer.kind, 'found');
  assert.equal(answer.from, from);
  return answer.found[0]?.version ?? '';
}

describe('KeptAnswers', () => {
  it('ask once for all who wait, and keep the answer for 15 minutes, over a restart too', async () => {
    const place = new Place();
    const answers = place.answers();
    const all = await Promise.all([answers.get(node), answers.get(node), answers.get(node)]);
    assert.ok(all.every((answer) => answer.kind === 'found'));
    await place.clock.advance(14 * minuteMs);
    assert.equal(await versionOf(place.answers(), 'kept'), '1.0.0');
    assert.equal(place.asked.length, 1);
  });

  it('answer with what is old while it is looked up anew, once', async () => {
    const place = new Place();
    const answers = place.answers();
    await answers.get(node);
    await place.clock.advance(16 * minuteMs);
    const { promise, resolve } = Promise.withResolvers<Said>();
    place.say = () => promise;
    assert.equal(await versionOf(answers, 'kept'), '1.0.0');
    assert.equal(await versionOf(answers, 'kept'), '1.0.0');
    assert.equal(place.asked.length, 2);
    resolve(place.version('2.0.0'));
    await place.clock.advance(1);
    assert.equal(await versionOf(answers, 'kept'), '2.0.0');
    assert.equal(place.asked.length, 2);
  });

  it('wait for a new answer behind a week, and have the old one where none comes', async () => {
    const place = new Place();
    const answers = place.answers();
    await answers.get(node);
    await place.clock.advance(8 * 24 * 60 * minuteMs);
    place.say = () => Promise.resolve({ kind: 'failed', why: 'away', holdMs: 0 });
    assert.equal(await versionOf(answers, 'kept'), '1.0.0');
    await place.clock.advance(2 * minuteMs);
    place.say = () => Promise.resolve(place.version('2.0.0'));
    assert.equal(await versionOf(answers, 'live'), '2.0.0');
  });

  it('leave a source that failed alone for a minute', async () => {
    const place = new Place();
    const answers = place.answers();
    place.say = () => Promise.reject(new Error('the thread ended'));
    assert.deepEqual(await answers.get(node), { kind: 'failed', retryAfterMs: minuteMs });
    assert.equal((await answers.get(node)).kind, 'failed');
    assert.equal(place.asked.length, 1);
    await place.clock.advance(minuteMs);
    await answers.get(node);
    assert.equal(place.asked.length, 2);
  });

  it('ask nothing of a source that wants to be left alone, and others meanwhile', async () => {
    const place = new Place();
    const answers = place.answers();
    place.say = () => Promise.resolve({ kind: 'failed', why: '429', holdMs: 5 * minuteMs });
    await answers.get(npm('a'));
    assert.deepEqual(await answers.get(npm('b')), { kind: 'failed', retryAfterMs: 5 * minuteMs });
    assert.equal(place.asked.length, 1);
    place.say = () => Promise.resolve(place.version('1.0.0'));
    assert.equal(await versionOf(answers, 'live'), '1.0.0');
    await place.clock.advance(5 * minuteMs);
    assert.equal((await answers.get(npm('b'))).kind, 'found');
  });

  it('refuse more questions at a time than 16', async () => {
    const place = new Place();
    const answers = place.answers();
    const { promise, resolve } = Promise.withResolvers<Said>();
    place.say = () => promise;
    const waiting = Array.from({ length: 16 }, (_, i) => answers.get(npm(String(i))));
    await assert.rejects(answers.get(npm('more')), { code: 'OVERLOADED' });
    resolve(place.version('1.0.0'));
    await Promise.all(waiting);
    assert.equal((await answers.get(npm('more'))).kind, 'found');
  });

  it('keep 200, and drop the oldest', async () => {
    const place = new Place();
    const answers = place.answers();
    for (let i = 0; i < 205; i++) {
      await answers.get(npm(String(i)));
      await place.clock.advance(1);
    }
    assert.equal([...place.store.scan(tables.lookups)].length, 200);
    assert.equal(place.store.get(tables.lookups, 'npm 4'), undefined);
    assert.ok(place.store.get(tables.lookups, 'npm 5'));
    assert.ok(place.store.get(tables.lookups, 'npm 204'));
  });

  it('ask nowhere where no source is configured', async () => {
    const place = new Place();
    const answer = await place.answers().get({ kind: 'search', text: 'redis' });
    assert.equal(answer.kind, 'failed');
    assert.deepEqual(place.asked, []);
  });
});
