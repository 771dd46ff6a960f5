/** Clients of HTTP/2 that ask for much and take nothing: what the edge holds for all of them is bounded. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { CertificateAuthority } from '../support/certificate-authority.ts';
import { EdgePlace } from '../support/edge-place.ts';
import { eventually } from '../support/eventually.ts';
import { data, headers, host, post, pseudo, setting } from '../support/http2-cases.ts';
import { endHeaders, preface, RawHttp2 } from '../support/http2-frames.ts';
import { needs } from '../support/programs.ts';
import { recordingLogger } from '../support/silent-logger.ts';

const slow = 'b.localhost';
const mebibyte = 1024 * 1024;
const streams = Array.from({ length: 120 }, (_, at) => at * 2 + 1);

describe('hoards of HTTP/2', { skip: needs('openssl') }, () => {
  let authority: CertificateAuthority;
  let place: EdgePlace;
  let logger: ReturnType<typeof recordingLogger>;
  const hoarders: RawHttp2[] = [];
  before(async () => {
    authority = new CertificateAuthority();
    logger = recordingLogger();
    const tenants = {
      ownSockets: () => new Promise<never>(() => undefined),
      ownPlace: () => undefined,
      leadIn: () => Promise.resolve(false),
    };
    place = await new EdgePlace({ logger, tenants, heldBytesMax: 2 * mebibyte }).open();
    await place.listenTls();
    place.edge.setCertificates([authority.issue([host, slow])]);
    const large = Buffer.alloc(400_000, 'x');
    const { port } = await place.app((req, res) => res.end(req.url === '/large' ? large : 'here'));
    const target = { host: '127.0.0.1', port };
    place.edge.setRoutes([
      { host, targets: [target] },
      // Nothing is sent before it is known who listens there.
      { host: slow, targets: [{ ...target, workload: 'wl_1' }] },
    ]);
  });
  after(async () => {
    for (const { socket } of hoarders) socket.destroy();
    await place.close();
    authority.close();
  });

  const open = (name: string): Promise<RawHttp2> =>
    RawHttp2.open(place.tlsPort, name, authority.root);
  const ended = (): number =>
    logger.records.filter(({ event }) => event === 'edge_session_ended').length;
  /** Three of them, beside somebody who asks for little. */
  const costsTheirs = async (name: string, ...frames: readonly Buffer[]): Promise<void> => {
    const before = ended();
    const other = await open(host);
    other.write(preface, headers(1, pseudo));
    await eventually('an answer', () => other.isAnswered(1));
    for (let count = 0; count < 3; count++) {
      const hoarder = await open(name);
      hoarders.push(hoarder);
      hoarder.socket.pause();
      hoarder.write(preface, ...frames);
    }
    await eventually('the end of one', () => ended() > before);
    other.write(headers(3, pseudo));
    await eventually('an answer', () => other.isAnswered(3));
    assert.equal(other.body(3), 'here');
    other.socket.destroy();
    for (const { socket } of hoarders.splice(0)) socket.destroy();
  };

  it('of answers cost the sessions that hoard', () =>
    costsTheirs(
      host,
      setting(4, 2 ** 31 - 1),
      ...streams.map((stream) => headers(stream, pseudo.with(2, [':path', '/large']))),
    ));

  it('of bodies, in frames of few bytes, cost the sessions that hoard', () => {
    const head = post.with(3, [':authority', slow]);
    const bodies = Array.from({ length: 200 }, () =>
      streams.map((id) => data(id, 'x'.repeat(40), 0)),
    );
    const heads = streams.map((stream) => headers(stream, head, endHeaders));
    return costsTheirs(slow, ...heads, ...bodies.flat());
  });
});
