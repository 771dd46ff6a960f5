import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { getPriority, setPriority } from 'node:os';
import { afterEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { asOthers, serveFirst } from '../../../../src/lib/processes/go-first.ts';
import { needs } from '../../../support/programs.ts';

const run = promisify(execFile);

describe('serveFirst() and asOthers()', { skip: needs('root') }, () => {
  const before = getPriority();
  afterEach(() => setPriority(before));

  it('start a program that goes before nobody, and leave who starts it as it was', async () => {
    setPriority(-10);
    const { stdout } = await asOthers(() => run('nice'));
    assert.equal(stdout, '0\n');
    assert.equal(getPriority(), -10);
    assert.throws(() => asOthers(() => assert.fail('refused')), /refused/);
    assert.equal(getPriority(), -10);
  });

  it('leave a priority that was wished for', () => {
    setPriority(3);
    serveFirst();
    assert.equal(getPriority(), 3);
  });

  it('leave a program as low as who starts it', async () => {
    setPriority(5);
    const { stdout } = await asOthers(() => run('nice'));
    assert.equal(stdout, '5\n');
    assert.equal(getPriority(), 5);
  });

  it('touch nothing of what may not be raised again', () => {
    const file = fileURLToPath(
      new URL('../../../../src/lib/processes/go-first.ts', import.meta.url),
    );
    const script = `
      const { asOthers, serveFirst } = await import(${JSON.stringify(file)});
      const { getPriority, setPriority } = await import('node:os');
      const { execFileSync } = await import('node:child_process');
      setPriority(-5);
      process.setuid(65534);
      serveFirst();
      console.log(asOthers(() => execFileSync('nice', { encoding: 'utf8' })).trim(), getPriority());`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.equal(stdout, '-5 -5\n', stderr);
  });
});
