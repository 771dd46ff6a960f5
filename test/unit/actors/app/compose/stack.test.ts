import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { partsOf } from '../../../../../src/actors/app/compose/parts.ts';
import { readStack } from '../../../../../src/actors/app/compose/stack.ts';
import type { Stack } from '../../../../../src/actors/app/compose/stack.ts';

const read = (
  text: string,
  variables: Record<string, string> = {},
  port: number | null = null,
): Promise<Stack> => readStack(text, { variables, port });

/** A file of one service that is fine but for what is added. */
const web = (more: string, top = ''): string =>
  `services:\n  web: {image: nginx, ports: ["80"], ${more}}\n${top}`;

describe('readStack()', () => {
  it('starts what others wait for first, and gives the traffic to what publishes a port', async () => {
    const stack = await read(`
      services:
        site:
          image: registry.example/site:2
          ports: ["8080:3000"]
          depends_on: { db: { condition: service_healthy }, migrate: { condition: service_completed_successfully } }
        migrate: { image: registry.example/site:2, command: npm run migrate, restart: "no", depends_on: [db] }
        db:
          image: postgres:17
          expose: [5432]
          volumes: [data:/var/lib/postgresql/data]
          healthcheck: { test: [CMD, pg_isready], interval: 5s, retries: 3 }
      volumes:
        data:
    `);
    assert.deepEqual(
      stack.services.map(({ name }) => name),
      ['db', 'migrate', 'site'],
    );
    assert.equal(stack.main, 'site');
    const [db, migrate, site] = stack.services;
    assert.deepEqual(db?.settings.health, {
      test: ['CMD', 'pg_isready'],
      intervalMs: 5000,
      timeoutMs: null,
      startPeriodMs: null,
      retries: 3,
    });
    assert.deepEqual(db.volumes, [
      { name: 'data', path: '/var/lib/postgresql/data', readOnly: false },
    ]);
    assert.deepEqual(migrate?.command, ['npm', 'run', 'migrate']);
    assert.equal(migrate.runsOnce, true);
    assert.equal(site?.port, 3000);
    assert.deepEqual(site.after, [
      { service: 'db', until: 'healthy' },
      { service: 'migrate', until: 'completed' },
    ]);
    assert.match(stack.notes.join(), /no port of the host is opened/);
  });

  it('takes variables of the app, and none of our own environment', async () => {
    const text = web(
      'environment: [HOME, "A=${A}", "P=${PATH:-none}", C], labels: {v: "$$5 ${A}"}',
    );
    const [service] = (await read(text, { A: '1', C: 'c$d' })).services;
    assert.deepEqual(service?.env, { A: '1', P: 'none', C: 'c$d' });
    assert.deepEqual(service.settings.labels, { v: '$5 1' });
  });

  it('does not look again into what a variable brought in', async () => {
    const [service] = (await read(web('environment: {A: "${A}"}'), { A: '${B}', B: 'no' }))
      .services;
    assert.equal(service?.env['A'], '${B}');
    await assert.rejects(read(web('volumes: ["${V}:/x"]'), { V: '/etc' }), /folders of the host/);
  });

  it('merges what anchors share', async () => {
    const text = `
      x-base: &base { image: app, restart: always, environment: { A: "1" } }
      services:
        web: { <<: *base, ports: [80] }
        worker: { <<: *base, command: [work] }`;
    const stack = await read(text);
    assert.deepEqual(
      stack.services.map(({ env }) => env),
      [{ A: '1' }, { A: '1' }],
    );
  });

  it('chooses the service by the configured port', async () => {
    const text = 'services: {a: {image: a, ports: [80]}, b: {image: b, expose: [9000]}}';
    assert.equal((await read(text)).main, 'a');
    assert.equal((await read(text, {}, 9000)).main, 'b');
    assert.equal((await read('services: {a: {image: a}}', {}, 80)).main, 'a');
    await assert.rejects(read('services: {a: {image: a}}'), /says where it listens/);
  });

  const refused: [title: string, text: string, sentence: RegExp][] = [
    ['privileges', web('privileged: true'), /^services\.web\.privileged is not allowed\.$/],
    ['devices', web('devices: ["/dev/kvm"]'), /services\.web\.devices is not allowed/],
    ['capabilities', web('cap_add: [SYS_ADMIN]'), /services\.web\.cap_add is not allowed/],
    ['security options', web('security_opt: [seccomp=unconfined]'), /services\.web\.security_opt/],
    ['namespaces of the host', web('pid: host'), /services\.web\.pid is not allowed/],
    ['the network of the host', web('network_mode: host'), /services\.web\.network_mode/],
    ['ipc of the host', web('ipc: host'), /services\.web\.ipc is not allowed/],
    ['user namespaces', web('userns_mode: host'), /services\.web\.userns_mode/],
    ['kernel settings', web('sysctls: {a: 1}'), /services\.web\.sysctls/],
    ['groups of the host', web('cgroup_parent: /x'), /services\.web\.cgroup_parent/],
    ['folders of the host', web('volumes: ["/etc:/etc"]'), /volumes\[0\] "\/etc:\/etc" is refused/],
    ['relative folders', web('volumes: ["./x:/x"]'), /folders of the host are refused/],
    ['folders of a home', web('volumes: ["~/x:/x"]'), /folders of the host are refused/],
    ['the docker socket', web('volumes: ["/var/run/docker.sock:/s"]'), /folders of the host/],
    [
      'bind mounts in long form',
      web('volumes: [{type: bind, source: /, target: /x}]'),
      /type must be volume/,
    ],
    [
      'options of mounts',
      web('volumes: [{type: volume, target: /x, bind: {}}]'),
      /volumes\[0\]\.bind is not allowed/,
    ],
    [
      'ways out of a mount',
      web('volumes: ["d:/a/../b"]', 'volumes: {d: }'),
      /absolute path without "\.\."/,
    ],
    [
      'drivers of volumes',
      web('', 'volumes: {d: {driver: nfs}}'),
      /volumes\.d\.driver is not allowed/,
    ],
    [
      'options of volumes',
      web('', 'volumes: {d: {driver_opts: {o: bind}}}'),
      /volumes\.d\.driver_opts/,
    ],
    ['volumes of others', web('', 'volumes: {d: {external: true}}'), /volumes\.d\.external/],
    ['names of volumes of others', web('', 'volumes: {d: {name: other}}'), /volumes\.d\.name/],
    ['networks of others', web('', 'networks: {n: {external: true}}'), /networks\.n\.external/],
    [
      'addresses in a network',
      web('networks: {n: {ipv4_address: 10.0.0.1}}', 'networks: {n: }'),
      /networks\.n/,
    ],
    ['files of variables', web('env_file: [.env]'), /services\.web\.env_file is not allowed/],
    ['other files', web('extends: {file: x, service: y}'), /services\.web\.extends/],
    ['included files', `include: [x]\n${web('')}`, /^include is not allowed/],
    ['secrets of the host', web('secrets: [x]'), /services\.web\.secrets/],
    [
      'contexts outside',
      'services: {a: {build: {context: .., dockerfile_inline: FROM x}, ports: [80]}}',
      /build\.context must be "\."/,
    ],
    [
      'contexts from elsewhere',
      'services: {a: {build: "https://x/y.git", ports: [80]}}',
      /services\.a\.build must be a map/,
    ],
    ['labels of ours', web('labels: {gangway.instance: x}'), /must not set gangway\.instance/],
    ['labels of ours in a list', web('labels: ["Gangway.owner=x"]'), /must not set Gangway\.owner/],
    [
      'labels of Docker',
      web('labels: {com.docker.compose.project: x}'),
      /must not set com\.docker/,
    ],
    ['replicas', web('deploy: {replicas: 2}'), /deploy\.replicas must be 1/],
    ['ranges of ports', 'services: {a: {image: a, ports: ["80-90:80-90"]}}', /one TCP port/],
    ['undeclared volumes', web('volumes: ["d:/x"]'), /names d, which volumes does not declare/],
    ['undeclared networks', web('networks: [n]'), /names n, which networks does not declare/],
    ['unknown services', web('depends_on: [x]'), /names x, which is no service/],
    [
      'circles',
      'services: {a: {image: a, ports: [1], depends_on: [b]}, b: {image: b, depends_on: [a]}}',
      /a -> b -> a/,
    ],
    ['neither image nor build', 'services: {a: {ports: [80]}}', /needs either image or build/],
    ['names that are none', 'services: {"A b": {image: a}}', /has the key "A b"/],
    ['missing variables that must be there', web('user: "${U:?who}"'), /needs the variable U: who/],
    ['dollars that name nothing', web('user: "$"'), /write "\$\$"/],
    ['open braces', web('user: "${U"'), /not closed/],
    ['tags', 'services: !!js/function x', /not valid YAML: line 1/],
    ['two documents', 'a: 1\n---\nb: 2', /one YAML document/],
    ['a key given twice', 'services: {}\nservices: {}', /the key services twice, in line 2/],
    ['a key given twice by other spellings', '1: a\n"1": b', /the key 1 twice/],
    ['keys that are no names', '? {a: 1}\n: b', /line 1 that is no name/],
    ['names that objects have', web('', '__proto__: {a: 1}'), /line 3 that is no name/],
    ['merges of what is no map', 'services: {<<: 3}', /merges what is no map/],
    ['a NUL', web('command: ["a\\0b"]'), /command\[0\] contains a NUL/],
    ['signals that are none', web('stop_signal: SIGFOO'), /must be a signal/],
    ['a folder twice', web('volumes: ["/x", "/y"], tmpfs: /x/'), /web mounts \/x twice/],
    ['options of a tmpfs', web('tmpfs: "/x:size=1g"'), /tmpfs.* without ".." and ":"/],
    ['what the kernel fills', web('volumes: ["/proc/sys"]'), /not in \/proc or \/sys/],
    ['the root as a volume', web('volumes: ["//"]'), /absolute path/],
    ['memory without end', web('mem_limit: 9999999999999g'), /mem_limit must be a size/],
    ['no memory at all', web('mem_limit: 0'), /mem_limit must be a size/],
    ['processes without end', web('pids_limit: 1000000000'), /pids_limit must be at most/],
    ['stops without end', web('stop_grace_period: 99999h'), /stop_grace_period .* 10m at most/],
    ['times without end', web('healthcheck: {interval: 9999999h}'), /interval .* 24h at most/],
    ['variables that are none', web('environment: ["a b"]'), /environment\[0\] must be KEY=value/],
    ['a text', 'hello', /compose must be a map/],
    ['nothing', ' ', /compose is empty/],
    ['no service', 'services: {}', /at least one service/],
    ['circles of aliases', 'a: &a [*a]', /alias that leads nowhere, a/],
    ['circles by an anchor of another', 'b: &a 1\na: &a [*a, *a]', /leads nowhere, a/],
  ];
  for (const [title, text, sentence] of refused) {
    it(`refuses ${title}`, async () => {
      await assert.rejects(read(text), (error: Error) => {
        assert.equal(error.name, 'WorkFailed');
        assert.match(error.message, sentence);
        return true;
      });
    });
  }

  it('says nothing of what a variable holds', async () => {
    const variables = { S: 'hunter2 hunter2', D: 'hunter2', M: 'hunter3' };
    const told: [text: string, sentence: RegExp][] = [
      [web('volumes: ["${S}:/x"]'), /volumes\[0\] "\$\{S\}:\/x" is refused/],
      [web('depends_on: ["${D}"]'), /names \$\{D\}, which is no service/],
      [web('environment: ["${S}"]'), /environment\[0\] must be KEY=value/],
      [web('user: "${U:?not ${M}}"'), /needs the variable U: not \$\{M\}/],
    ];
    for (const [text, sentence] of told) {
      await assert.rejects(read(text, variables), (error: Error) => {
        assert.match(error.message, sentence);
        assert.doesNotMatch(error.message, /hunter/);
        return true;
      });
    }
  });

  it('knows no variables but the given ones', async () => {
    const [service] = (await read(web('user: "a$constructor$__proto__${toString}"'))).services;
    assert.equal(service?.settings.user, 'a');
  });

  const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 12; i++) {
    bomb.push(`a${String(i)}: &a${String(i)} [${`*a${String(i - 1)}, `.repeat(9)}x]`);
  }
  const wide = Array.from({ length: 900 }, (_, i) => `k${String(i)}: 1`).join(', ');
  const endless: [title: string, text: string][] = [
    ['of aliases', bomb.join('\n')],
    ['of merges', `a: &a {${wide}}\nb: {<<: [${'*a, '.repeat(99)}*a]}`],
    ['of keys', Array.from({ length: 40_000 }, (_, i) => `${i.toString(36)}: `).join('\n')],
    ['of documents', '---\n'.repeat(60_000)],
    ['of levels', '['.repeat(100_000)],
    ['of lists', '- '.repeat(100_000)],
    ['of digits', web(`stop_grace_period: "${'1'.repeat(200_000)}"`)],
    ['of a variable', web(`user: "${'${A}'.repeat(50_000)}"`)],
  ];
  for (const [title, text] of endless) {
    // Each took seconds or minutes, and all of the memory, where it is done without care.
    it(`refuses a bomb ${title} soon`, async () => {
      await assert.rejects(read(text, { A: 'x'.repeat(32_768) }), { name: 'WorkFailed' });
    });
  }
});

