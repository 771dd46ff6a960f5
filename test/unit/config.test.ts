import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ConfigError, resolveConfig, variableOf } from '../../src/config.ts';

const dir = mkdtempSync(join(tmpdir(), 'gangway-config-'));
after(() => {
  rmSync(dir, { recursive: true });
});

function file(content: string): string {
  const path = join(dir, 'config.json');
  writeFileSync(path, content);
  return path;
}

describe('resolveConfig()', () => {
  it('gives the defaults, with an absolute data directory and the edge on the same host', () => {
    const { config, unknownVariables } = resolveConfig({});
    assert.equal(config.port, 3000);
    assert.equal(config.publicUrl, null);
    assert.equal(config.edgeHost, '127.0.0.1');
    assert.equal(config.dataDir, join(process.cwd(), 'data'));
    assert.deepEqual(unknownVariables, []);
  });

  it('lets the file override the defaults and the environment override the file', () => {
    const path = file('{"port": 4000, "logLevel": "warn"}');
    const { config } = resolveConfig({ GANGWAY_CONFIG: path, GANGWAY_PORT: '5000' });
    assert.equal(config.port, 5000);
    assert.equal(config.logLevel, 'warn');
  });

  it('reads lists from one text and normalises the public URL', () => {
    const { config } = resolveConfig({
      GANGWAY_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8,fd00::/8',
      GANGWAY_PUBLIC_URL: 'https://Panel.Example.com/',
    });
    assert.deepEqual(config.trustedProxies, ['127.0.0.1', '10.0.0.0/8', 'fd00::/8']);
    assert.equal(config.publicUrl, 'https://panel.example.com');
  });

  it('leaves out the layers of isolation that are named, in any order and as often as they are', () => {
    const without = (value: string) =>
      resolveConfig({ GANGWAY_ISOLATION_WITHOUT: value }).config.isolationWithout;
    assert.deepEqual(without(''), []);
    assert.deepEqual(without('network, mount,network'), ['mount', 'network']);
    const path = file('{"isolationWithout": ["uts", "cgroup"]}');
    const { config } = resolveConfig({ GANGWAY_CONFIG: path });
    assert.deepEqual(config.isolationWithout, ['cgroup', 'uts']);
  });

  it('takes absolute folders of backups, as paths without a detour', () => {
    const roots = (value: string) =>
      resolveConfig({ GANGWAY_BACKUP_ROOTS: value }).config.backupRoots;
    assert.deepEqual(roots('/mnt/a/, /mnt/b/../c'), ['/mnt/a', '/mnt/c']);
    for (const value of ['backups', '/', '/mnt/..']) {
      assert.throws(() => roots(value), /GANGWAY_BACKUP_ROOTS.*absolute paths/);
    }
  });

  it('takes one gateway thread up to two cores, else half of them, unless it is told how many', () => {
    const threads = (value?: string) =>
      resolveConfig(value === undefined ? {} : { GANGWAY_GATEWAY_THREADS: value }).config
        .gatewayThreads;
    const cores = availableParallelism();
    assert.equal(threads(), cores <= 2 ? 1 : Math.floor(cores / 2));
    assert.equal(threads('auto'), threads());
    assert.equal(threads('3'), 3);
  });

  const wrong: [string, string, RegExp][] = [
    ['GANGWAY_PORT', '70000', /"port" \(GANGWAY_PORT\): "70000".*integer from 0 to 65535/],
    ['GANGWAY_PORT', '65536', /integer from 0 to 65535/],
    ['GANGWAY_PORT', '80x', /integer/],
    ['GANGWAY_PORT', '', /integer/],
    ['GANGWAY_RUNTIME', 'podman', /"runtime".*"auto", "process"/],
    ['GANGWAY_PUBLIC_URL', 'ftp://x', /http or https URL/],
    ['GANGWAY_PUBLIC_URL', 'https://x/path', /without path/],
    ['GANGWAY_APPS_DOMAIN', 'UPPER_case', /domain name/],
    ['GANGWAY_TRUSTED_PROXIES', '10.0.0.0/33', /CIDRs/],
    ['GANGWAY_TRUSTED_PROXIES', 'proxy', /CIDRs/],
    ['GANGWAY_LOG_LEVEL', 'loud', /"debug"/],
    ['GANGWAY_METRICS', 'loopback', /"off", "admin", "all"/],
    ['GANGWAY_METRICS_NETWORKS', 'prometheus', /CIDRs/],
    ['GANGWAY_METRICS_TOKEN', 'short', /a value that is not shown.*16 to 512 visible/],
    ['GANGWAY_METRICS_TOKEN', 'with a space in the middle', /a value that is not shown/],
    ['GANGWAY_ISOLATION_WITHOUT', 'network,mounts', /"network,mounts".*list out of cgroup, pid, /],
    ['GANGWAY_ISOLATION_WITHOUT', 'all', /such as "network,mount"/],
    ['GANGWAY_GATEWAY_THREADS', '0', /"auto", or an integer from 1 to 64/],
    ['GANGWAY_GATEWAY_THREADS', 'many', /"auto", or an integer/],
  ];
  for (const [name, value, message] of wrong) {
    it(`refuses ${name}=${value} with one line that names option, value and what is allowed`, () => {
      assert.throws(
        () => resolveConfig({ [name]: value }),
        (error) =>
          error instanceof ConfigError &&
          message.test(error.message) &&
          error.message.includes(name) &&
          (error.message.includes(JSON.stringify(value)) || error.message.includes('not shown')) &&
          !error.message.includes('\n'),
      );
    });
  }

  it('does not show a wrong instance key', () => {
    assert.throws(
      () => resolveConfig({ GANGWAY_INSTANCE_KEY: 'hunter2' }),
      (error) => error instanceof ConfigError && !error.message.includes('hunter2'),
    );
  });

  it('refuses an unknown key in the file and a file that cannot be read', () => {
    assert.throws(() => resolveConfig({ GANGWAY_CONFIG: file('{"prot": 1}') }), /no option "prot"/);
    assert.throws(() => resolveConfig({ GANGWAY_CONFIG: file('{') }), /cannot read/);
    assert.throws(() => resolveConfig({ GANGWAY_CONFIG: file('[]') }), /no JSON object/);
    assert.throws(() => resolveConfig({ GANGWAY_CONFIG: join(dir, 'none') }), /cannot read/);
  });

  it('names the GANGWAY variables that are no option', () => {
    const { unknownVariables } = resolveConfig({ GANGWAY_PROT: '1', OTHER: '1' });
    assert.deepEqual(unknownVariables, ['GANGWAY_PROT']);
  });
});

describe('variableOf()', () => {
  it('turns an option into its variable', () => {
    assert.equal(variableOf('maxLogStreamsPerUser'), 'GANGWAY_MAX_LOG_STREAMS_PER_USER');
  });
});
