import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';

const place = new URL('../../../src/service/log-output.ts', import.meta.url).href;

/** A process that does this with `output`, the log's place, and exits then. */
function logging(t: TestContext, does: string) {
  const code = `import { LogOutput } from '${place}';
    const output = new LogOutput();
    ${does}
    process.exit(7);`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', code];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { stdout: child.stdout, stderr: text(child.stderr), exit };
}

async function written(t: TestContext, does: string): Promise<string> {
  const { stdout, stderr, exit } = logging(t, does);
  const all = await text(stdout);
  assert.equal(await stderr, '');
  assert.equal(await exit, 7);
  return all;
}

describe('LogOutput', () => {
  it('writes what came before its end, though the process exits at once', async (t) => {
    const line = `${'x'.repeat(99)}\n`;
    const all = await written(
      t,
      `for (let i = 0; i < 5000; i += 1) output.write(${JSON.stringify(line)});
      await output.end();`,
    );
    assert.equal(all, line.repeat(5000));
  });

  it('writes what comes while it ends and after that, in its order', async (t) => {
    const all = await written(
      t,
      `output.write('before\\n');
      const end = output.end();
      output.write('while it ends\\n');
      await end;
      output.write('after\\n');
      process.on('exit', () => output.write('at the exit\\n'));`,
    );
    assert.equal(all, 'before\nwhile it ends\nafter\nat the exit\n');
  });

  it('ends with nothing to write, and as one for whoever ends it', async (t) => {
    const all = await written(
      t,
      `const ends = [output.end(), output.end()];
      output.write('while it ends\\n');
      await Promise.all(ends);
      await output.end();`,
    );
    assert.equal(all, 'while it ends\n');
  });

  it('holds up no exit where nobody reads', async (t) => {
    const { stdout, stderr, exit } = logging(
      t,
      `for (let i = 0; i < 50_000; i += 1) output.write('${'x'.repeat(99)}\\n');
      await output.end();
      output.write('after\\n');`,
    );
    assert.equal(await exit, 7);
    stdout.destroy();
    assert.equal(await stderr, '');
  });
});
