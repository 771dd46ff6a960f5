/** Owns the images tests start from: made of programs of this machine, for no registry is reached. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';

import Docker from 'dockerode';
import { pack } from 'tar-fs';

import { programPath } from './programs.ts';

/** busybox with all its programs. */
export const baseImage = 'gangway-test-base:1';
/** The same, with Node at `nodePath`, and what busybox of Debian lacks. */
export const nodeImage = 'gangway-test-node:1';
export const nodePath = '/usr/local/bin/node';

/** For images that are made of files. */
export function busyboxFile(): Record<string, Buffer> {
  return { 'bin/busybox': fs.readFileSync(programPath('busybox') ?? '/bin/busybox') };
}

/** Puts both on the daemon unless they are there. */
export async function importImages(socket: string): Promise<void> {
  const docker = new Docker({ socketPath: socket });
  await importTree(docker, baseImage, () => undefined);
  await importTree(docker, nodeImage, (dir) => {
    copyWithLibraries(process.execPath, path.join(dir, nodePath), dir);
    copyWithLibraries('/usr/bin/nohup', path.join(dir, 'usr/bin/nohup'), dir);
  });
}

/** busybox and what `add` puts beside it. */
export async function importTree(
  docker: Docker,
  image: string,
  add: (dir: string) => void,
  command = '["sh"]',
): Promise<void> {
  const known = await docker.listImages({ filters: { reference: [image] } });
  if (known.length > 0) return;
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-image-'));
  try {
    busyboxTree(dir);
    add(dir);
    const [repo, tag] = image.split(':');
    const changes = ['ENV PATH=/usr/local/bin:/usr/bin:/bin', `CMD ${command}`];
    const options = { repo, tag, changes, fromSrc: '-' };
    const progress = await docker.importImage(Readable.from(pack(dir)), options);
    await new Promise<void>((resolve, reject) => {
      docker.modem.followProgress(progress, (error: Error | null) => {
        if (error) reject(error);
        else resolve();
      });
    });
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
}

function busyboxTree(dir: string): void {
  const busybox = programPath('busybox') ?? '/bin/busybox';
  for (const name of [
    'bin',
    'usr/bin',
    'usr/local/bin',
    'etc',
    'tmp',
    'root',
    'proc',
    'dev',
    'sys',
  ]) {
    fs.mkdirSync(path.join(dir, name), { recursive: true });
  }
  fs.chmodSync(path.join(dir, 'tmp'), 0o1777);
  fs.copyFileSync(busybox, path.join(dir, 'bin/busybox'));
  for (const name of execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n')) {
    if (name !== 'busybox') fs.symlinkSync('/bin/busybox', path.join(dir, 'bin', name));
  }
  fs.symlinkSync('/bin/busybox', path.join(dir, 'usr/bin/env'));
  fs.writeFileSync(path.join(dir, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  fs.writeFileSync(path.join(dir, 'etc/group'), 'root:x:0:\n');
}

/** With what the dynamic linker loads for it, at the very same places. */
export function copyWithLibraries(program: string, target: string, dir: string): void {
  fs.copyFileSync(program, target);
  const listed = execFileSync('ldd', [program], { encoding: 'utf8' });
  for (const [, library = ''] of listed.matchAll(/(\/\S+) \(0x/g)) {
    const file = path.join(dir, library);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.copyFileSync(library, file);
  }
}
