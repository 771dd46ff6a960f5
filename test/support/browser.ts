/** A real Chromium for tests: what it is started with, and what its pages complained about. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome'];
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Started with a profile of its own, which goes with it; `hosts` are names of this machine. */
export async function openBrowser(hosts: readonly string[] = []): Promise<Browser> {
  const rules = hosts.map((host) => `MAP ${host} 127.0.0.1`).join(',');
  return await chromium.launch({
    executablePath: chromiumPath(),
    headless: true,
    args: [...flags, ...(rules === '' ? [] : [`--host-resolver-rules=${rules}`])],
  });
}

function chromiumPath(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const name of names) {
    for (const folder of [...folders, '/usr/bin']) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not here: the next place.
      }
    }
  }
  throw new Error(
    'The browser tests need Chromium: install it (`apt-get install chromium`), or put it on PATH.',
  );
}

/**
 * What a page's console says of errors, with violations of its policy and exceptions of its scripts.
 * `expected` tells the lines that a test provokes, such as a refused form's status.
 */
export function complaintsOf(page: Page, expected = /^$/): string[] {
  const complaints: string[] = [];
  const add = (text: string): void => {
    if (!expected.test(text)) complaints.push(text);
  };
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) add(message.text());
  });
  page.on('pageerror', (error) => {
    add(String(error));
  });
  return complaints;
}
