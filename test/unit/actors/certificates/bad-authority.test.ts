/** An authority that is away, wants to be left alone, or speaks nonsense, in time that a test moves on. */
import assert from 'node:assert/strict';
import { createServer, request, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, beforeEach, describe, it } from 'node:test';
import { renewAtMs } from '../../../../src/actors/certificates/timing.ts';
import { tables } from '../../../../src/store/records/tables.ts';
import { CertificateAuthority } from '../../../support/certificate-authority.ts';
import { AuthorityPlace, CertificatesWorld } from '../../../support/certificates-world.ts';
import { cleanups } from '../../../support/cleanups.ts';
import { eventually } from '../../../support/eventually.ts';
import { ManualClock, settle } from '../../../support/manual-clock.ts';
import type { Pebble } from '../../../support/pebble.ts';
import { needs } from '../../../support/programs.ts';

const [minuteMs, dayMs] = [60_000, 24 * 3_600_000];

interface Said {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** What stands before Pebble: it lets through, is away, or says something itself. */
class AuthorityDoor {
  mode: 'open' | 'away' | Said = 'open';
  asked = 0;
  readonly #server: Server;
  readonly #pebble: URL;
  readonly #ca: string;

  constructor(pebble: Pebble, { chain: cert, key }: { chain: string; key: string }) {
    this.#pebble = new URL(pebble.directory);
    this.#ca = pebble.ca;
    this.#server = createServer({ cert, key }, (from, to) => this.#answer(from, to));
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `https://localhost:${String((this.#server.address() as AddressInfo).port)}/dir`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(from: IncomingMessage, to: ServerResponse): void {
    this.asked++;
    const { mode } = this;
    if (mode === 'away') from.socket.destroy();
    else if (mode !== 'open') to.writeHead(mode.status, mode.headers).end(mode.body);
    else {
      const { hostname: host, port } = this.#pebble;
      const { method, headers, url: path } = from;
      const at = { host, port, servername: '', checkServerIdentity: () => undefined, ca: this.#ca };
      const on = request({ ...at, method, headers, path }, (answer) => {
        to.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(to);
      });
      on.on('error', () => to.destroy());
      from.pipe(on);
    }
  }
}

describe('The certificates actor', { skip: needs('pebble', 'openssl') }, () => {
  const cleanup = cleanups();
  let place: AuthorityPlace;
  let door: AuthorityDoor;
  let directory: string;
  let ca: string;
  let clock: ManualClock;
  let world: CertificatesWorld;
  before(async () => {
    const authority = new CertificateAuthority();
    cleanup(() => authority.close());
    ca = authority.root;
    place = await AuthorityPlace.open();
    cleanup(() => place.close());
    const pebble = await place.pebble({ validitySeconds: (90 * dayMs) / 1000 });
    door = new AuthorityDoor(pebble, authority.issue(['localhost']));
    directory = await door.open();
    cleanup(() => door.close());
  });
  beforeEach(() => {
    door.mode = 'open';
    clock = new ManualClock(Date.now());
    world = new CertificatesWorld(place, { directory, ca }, {}, clock);
    const one = world;
    cleanup(() => one.stop());
  });

  /** While time passes. */
  const passing = (what: string, look: () => boolean, stepMs = 1000): Promise<void> =>
    eventually(what, async () => {
      await clock.advance(stepMs);
      return look();
    });
  const orderOf = (id: string) => world.store.get(tables.certificateOrders, id);
  const triesOf = (id: string): number => {
    const { failures = 0, outages = 0 } = orderOf(id) ?? {};
    return failures + outages;
  };
  /** So many refusals and outages, of which the last has ended. */
  const tried = async (id: string, [refusals, away]: [number, number]): Promise<void> => {
    await eventually(`${String(refusals)} refusals and ${String(away)} outages`, () => {
      const { failures = 0, outages = 0 } = orderOf(id) ?? {};
      return failures === refusals && outages === away;
    });
    await settle();
  };

  it('keeps a certificate in use while the authority is away for an hour, and renews it behind that, and a crash', async () => {
    const id = world.add('kept.example');
    world.start();
    await passing('a certificate', () => world.certificate(id) !== undefined);
    const first = world.certificate(id);
    assert.ok(first);
    await clock.advance(renewAtMs(first) - clock.now() - 1000);
    door.mode = 'away';
    const untilMs = clock.now() + 60 * minuteMs;
    const waits: number[] = [];
    while (clock.now() < untilMs) {
      const tries = triesOf(id);
      await passing('a try', () => triesOf(id) > tries);
      const waitMs = (orderOf(id)?.nextTryAtMs ?? 0) - clock.now();
      waits.push(waitMs / minuteMs);
      assert.equal(world.certificate(id)?.id, first.id);
      assert.equal(world.domain(id).status, 'active');
      await clock.advance(waitMs - 1000);
    }
    assert.ok(waits.length >= 5 && waits.length <= 9, waits.join());
    // Some of a wait may have passed before it is looked at.
    const grows = waits.every((wait, at) => wait > (waits[at - 1] ?? 0) - 0.2 && wait <= 15);
    assert.ok(grows, waits.join());
    door.mode = 'open';
    await passing('the order', () => orderOf(id)?.url != null, 10_000);
    await world.stop();
    assert.equal(world.certificate(id)?.id, first.id);
    world.start();
    await passing('another certificate', () => world.certificate(id)?.id !== first.id);
    await passing('the end of the order', () => orderOf(id) === undefined);
    assert.equal(world.domain(id).status, 'active');
  });

  it('asks an authority again when that wants, and when it makes sense again', async () => {
    const id = world.add('patient.example');
    const words = 'too many of these';
    const type = 'urn:ietf:params:acme:error:rateLimited';
    const body = JSON.stringify({ type, detail: words });
    door.mode = { status: 429, headers: { 'retry-after': '7200' }, body };
    world.start();
    await passing('its words', () => world.domain(id).error?.includes(words) === true);
    const { asked } = door;
    for (let minute = 0; minute < 110; minute += 10) await clock.advance(10 * minuteMs);
    assert.equal(door.asked, asked);
    door.mode = { status: 503, headers: { 'retry-after': '600' } };
    await passing('another try', () => door.asked > asked, minuteMs);
    await eventually('what came of it', () => orderOf(id)?.error?.includes('503') === true);
    const later = door.asked;
    await clock.advance(9 * minuteMs);
    assert.equal(door.asked, later);
    door.mode = { status: 200, body: '<html>' };
    await passing('one more', () => door.asked > later, minuteMs);
    await eventually('what came of it', () => orderOf(id)?.error?.includes('503') === false);
    assert.notEqual(world.domain(id).status, 'active');
    door.mode = 'open';
    await passing('a certificate', () => world.certificate(id) !== undefined, 10_000);
    assert.deepEqual([world.domain(id).status, world.domain(id).error], ['active', null]);
  });

  it('asks again for who wants it, once the time is over that the authority has asked for', async () => {
    const id = world.add('hurried.example');
    const asksFor = (status: number, seconds: number): void => {
      door.mode = { status, headers: { 'retry-after': String(seconds) } };
    };
    asksFor(429, 60);
    world.start();
    await tried(id, [1, 0]);
    await clock.advance(59_000);
    world.order(id);
    await clock.advance(1000);
    assert.equal(orderOf(id)?.failures, 1);
    asksFor(503, 1);
    world.order(id);
    await tried(id, [1, 1]);
    await clock.advance(1000);
    asksFor(429, 7200);
    world.order(id);
    await tried(id, [2, 0]);
    await clock.jump(-minuteMs);
    world.order(id);
    await tried(id, [3, 0]);
  });

  it('waits behind a first refusal no longer because the authority was away before', async () => {
    const id = world.add('later.example');
    door.mode = 'away';
    world.start();
    for (let outages = 1; outages < 5; outages++) {
      await tried(id, [0, outages]);
      world.order(id);
    }
    await tried(id, [0, 5]);
    const type = 'urn:ietf:params:acme:error:unauthorized';
    door.mode = { status: 403, body: JSON.stringify({ type, detail: 'not you' }) };
    world.order(id);
    await tried(id, [1, 0]);
    assert.equal((orderOf(id)?.nextTryAtMs ?? 0) - clock.now(), 5 * minuteMs);
  });

  it('takes what several orders meet at once for one outage', async () => {
    const ids = Array.from({ length: 8 }, (_, i) => world.add(`blip-${String(i)}.example`));
    door.mode = 'away';
    world.start();
    await eventually('all to meet it', () => ids.every((id) => triesOf(id) === 1));
    const [{ asked }, sinceMs] = [door, clock.now()];
    await passing('another try', () => door.asked > asked);
    assert.ok(clock.now() - sinceMs < 2 * minuteMs);
  });

  for (const other of [null, 'a.blocked.example']) {
    const meanwhile = other === null ? '' : ', though another is refused meanwhile';
    it(`renews a certificate of minutes in time${meanwhile}`, async () => {
      const hasty = await place.pebble({ validitySeconds: 360, blocked: ['blocked.example'] });
      world = new CertificatesWorld(place, hasty, {}, clock);
      const one = world;
      cleanup(() => one.stop());
      const id = world.add('brief.example');
      world.start();
      await passing('a certificate', () => world.certificate(id) !== undefined);
      const first = world.certificate(id);
      assert.ok(first);
      await clock.advance(first.notBeforeMs + 3 * minuteMs - clock.now());
      if (other !== null) {
        const refused = world.add(other);
        world.order(refused);
        await eventually('a refusal', () => world.domain(refused).status === 'failed');
      }
      await clock.advance(renewAtMs(first) - clock.now());
      await passing('another one', () => world.certificate(id)?.id !== first.id, 500);
      assert.ok(clock.now() < first.notAfterMs);
    });
  }
});
