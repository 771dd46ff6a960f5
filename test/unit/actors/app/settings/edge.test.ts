import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { AppEdgePatch } from '../../../../../src/actors/app/protocol.ts';
import { checkEdge } from '../../../../../src/actors/app/settings/edge.ts';
import { defaultEdgeSettings } from '../../../../../src/protocol/app-edge-settings.ts';

describe('checkEdge()', () => {
  it('changes what is named; null sets back', () => {
    const wanted: AppEdgePatch = {
      ...{ maintenance: true, maintenanceText: ' Back at 9. ', idleSeconds: 60, totalSeconds: 30 },
      ...{ maxBodyMb: 5, maxConnections: 100, hsts: 31_536_000, accessLog: true },
    };
    const edge = checkEdge(defaultEdgeSettings, wanted);
    assert.deepEqual(edge, { ...wanted, maintenanceText: 'Back at 9.' });
    assert.deepEqual(checkEdge(edge, {}), edge);
    const back = Object.fromEntries(Object.keys(wanted).map((key) => [key, null]));
    assert.deepEqual(checkEdge(edge, back), defaultEdgeSettings);
    assert.equal(checkEdge(edge, { maintenanceText: ' ' }).maintenanceText, null);
  });

  it('refuses what makes no sense', () => {
    const senseless: AppEdgePatch[] = [
      ...[0, -1, 1.5, 86_401, NaN].map((idleSeconds) => ({ idleSeconds })),
      ...[0, 86_401].map((totalSeconds) => ({ totalSeconds })),
      ...[0, 0.5, 1_048_577].map((maxBodyMb) => ({ maxBodyMb })),
      ...[0, 100_001].map((maxConnections) => ({ maxConnections })),
      ...[-1, 63_072_001].map((hsts) => ({ hsts })),
      ...['x'.repeat(1001), 'a\nb', 'a\u0000'].map((maintenanceText) => ({ maintenanceText })),
    ];
    for (const patch of senseless) {
      const refused = { code: 'BAD_USER_INPUT' };
      assert.throws(() => checkEdge(defaultEdgeSettings, patch), refused, JSON.stringify(patch));
    }
  });
});
