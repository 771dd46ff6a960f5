/**
 * Owns how node:http and the proxy library are loaded in the runner without modules that they pull in;
 * these would be a third of the runner's memory. Code in the runner that needs http imports this file.
 *
 * - As a module, node:http evaluates its lazy WebSocket exports, which load a whole HTTP client.
 * - The proxy library imports node:https and node:http2, and with them TLS and OpenSSL's tables. Our apps
 *   speak plain HTTP on the loopback and need none of them.
 */
import { registerHooks } from 'node:module';
import type { ProxyServer } from 'httpxy';

export const http = process.getBuiltinModule('node:http');

const lazyExports = ['WebSocket', 'CloseEvent', 'MessageEvent'];
const unusedModules = new Set(['node:https', 'node:http2']);
const emptyModule =
  'data:text/javascript,export const request = undefined; export default { Agent: class {} };';

export async function loadProxyServer(): Promise<ProxyServer> {
  const lazy = lazyExports.map(
    (name) => [name, Object.getOwnPropertyDescriptor(http, name)] as const,
  );
  for (const [name] of lazy) {
    Object.defineProperty(http, name, { value: undefined, configurable: true });
  }
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      unusedModules.has(specifier) && context.parentURL?.includes('/httpxy/')
        ? { url: emptyModule, format: 'module', shortCircuit: true }
        : next(specifier, context),
  });
  try {
    const { createProxyServer } = await import('httpxy');
    return createProxyServer();
  } finally {
    hooks.deregister();
    for (const [name, descriptor] of lazy) {
      if (descriptor) Object.defineProperty(http, name, descriptor);
    }
  }
}
