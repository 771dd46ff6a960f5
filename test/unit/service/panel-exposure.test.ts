import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DriverEvent } from '../../../src/drivers/driver.ts';
import { exposureWarning, PanelExposure } from '../../../src/service/panel-exposure.ts';
import { settle } from '../../support/manual-clock.ts';
import { memoryLogger } from '../../support/memory-logger.ts';

function exposureOf(publicUrl: string, hidesApps?: () => Promise<boolean>, trustsProxies = true) {
  const listeners = new Set<(event: DriverEvent) => void>();
  const logger = memoryLogger();
  const exposure = new PanelExposure({
    driver: {
      watch: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      ...(hidesApps && { hidesApps }),
    },
    publicUrl: () => publicUrl,
    trustsProxies,
    logger,
  });
  const warned = () => logger.events.filter(({ level }) => level === 'warn').length;
  const start = async () => {
    exposure.start();
    await settle();
  };
  const connect = async () => {
    for (const tell of listeners) tell({ type: 'connected', workloads: [] });
    await settle();
  };
  return { exposure, start, connect, warned };
}

describe('PanelExposure', () => {
  const urls: [publicUrl: string, warned: boolean][] = [
    ['http://127.0.0.1:3000', true],
    ['http://panel.example.com', true],
    // Browsers send a Secure cookie of their own machine over plain http, too.
    ['https://localhost', true],
    ['https://panel.localhost', true],
    ['https://127.0.0.1:3000', true],
    ['https://[::1]', true],
    ['https://panel.example.com', false],
  ];
  for (const [publicUrl, isWarned] of urls) {
    it(`${isWarned ? 'warns' : 'does not warn'} at ${publicUrl} where apps are reached`, async () => {
      const { exposure, start, warned } = exposureOf(publicUrl);
      assert.equal(exposure.warning(), isWarned ? exposureWarning : null);
      await start();
      assert.equal(warned(), isWarned ? 1 : 0);
    });
  }

  it('warns where nobody is believed that a request came over https: the cookie is not Secure', () => {
    const { exposure } = exposureOf('https://panel.example.com', undefined, false);
    assert.equal(exposure.warning(), exposureWarning);
  });

  it('does not warn where the driver hides apps, and warns where it cannot', async () => {
    for (const hides of [true, false]) {
      const { exposure, start, warned } = exposureOf('http://127.0.0.1', () =>
        Promise.resolve(hides),
      );
      assert.equal(exposure.warning(), null, 'nothing is known yet');
      await start();
      assert.equal(exposure.warning(), hides ? null : exposureWarning);
      assert.equal(warned(), hides ? 0 : 1);
    }
  });

  it('looks again when the place where apps run is reached, and warns once of the same', async () => {
    let hides: boolean | null = null;
    const { exposure, start, connect, warned } = exposureOf('http://127.0.0.1', () =>
      hides === null ? Promise.reject(new Error('away')) : Promise.resolve(hides),
    );
    await start();
    assert.deepEqual([exposure.warning(), warned()], [null, 0]);
    // Such as a runner that has no networks, behind one that had some.
    for (const [now, times] of [
      [true, 0],
      [false, 1],
      [false, 1],
      [true, 1],
      [false, 2],
    ] as const) {
      hides = now;
      await connect();
      assert.deepEqual([exposure.warning(), warned()], [now ? null : exposureWarning, times]);
    }
    hides = null;
    await connect();
    assert.deepEqual([exposure.warning(), warned()], [exposureWarning, 2], 'what was known');
  });
});
