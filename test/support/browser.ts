/** A real Chromium for tests: what it is started with, and what its pages complained about. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { programPath } from './programs.ts';

/** What Chromium says of a request that it broke off as this machine got or lost an address. */
export const networkChanged = 'net::ERR_NETWORK_CHANGED';

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Started with a profile of its own, which goes with it; `hosts` are names of this machine. `home`: the folder whose
 * certificate authorities it takes (`trustIn`), too.
 */
export async function openBrowser(hosts: readonly string[] = [], home?: string): Promise<Browser> {
  const rules = hosts.map((host) => `MAP ${host} 127.0.0.1`).join(',');
  return await chromium.launch({
    executablePath: programPath('chromium') ?? 'chromium',
    headless: true,
    ...(home !== undefined && { env: { ...process.env, HOME: home } }),
    args: [...flags, ...(rules === '' ? [] : [`--host-resolver-rules=${rules}`])],
  });
}

/** Has browsers of that home trust a certificate authority, in PEM, as people do. Needs the program `certutil`. */
export function trustIn(home: string, root: string): void {
  const folder = join(home, '.pki', 'nssdb');
  mkdirSync(folder, { recursive: true });
  const run = (...args: string[]): void => {
    const all = ['-d', `sql:${folder}`, ...args];
    execFileSync(programPath('certutil') ?? 'certutil', all, { input: root });
  };
  run('-N', '--empty-password');
  run('-A', '-n', 'of the test', '-t', 'C,,');
}

/**
 * What a page's console says of errors, with violations of its policy and exceptions of its scripts.
 * `expected` tells the lines that a test provokes, such as a refused form's status. Containers of tests beside this
 * one change the network; that is not said.
 */
export function complaintsOf(page: Page, expected = /^$/): string[] {
  const complaints: string[] = [];
  const add = (text: string): void => {
    if (!expected.test(text) && !text.includes(networkChanged)) complaints.push(text);
  };
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) add(message.text());
  });
  page.on('pageerror', (error) => {
    add(String(error));
  });
  return complaints;
}
