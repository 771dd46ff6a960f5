/**
 * Owns how node:http and the proxy library come into the runner without what they drag along: as
 * modules they evaluate node:http's lazy WebSocket exports, which load a whole HTTP client (6 MB).
 * Whoever needs http here takes it from this file.
 */
import type { ProxyServer } from 'httpxy';

export const http = process.getBuiltinModule('node:http');

export async function loadProxyServer(): Promise<ProxyServer> {
  const lazy = ['WebSocket', 'CloseEvent', 'MessageEvent'].map(
    (name) => [name, Object.getOwnPropertyDescriptor(http, name)] as const,
  );
  for (const [name] of lazy) {
    Object.defineProperty(http, name, { value: undefined, configurable: true });
  }
  try {
    const { createProxyServer } = await import('httpxy');
    return createProxyServer();
  } finally {
    for (const [name, descriptor] of lazy) {
      if (descriptor) Object.defineProperty(http, name, descriptor);
    }
  }
}
