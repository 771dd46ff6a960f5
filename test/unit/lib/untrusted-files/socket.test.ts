import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { it, type TestContext } from 'node:test';
import { eventually } from '../../../support/eventually.ts';
import { connectToOwn } from '../../../../src/lib/untrusted-files/socket.ts';

const uid = process.getuid?.() ?? 0;

async function listening(t: TestContext): Promise<string> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'gangway-socket-'));
  const server = net.createServer((socket) => socket.end('rows'));
  t.after(() => {
    server.close();
    fs.rmSync(dir, { recursive: true });
  });
  const file = path.join(dir, 's');
  await new Promise<void>((resolve) => server.listen(file, resolve));
  return file;
}

it('connectToOwn() connects to the socket of its owner, and leaves nothing open', async (t) => {
  const file = await listening(t);
  const open = (): number => fs.readdirSync('/proc/self/fd').length;
  const before = open();
  const socket = await connectToOwn({ path: file, uid }, 5000);
  let text = '';
  for await (const chunk of socket.setEncoding('utf8') as AsyncIterable<string>) text += chunk;
  assert.equal(text, 'rows');
  await eventually('all is closed', () => open() <= before);
});

it('connectToOwn() follows no link, and takes nothing that is not a socket of the owner', async (t) => {
  const file = await listening(t);
  const link = `${file}-link`;
  fs.symlinkSync(file, link);
  await assert.rejects(connectToOwn({ path: link, uid }, 5000), { code: 'ENOTOWN' });
  await assert.rejects(connectToOwn({ path: file, uid: uid + 1 }, 5000), { code: 'ENOTOWN' });
  fs.writeFileSync(`${file}-file`, '');
  await assert.rejects(connectToOwn({ path: `${file}-file`, uid }, 5000), { code: 'ENOTOWN' });
  await assert.rejects(connectToOwn({ path: `${file}-none`, uid }, 5000), { code: 'ENOENT' });
});
