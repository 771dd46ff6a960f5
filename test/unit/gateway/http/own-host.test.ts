import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { namesUs } from '../../../../src/gateway/http/own-host.ts';

const publicUrl = 'https://Panel.example.com:8443';

describe('namesUs()', () => {
  it('takes addresses, localhost, and the host of the public URL, with any port or none', () => {
    const ours = ['127.0.0.1', '192.0.2.7', '[::1]', '[2001:db8::1]', 'localhost', 'LocalHost'];
    for (const host of [...ours, 'panel.example.com', 'PANEL.example.com']) {
      for (const port of ['', ':', ':3000', ':8443']) {
        assert.ok(namesUs(`${host}${port}`, publicUrl), `${host}${port}`);
      }
    }
  });

  it('takes no other name, however much it looks like ours', () => {
    const foreign = [
      '', ':3000', 'rebound.example', 'app.localhost', 'localhost.', 'localhost.rebound.example',
      '127.0.0.1.rebound.example', '127.1', '2130706433', '0x7f.0.0.1', '::1', '[::1', '[localhost]',
      'panel.example.com.', 'a.panel.example.com', 'example.com', 'localhost:3000@rebound.example',
      'rebound.example, localhost', 'localhost, rebound.example', 'localhost rebound.example',
    ]; // prettier-ignore
    for (const host of foreign) assert.ok(!namesUs(host, publicUrl), host);
  });

  it('knows no name but localhost without a public URL', () => {
    assert.ok(namesUs('localhost:3000', ''));
    assert.ok(!namesUs('panel.example.com', ''));
  });
});
