/** Owns asking a port of this machine under another uid. */
import { spawn } from 'node:child_process';

/** The first that a program under this uid is answered when it says `words`; empty: nothing, and it was cut off. */
export function askedAs(uid: number, port: number, words = ''): Promise<string> {
  const script = `const socket = require('node:net').connect(${String(port)}, '127.0.0.1');
    socket.write(${JSON.stringify(words)}, 'latin1');
    socket.on('error', () => undefined);
    socket.once('data', (text) => { process.stdout.write(text); socket.destroy(); });`;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', script], {
      ...{ uid, gid: uid, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] },
    });
    let text = '';
    child.stdout.setEncoding('latin1').on('data', (more: string) => (text += more));
    child.once('error', reject).once('close', () => {
      resolve(text);
    });
  });
}
