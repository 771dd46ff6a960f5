/** A real Chromium for tests: what it is started with, and what its pages complained about. */
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { programPath } from './programs.ts';

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
    executablePath: programPath('chromium') ?? 'chromium',
    headless: true,
    args: [...flags, ...(rules === '' ? [] : [`--host-resolver-rules=${rules}`])],
  });
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
