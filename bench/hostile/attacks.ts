/**
 * Owns the attacks of one tenant on the others, as data: what its apps run, what its builds run, and what
 * its clients do.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Nuisance } from '../load/nuisance.ts';
import { hostileFiles } from './app.ts';

export interface Attack {
  what: string;
  apps?: HostileApps;
  /** So many apps are built by this command, and never live. */
  builds?: { count: number; command: string };
  /** What clients do meanwhile, with the first of the apps where there is one. */
  clients?: Nuisance['kind'] | 'uploads';
  /** Programs of the machine without which it is left out. */
  needs?: readonly string[];
  /** It is part of a smoke. */
  isQuick?: boolean;
}

export interface HostileApps {
  /** Default one. */
  count?: number;
  files: Readonly<Record<string, string>>;
  /** Limits of each. */
  memoryMb?: number;
}

const perl = (script: string): string => `'perl', ['-e', ${JSON.stringify(script)}]`;
const forks = perl('while (1) { fork }');
const eats = perl('my @all; while (1) { push @all, "x" x 1048576 }');
const burn = '1 while 1';
/** Every port that the system may give to somebody, as long as it is free. */
const squats = perl(`use Socket;
while (1) {
  for my $port (32768 .. 60999) {
    socket(my $s, PF_INET, SOCK_STREAM, 0) or next;
    bind($s, sockaddr_in($port, INADDR_LOOPBACK)) and listen($s, 10);
    close($s);
  }
}`);
const fills = perl(
  `for (my $n = 0; ; $n++) { open(my $f, '>', 'many/' . $n % 200000) or die; close($f) }`,
);
const syncs = JSON.stringify(`while :; do
  dd if=/dev/zero of=$0 bs=1M count=64 conv=fsync
  dd if=/dev/zero of=$0 bs=4k count=500 oflag=dsync
done`);
const vast = readFileSync(new URL('vast.c', import.meta.url), 'utf8');

const all: readonly Attack[] = [
  {
    what: 'an app prints empty lines without end',
    apps: { files: hostileFiles(`serve(() => run('yes', ['']));`) },
    isQuick: true,
  },
  {
    what: 'an app prints one line without end',
    apps: { files: hostileFiles(`serve(() => run('cat', ['/dev/zero']));`) },
  },
  {
    what: 'apps crash again and again and print much',
    apps: {
      count: 4,
      files: hostileFiles(`const crash = () => {
        fs.writeSync(1, 'It crashes.\\n'.repeat(5000));
        process.exit(1);
      };
      if (fs.existsSync('crashing')) crash();
      serve(() => { fs.writeFileSync('crashing', ''); setTimeout(crash, 200); });`),
    },
  },
  { what: 'a fork bomb', apps: { files: hostileFiles(`serve(() => run(${forks}));`) } },
  {
    what: '400 processes with 19,000 descriptors',
    apps: {
      files: hostileFiles(`const stdio = Array(48).fill('ignore');
        serve(() => times(400, () => run('sleep', ['1000'], { stdio })));`),
    },
  },
  {
    what: '20 processes with an environment of 2 GiB',
    needs: ['cc'],
    apps: {
      files: hostileFiles(
        `require('node:child_process').execFileSync('cc', ['-o', 'vast', 'vast.c']);
        serve(() => times(20, () => run('./vast', [])));`,
        { 'vast.c': vast },
      ),
    },
  },
  {
    what: 'an app listens on 19,000 ports',
    apps: {
      files: hostileFiles(`const listen = (i) => new Promise((resolve) => {
          net.createServer().once('error', resolve).listen(10000 + i, '127.0.0.1', resolve);
        });
        serve(() => times(19000, listen));`),
    },
  },
  {
    what: 'an app tries to bind all ports again and again',
    needs: ['perl'],
    apps: { files: hostileFiles(`serve(() => run(${squats}));`) },
  },
  {
    what: 'an app burns all cores',
    apps: {
      files: hostileFiles(
        `serve(() => times(os.availableParallelism(), () => run(${perl(burn)})));`,
      ),
    },
  },
  {
    what: 'an app eats all its memory again and again',
    apps: { memoryMb: 256, files: hostileFiles(`serve(() => run(${eats}, { again: true }));`) },
  },
  {
    what: 'an app writes files and syncs them',
    apps: {
      files: hostileFiles(
        `const write = (i) => run('sh', ['-c', ${syncs}, 'file' + i], { stdio: 'ignore' });
        serve(() => times(4, write));`,
      ),
    },
  },
  {
    what: 'an app makes 200,000 files',
    apps: { files: hostileFiles(`serve(() => { fs.mkdirSync('many'); return run(${fills}); });`) },
  },
  { what: 'six builds burn all they get', builds: { count: 6, command: `perl -e '${burn}'` } },
  {
    what: 'an app answers what is no HTTP, and is asked a lot',
    apps: {
      files: hostileFiles(`const body = 'Content-Length: 2\\r\\n\\r\\nhi';
        const texts = [
          'HTTP/1.1 200 \\x01\\r\\n' + body,
          'HTTP/1.1 099 x\\r\\n' + body,
          'HTTP/1.1 200 OK\\r\\nX: a\\x01b\\r\\n' + body,
          'HTTP/1.1 200 OK\\r\\n' + 'X: y\\r\\n'.repeat(20000),
          'HTTP/1.1 100 Continue\\r\\n\\r\\n'.repeat(500),
          'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n2\\r\\nhi\\r\\n\\x01',
          'HTTP/1.1 200 OK\\r\\n' + body + body,
        ];
        let asked = 0;
        serve(() => undefined, ({ socket }) => socket.write(texts[asked++ % texts.length], 'latin1'));`),
    },
    clients: 'visits',
    isQuick: true,
  },
  {
    what: 'an app never answers 3,000 that ask',
    apps: { files: hostileFiles(`serve(() => undefined, () => undefined);`) },
    clients: 'waits',
  },
  { what: 'a client sends 3,000 half heads', clients: 'half heads' },
  { what: '150 wrong sign-ins at once', clients: 'sign-ins' },
  { what: 'uploads without a pause', clients: 'uploads' },
];

/** Those that this machine has the programs for. */
export function attacks(isQuick: boolean): readonly Attack[] {
  const isInstalled = (program: string): boolean =>
    spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
  return all.filter(
    ({ needs = [], isQuick: isShort = false }) => (isShort || !isQuick) && needs.every(isInstalled),
  );
}
