/** Addresses that containers have of their own. The daemon is restarted. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type Docker from 'dockerode';
import type { DockerDaemon } from '../support/docker-daemon.ts';
import { nodeImage } from '../support/docker-images.ts';
import { containerSpec } from '../support/docker-place.ts';
import type { DockerPlace } from '../support/docker-place.ts';
import { until } from '../support/driver-specs.ts';

export function addresses(
  open: () => { place: DockerPlace; docker: Docker; daemon: DockerDaemon },
): void {
  describe('an address of its own', () => {
    let place: DockerPlace;
    let docker: Docker;
    let daemon: DockerDaemon;
    before(() => {
      ({ place, docker, daemon } = open());
    });

    const serving = async (id: string, network = 'team') => {
      const port = await place.driver.freePort();
      const program = `require('http').createServer((q, r) => q.url === '/die' ? process.exit(1) : r.end('${id}')).listen(${String(port)})`;
      const container = {
        ...{ image: nodeImage, port: null, volumes: [], network, aliases: [id] },
        reachedAt: 'address' as const,
      };
      const command = ['node', '-e', program];
      await place.driver.start(
        containerSpec({ id, command, kind: 'service', port, container, stopGraceMs: 100 }),
      );
      await until('it listens', async () => (await place.driver.probe(id)) === 'listening');
      const { address } = (await place.driver.inspect(id)) ?? {};
      assert.ok(address);
      assert.equal(address.port, port);
      return { ...address, url: `http://${address.host}:${String(port)}` };
    };
    const answerOf = async (url: string): Promise<string> => (await fetch(url)).text();

    it('is the only place where it is reached, and stays its own whatever happens', async () => {
      const one = await serving('placed-1');
      const other = await serving('placed-2');
      assert.notEqual(one.host, other.host);
      assert.equal(await answerOf(one.url), 'placed-1');
      await assert.rejects(fetch(`http://127.0.0.1:${String(one.port)}`));
      const view = await docker.getContainer(`gangway-${place.instance}-placed-1`).inspect();
      assert.deepEqual(view.HostConfig.PortBindings ?? {}, {});
      // While one is down the other starts anew: an address that is given back would be taken.
      await assert.rejects(answerOf(`${one.url}/die`));
      await docker.getContainer(`gangway-${place.instance}-placed-2`).restart({ t: 0 });
      await until('both answer', async () => {
        const answers = [one, other].map(({ url }) => answerOf(url).catch(() => ''));
        return (await Promise.all(answers)).join() === 'placed-1,placed-2';
      });
      await daemon.restart();
      assert.equal(await answerOf(one.url), 'placed-1');
      const again = await place.reopen();
      assert.deepEqual((await again.inspect('placed-2'))?.address, { host: other.host, port: other.port }); // prettier-ignore
      await again.close();
      for (const id of ['placed-1', 'placed-2']) await place.driver.remove(id);
    });

    it('is there also when we ended while its network was made', async () => {
      const Name = `gangway-${place.instance}-net-early`;
      const Labels = { 'gangway.instance': place.instance };
      await docker.createNetwork({ Name, Labels });
      const { host } = await serving('placed-3', 'early');
      assert.match(host, /^\d+\.\d+\.\d+\.\d+$/);
      await place.driver.remove('placed-3');
    });
  });
}
