/** Owns where the dashboard's source is, and the digest by which a build of it is told to be current. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the checkout. */
export const checkout = fileURLToPath(new URL('../..', import.meta.url));

/** Where `npm run web` puts a build. */
export const shippedFolder = join(checkout, 'dist', 'dashboard');

/** Folders and files that a build depends on; the lock file stands for the libraries. */
const sources = [
  ...['web', 'src/programs/dashboard', 'schema.graphql', 'package-lock.json'],
  ...['src/protocol/mcp-address.ts', 'src/protocol/mcp-clients.ts'],
];

export async function sourceDigest(root = checkout): Promise<string> {
  const hash = createHash('sha256');
  const names = (await Promise.all(sources.map((source) => filesIn(root, source)))).flat().sort();
  const contents = await Promise.all(names.map((name) => readFile(join(root, name))));
  for (const [i, name] of names.entries()) {
    const content = contents[i] ?? Buffer.alloc(0);
    hash.update(`${name}\n${String(content.length)}\n`).update(content);
  }
  return hash.digest('hex').slice(0, 32);
}

async function filesIn(root: string, source: string): Promise<string[]> {
  if (source.includes('.')) return [source];
  const entries = await readdir(join(root, source), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, '/').length));
}