describe('partsOf()', () => {
  it('gives services the volumes that restores have made', async () => {
    const text = `services:
      web: {image: a, ports: [80]}
      db: {image: b, volumes: ['state:/state', 'other:/other']}
volumes: {state: , other: }`;
    const run = { volumes: { data: 'made', 'volume-state': 'made-too' } };
    const parts = partsOf(await read(text), {
      app: { id: 'app_a', run: run as never },
      workloadId: 'w',
      port: 4000,
      images: {},
      network: { team: 'team_a', aliases: [] },
      resources: { memoryMb: null, cpus: null, pids: null },
      stopGraceMs: 1000,
    });
    const names = parts.flatMap(({ spec }) => spec.container?.volumes.map(({ name }) => name));
    assert.deepEqual(names.sort(), ['app_a-volume-other', 'made', 'made-too']);
  });

  it('gives no service more than the app may have', async () => {
    const text = `services:
      web: {image: a, ports: [80], mem_limit: 1g, cpus: 0.5}
      work: {image: b, pids_limit: 16}`;
    const parts = partsOf(await read(text), {
      app: { id: 'app_a', run: {} as never },
      workloadId: 'w',
      port: 4000,
      images: {},
      network: { team: 'team_a', aliases: [] },
      resources: { memoryMb: 128, cpus: 2, pids: 64 },
      stopGraceMs: 1000,
    });
    assert.deepEqual(
      parts.map(({ spec }) => spec.resources),
      [
        { memoryMb: 128, cpus: 0.5, pids: 64, replicas: 1 },
        { memoryMb: 128, cpus: 2, pids: 16, replicas: 1 },
      ],
    );
  });
});
