/** The build of the dashboard as a service finds, makes and keeps it, from the source that is here. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { brotliDecompressSync } from 'node:zlib';
import { Dashboard } from '../../../src/service/dashboard.ts';
import { checkout, sourceDigest } from '../../../src/lib/dashboard-source.ts';
import type { LoadedDashboard } from '../../../src/gateway/transports/dashboard.ts';
import { recordingLogger } from '../../support/silent-logger.ts';

/** Compressed bytes of script that a first view may take. */
const firstViewMax = 150_000;

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'gangway-dashboard-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A checkout of its own, with the libraries of this one, and a cache of its own. */
function copyFor(t: TestContext): string {
  const copy = folderFor(t);
  for (const name of [
    'web',
    'schema.graphql',
    'package-lock.json',
    'package.json',
    'tsconfig.json',
  ]) {
    cpSync(join(checkout, name), join(copy, name), { recursive: true });
  }
  for (const room of ['lib', 'programs/dashboard', 'protocol']) {
    cpSync(join(checkout, 'src', room), join(copy, 'src', room), { recursive: true });
  }
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync(join(checkout, 'node_modules'))) {
    if (name === '.cache') continue;
    symlinkSync(join(checkout, 'node_modules', name), join(copy, 'node_modules', name));
  }
  return copy;
}

interface Ended {
  code: number | null;
  told: string;
}

/** Runs the program that builds. */
function builder(root: string, folder: string): Promise<Ended> {
  const program = join(root, 'src', 'programs', 'dashboard', 'main.ts');
  const child = spawn(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    program,
    'digest',
    folder,
  ]);
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    told += text;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, told })));
}

describe('the dashboard of this source', () => {
  let built: LoadedDashboard;
  let dataDir: string;
  let dashboard: Dashboard;
  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'gangway-dashboard-'));
    dashboard = new Dashboard({ logger: recordingLogger(), dataDir });
    built = await dashboard.load();
  });
  after(() => {
    dashboard.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('is of the source that is here, and is read once', async () => {
    assert.equal(built.manifest.digest, await sourceDigest());
    assert.equal(await dashboard.load(), built);
  });

  it('takes at most 150 kB of compressed script for the first view of any page', () => {
    const { entry, pages } = built.manifest;
    const { outputs: metafile } = readMetafile(built);
    for (const { path, scripts } of pages) {
      const names = new Set([entry.theme, ...statics(metafile, entry.script), ...scripts]);
      const bytes = [...names].reduce((sum, name) => sum + (built.files.get(name)?.brotli.length ?? Infinity), 0); // prettier-ignore
      assert.ok(bytes <= firstViewMax, `${path} takes ${bytes} bytes: ${[...names].join(', ')}`);
    }
  });

  it('is made of packages that serving installs', () => {
    const lock = JSON.parse(readFileSync(join(checkout, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dev?: boolean }>;
    };
    const places = Object.keys(readMetafile(built).inputs).flatMap(
      (input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? [],
    );
    assert.ok(places.length > 0);
    const lacking = places.filter((place) => lock.packages[place]?.dev !== undefined);
    assert.deepEqual(lacking, []);
  });

  it('asks no other host, and has no source inside', () => {
    for (const [name, file] of built.files) {
      assert.match(name, /-[A-Z0-9]{8}\.\w+$/);
      const text = brotliDecompressSync(file.brotli).toString('utf8');
      assert.doesNotMatch(text, /sourceMappingURL|url\(["']?https?:|@import/, name);
    }
  });
});

type Outputs = Record<string, { imports: { path: string; kind: string }[] }>;

interface Made {
  inputs: Record<string, unknown>;
  outputs: Outputs;
}

function readMetafile({ manifest }: LoadedDashboard): Made {
  const kept = [
    join(checkout, 'dist', 'dashboard'),
    join(checkout, 'node_modules', '.cache', 'gangway', 'dashboard', manifest.digest),
  ].find((folder) => existsSync(join(folder, 'metafile.json')));
  assert.ok(kept);
  return JSON.parse(readFileSync(join(kept, 'metafile.json'), 'utf8')) as Made;
}

function statics(outputs: Outputs, entry: string): string[] {
  const names = new Set([entry]);
  const byName = new Map(
    Object.entries(outputs).map(([path, output]) => [path.split('/').at(-1), output]),
  );
  for (const name of names) {
    for (const { path, kind } of byName.get(name)?.imports ?? []) {
      if (kind === 'import-statement') names.add(path.split('/').at(-1) ?? '');
    }
  }
  return [...names];
}

describe('the program that builds it', () => {
  it('leaves one whole build when several do the same at once, and nothing beside it', async (t) => {
    const parent = folderFor(t);
    const folder = join(parent, 'build');
    const ended = await Promise.all([1, 2, 3].map(() => builder(checkout, folder)));
    assert.deepEqual(
      ended,
      [1, 2, 3].map(() => ({ code: 0, told: '' })),
    );
    assert.deepEqual(readdirSync(parent), ['build']);
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
      files: object;
    };
    for (const name of Object.keys(manifest.files)) {
      assert.ok(existsSync(join(folder, `${name}.br`)) && existsSync(join(folder, `${name}.gz`)));
    }
  });

  it('tells what is wrong with the source, and where', async (t) => {
    const copy = copyFor(t);
    writeFileSync(join(copy, 'web', 'main.tsx'), 'const a = ;\n');
    const folder = join(copy, 'build');
    const { code, told } = await builder(copy, folder);
    assert.equal(code, 1);
    assert.match(told, /web\/main\.tsx:1:10/);
    assert.ok(!existsSync(folder));
  });
});

describe('sourceDigest()', () => {
  it('changes with what a build depends on, and with nothing else', async (t) => {
    const copy = copyFor(t);
    const first = await sourceDigest(copy);
    writeFileSync(join(copy, 'README.md'), 'text');
    assert.equal(await sourceDigest(copy), first);
    const changes = [
      'web/pages/overview/page.tsx',
      'web/new.css',
      'schema.graphql',
      'package-lock.json',
      'src/protocol/mcp-clients.ts',
    ];
    const digests = new Set([first]);
    for (const name of changes) {
      writeFileSync(join(copy, name), 'changed');
      digests.add(await sourceDigest(copy));
    }
    assert.equal(digests.size, changes.length + 1);
  });
});
