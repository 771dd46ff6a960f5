/** Folders of a hostile app that change all the while: files and folders become links and pipes. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

const child = fileURLToPath(new URL('./swapping-child.ts', import.meta.url));
/** What is written into all files of the hostile app. */
export const hostileText = 'of the hostile app';

export interface Hostile {
  folder: string;
  /** Folders are swapped for links to it. */
  outsideFolder: string;
  /** Files are swapped for links to it, and for pipes. */
  outsideFile: string;
  count: number;
}

/** Fills the folder with names that a child will swap. */
export function fillHostile({ folder, outsideFolder, outsideFile, count }: Hostile): void {
  const swaps: Record<string, number> = {};
  const pipes: string[] = [];
  for (let n = 0; n < count; n++) {
    const file = join(folder, `file${String(n)}`);
    writeFileSync(file, hostileText);
    symlinkSync(outsideFile, `${file}.1`);
    pipes.push(`${file}.2`);
    swaps[`file${String(n)}`] = 3;
    const dir = join(folder, `dir${String(n)}`);
    mkdirSync(join(dir, 'deeper'), { recursive: true });
    for (const name of readdirSync(outsideFolder)) writeFileSync(join(dir, name), hostileText);
    symlinkSync(outsideFolder, `${dir}.1`);
    swaps[`dir${String(n)}`] = 2;
  }
  execFileSync('mkfifo', pipes);
  writeFileSync(join(folder, 'swaps.json'), JSON.stringify(swaps));
}

/** Resolves once the child swaps, with what ends it; the end of the test does, too. */
export async function startSwapping(
  t: TestContext,
  folder: string,
  uid?: number,
): Promise<() => Promise<void>> {
  const args = ['--disable-warning=ExperimentalWarning', child, folder, String(uid ?? '')];
  const swapping = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(swapping, 'exit');
  const stop = async (): Promise<void> => {
    swapping.kill('SIGKILL');
    await ended;
  };
  t.after(stop);
  await Promise.race([
    once(swapping.stdout, 'data'),
    ended.then(() => Promise.reject(new Error('nothing is swapped'))),
  ]);
  return stop;
}
