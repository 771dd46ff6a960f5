/** Owns how the dashboard is bundled: split, minified, named by content, and compressed. */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build as bundle, type BuildResult, type Metafile, type Plugin } from 'esbuild';
import { checkout } from '../../lib/dashboard-source.ts';
import {
  type DashboardManifest,
  type DashboardPage,
  manifestName,
  metafileName,
} from '../../protocol/dashboard-build.ts';

export interface BuildOptions {
  digest: string;
  /** Where it comes to be. */
  folder: string;
  /** Whether to take the time to compress as small as can be. */
  best: boolean;
}

const web = join(checkout, 'web');
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};
/** The order of rules: tokens and elements first, pages last. */
const styleOrder = ['style', 'ui', 'shell', 'pages'];

type Built = BuildResult<{ write: false; metafile: true }>;

export async function build({ digest, folder, best }: BuildOptions): Promise<void> {
  const result = await bundled();
  const manifest = await manifestOf(digest, result);
  const aside = `${folder}.${String(process.pid)}`;
  await rm(aside, { recursive: true, force: true });
  await mkdir(aside, { recursive: true });
  const written = result.outputFiles.map(async ({ path, contents }) => {
    const file = join(aside, basename(path));
    await writeFile(`${file}.br`, await smaller(contents, best));
    await writeFile(`${file}.gz`, await promisify(gzip)(contents, { level: 9 }));
  });
  await Promise.all(written);
  await writeFile(join(aside, metafileName), JSON.stringify(result.metafile));
  await writeFile(join(aside, manifestName), JSON.stringify(manifest));
  await rm(folder, { recursive: true, force: true });
  await rename(aside, folder);
}

function smaller(contents: Uint8Array, best: boolean): Promise<Buffer> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: best ? constants.BROTLI_MAX_QUALITY : 9,
    [constants.BROTLI_PARAM_SIZE_HINT]: contents.length,
  };
  return promisify(brotliCompress)(contents, { params });
}

async function bundled(): Promise<Built> {
  return await bundle({
    absWorkingDir: checkout,
    entryPoints: { main: join(web, 'main.tsx'), theme: join(web, 'theme.ts'), style: 'all-styles' },
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    jsx: 'automatic',
    tsconfig: join(web, 'tsconfig.json'),
    minify: true,
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    // What it does needs style elements, which the policy of the page forbids.
    alias: { 'react-remove-scroll': join(web, 'ui', 'remove-scroll.tsx') },
    loader: { '.svg': 'file', '.woff2': 'file' },
    outdir: '/assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    publicPath: '/assets',
    metafile: true,
    write: false,
    logLevel: 'silent',
    plugins: [allStyles],
  });
}

const allStyles: Plugin = {
  name: 'all-styles',
  setup: (context) => {
    context.onResolve({ filter: /^all-styles$/ }, ({ path }) => ({ path, namespace: path }));
    context.onLoad({ filter: /.*/, namespace: 'all-styles' }, async () => ({
      contents: (await styles()).map((file) => `@import ${JSON.stringify(file)};`).join('\n'),
      loader: 'css',
      resolveDir: web,
    }));
  },
};

/** Every style sheet of the source: there is one for all pages, so that none waits for its own. */
async function styles(): Promise<string[]> {
  const found = await Promise.all(
    styleOrder.map(async (folder) => {
      const names = await readdir(join(web, folder), { recursive: true });
      return names
        .filter((name) => name.endsWith('.css'))
        .sort()
        .map((name) => `./${folder}/${name}`);
    }),
  );
  return found.flat();
}

async function manifestOf(
  digest: string,
  { metafile, outputFiles }: Built,
): Promise<DashboardManifest> {
  const names = outputFiles.map(({ path }) => basename(path));
  return {
    digest,
    entry: {
      theme: named(names, /^theme-.*\.js$/),
      script: named(names, /^main-.*\.js$/),
      imports: importsOfMain(metafile),
      style: named(names, /^style-.*\.css$/),
    },
    pages: await pagesOf(metafile),
    files: Object.fromEntries(names.sort().map((name) => [name, types[extname(name)] ?? ''])),
  };
}

function named(names: readonly string[], pattern: RegExp): string {
  const name = names.find((one) => pattern.test(one));
  if (name === undefined) throw new Error(`esbuild made no ${String(pattern)}.`);
  return name;
}

/** Names of what the entry imports before it runs. */
function importsOfMain(metafile: Metafile): string[] {
  const main = outputOf(metafile, 'web/main.tsx');
  if (main === null) return [];
  const imports = staticImports(metafile, main).filter((name) => name !== main);
  return imports.map((name) => basename(name));
}

interface Route {
  path: string;
  load: () => Promise<unknown>;
}

/** The routes are plain data, whose pages are imported only when they are called. */
async function pagesOf(metafile: Metafile): Promise<DashboardPage[]> {
  const place = join(web, 'shell', 'routes.ts');
  const { routes } = (await import(pathToFileURL(place).href)) as { routes: readonly Route[] };
  const main = outputOf(metafile, 'web/main.tsx');
  const known = new Set(main === null ? [] : staticImports(metafile, main));
  return routes.map(({ path, load }) => {
    const page = /import\(\s*['"]([^'"]+)['"]/.exec(String(load))?.[1];
    if (page === undefined) throw new Error(`web/shell/routes.ts: ${path} imports no page.`);
    const output = outputOf(metafile, join('web/shell', page));
    const scripts = output === null ? [] : staticImports(metafile, output);
    return {
      path,
      scripts: scripts.filter((name) => !known.has(name)).map((name) => basename(name)),
    };
  });
}

function outputOf({ outputs }: Metafile, entryPoint: string): string | null {
  const found = Object.entries(outputs).find(([, output]) => output.entryPoint === entryPoint);
  return found?.[0] ?? null;
}

/** A script and all that it imports before it runs. */
export function staticImports({ outputs }: Metafile, name: string): string[] {
  const found = new Set([name]);
  for (const one of found) {
    for (const { path, kind } of outputs[one]?.imports ?? []) {
      if (kind === 'import-statement') found.add(path);
    }
  }
  return [...found];
}
