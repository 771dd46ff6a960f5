/**
 * Owns which names of us an address is believed under. A page of another site can have its own name lead to
 * this machine (DNS rebinding), and then its requests come from the address of whoever looks at the page. It
 * cannot have a browser send a Host that is not its own.
 */
import { isIP, isIPv6 } from 'node:net';

/** RFC 9110, 7.2: a name or an address, and a port or none. */
const hostForm = /^(?:\[([^\]]*)\]|([^:[\]]+))(?::\d*)?$/;

/** Whether a Host header is an IP address, `localhost`, or the host of the public URL. */
export function namesUs(host: string, publicUrl: string): boolean {
  const [, inBrackets, plain = ''] = hostForm.exec(host) ?? [];
  if (inBrackets !== undefined) return isIPv6(inBrackets);
  const name = plain.toLowerCase();
  if (name === 'localhost' || isIP(name) !== 0) return true;
  return name !== '' && URL.canParse(publicUrl) && new URL(publicUrl).hostname === name;
}
