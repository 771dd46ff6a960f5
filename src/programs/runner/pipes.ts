/**
 * Owns the pipes that carry a program's output here, and input to it.
 *
 * They are named pipes, and their names are gone at once: what `spawn` makes by itself are sockets,
 * and a program cannot open a socket again by `/dev/stdout` or `/dev/stderr`, as scripts like to.
 */
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

import { runTool } from './system-tools.ts';

export interface OutputPipe {
  reader: net.Socket;
  /** To be given to the program, and then closed here. */
  writerFd: number;
}

export interface InputPipe {
  writer: net.Socket;
  /** To be given to the program, and then closed here. */
  readerFd: number;
}

/** One for each name; `dir` is the caller's own. Rejects when the system makes none. */
export async function makePipes<Name extends string>(
  dir: string,
  names: readonly Name[],
): Promise<Record<Name, OutputPipe>> {
  const pipes = (await makeFifos(dir, names, '622')).map((file) => openBoth(file));
  return Object.fromEntries(names.map((name, at) => [name, pipes[at]])) as Record<Name, OutputPipe>;
}

/** As `makePipes`, the other way. */
export async function makeInputPipe(dir: string, name: string): Promise<InputPipe> {
  const [file = ''] = await makeFifos(dir, [name], '644');
  const { O_RDONLY, O_NONBLOCK, O_WRONLY } = fs.constants;
  // It lets the other end open at once. The program gets one of its own that waits.
  const openerFd = fs.openSync(file, O_RDONLY | O_NONBLOCK);
  try {
    const writerFd = fs.openSync(file, O_WRONLY | O_NONBLOCK);
    try {
      const readerFd = fs.openSync(file, O_RDONLY);
      return {
        writer: new net.Socket({ fd: writerFd, readable: false, writable: true }),
        readerFd,
      };
    } catch (error) {
      fs.closeSync(writerFd);
      throw error;
    }
  } finally {
    fs.closeSync(openerFd);
    fs.rmSync(file, { force: true });
  }
}

/** The program's end is open to all, since it may have another uid; nobody else finds the way in. */
async function makeFifos(
  dir: string,
  names: readonly string[],
  mode: '622' | '644',
): Promise<string[]> {
  const files = names.map((name) => path.join(dir, `${name}.pipe`));
  for (const file of files) fs.rmSync(file, { force: true });
  await runTool(['/usr/bin/env', 'mkfifo', '-m', mode, ...files]);
  return files;
}

function openBoth(file: string): OutputPipe {
  const { O_RDONLY, O_NONBLOCK, O_WRONLY } = fs.constants;
  const readerFd = fs.openSync(file, O_RDONLY | O_NONBLOCK);
  try {
    const writerFd = fs.openSync(file, O_WRONLY);
    const reader = new net.Socket({ fd: readerFd, readable: true, writable: false });
    return { reader, writerFd };
  } catch (error) {
    fs.closeSync(readerFd);
    throw error;
  } finally {
    fs.rmSync(file, { force: true });
  }
}
