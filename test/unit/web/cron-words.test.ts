import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cronWords, presets } from '../../../web/pages/backups/cron.ts';
import { bytesInWords } from '../../../web/ui/bytes.ts';

describe('a schedule', () => {
  it('reads as words where it is simple, and else as it stands', () => {
    for (const { cron, label } of presets) assert.equal(cronWords(cron), label);
    assert.equal(cronWords('5 23 * * *'), 'Every day at 23:05');
    assert.equal(cronWords('5 23 * * 7'), 'Every Sunday at 23:05');
    for (const cron of [
      '*/5 * * * *',
      '5 23 1 * 1',
      '5 23 * 2 *',
      '5 23 * * 1-5',
      '5 23 * * 9',
      '',
      'x',
    ]) {
      assert.equal(cronWords(cron), cron);
    }
  });
});

describe('a size', () => {
  it('has a unit that fits', () => {
    assert.deepEqual([0, 1023, 1536, 150 * 2 ** 20, 5 * 2 ** 40].map(bytesInWords), ['0 B', '1023 B', '1.5 KiB', '150 MiB', '5.0 TiB']); // prettier-ignore
  });
});
