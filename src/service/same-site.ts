/**
 * Owns the question whether apps could set cookies that the panel receives (cookie tossing): they
 * can when they share a domain below a public suffix. Without the list of public suffixes two labels
 * count as one: `example.com` is shared, `com` is not.
 */
import { isIP } from 'node:net';

/** Whether `appsDomain` is the panel's host, a parent of it, or a sibling. */
export function sharesSite(panelHost: string, appsDomain: string): boolean {
  const panel = panelHost.toLowerCase();
  if (isIP(panel.replace(/^\[|\]$/g, '')) !== 0) return false;
  if (panel === appsDomain || panel.endsWith(`.${appsDomain}`)) return true;
  const parent = parentOf(panel);
  return parent.includes('.') && parent === parentOf(appsDomain);
}

function parentOf(host: string): string {
  return host.slice(host.indexOf('.') + 1);
}
