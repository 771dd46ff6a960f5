import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatOf, uploadFilename } from '../../../../src/archives/formats/format.ts';

describe('formatOf()', () => {
  it('reads the format from the extension in any case', () => {
    assert.equal(formatOf('a.tar.gz'), 'tar.gz');
    assert.equal(formatOf('a.TGZ'), 'tar.gz');
    assert.equal(formatOf('a.b.Tar'), 'tar');
    assert.equal(formatOf('.zip'), 'zip');
  });
  it('refuses everything else', () => {
    for (const name of ['a', 'zip', 'a.gz', 'a.tar.bz2', 'a.zip.exe', 'a.zipx', 'tar.gz ']) {
      assert.throws(() => formatOf(name), { code: 'UNSUPPORTED_ARCHIVE' });
    }
  });
});

describe('uploadFilename()', () => {
  it('keeps the name without its directories', () => {
    assert.equal(uploadFilename('app.zip'), 'app.zip');
    assert.equal(uploadFilename('../../etc/app.zip'), 'app.zip');
    assert.equal(uploadFilename('C:\\Users\\me\\app.zip'), 'app.zip');
    assert.equal(uploadFilename(' my app.zip '), 'my app.zip');
  });
  it('decodes percent-encoded UTF-8, and leaves alone what is not', () => {
    assert.equal(uploadFilename('%C3%BCber.zip'), 'über.zip');
    assert.equal(uploadFilename('..%2F..%2Fapp.zip'), 'app.zip');
    assert.equal(uploadFilename('100%.zip'), '100%.zip');
  });
  it('refuses names that are missing, too long, or carry control characters', () => {
    for (const name of ['', '  ', '..', 'a/', `${'a'.repeat(252)}.zip`, 'a%00.zip', 'a%0A.zip']) {
      assert.throws(() => uploadFilename(name), { code: 'FILENAME_REQUIRED' });
    }
    assert.equal(uploadFilename(`${'a'.repeat(251)}.zip`).length, 255);
  });
});
