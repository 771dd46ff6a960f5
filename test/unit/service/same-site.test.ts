import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sharesSite } from '../../../src/service/panel-exposure.ts';

describe('sharesSite()', () => {
  const shared: [string, string][] = [
    ['localhost', 'localhost'],
    ['panel.example.com', 'example.com'],
    ['panel.example.com', 'panel.example.com'],
    ['panel.example.com', 'apps.example.com'],
    ['Panel.Example.com', 'apps.example.com'],
  ];
  for (const [panel, apps] of shared) {
    it(`is true for the panel at ${panel} and apps at ${apps}`, () => {
      assert.equal(sharesSite(panel, apps), true);
    });
  }

  const apart: [string, string][] = [
    ['127.0.0.1', 'localhost'],
    ['[::1]', 'localhost'],
    ['example.com', 'example.org'],
    ['panel.example.com', 'apps-example.com'],
    ['example.com', 'apps.example.net'],
    ['panel.example.com', 'apps.example.net'],
  ];
  for (const [panel, apps] of apart) {
    it(`is false for the panel at ${panel} and apps at ${apps}`, () => {
      assert.equal(sharesSite(panel, apps), false);
    });
  }
});
