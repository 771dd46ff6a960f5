/** Owns where the scripts for other servers lie. */
import { readFileSync } from 'node:fs';
import type { AgentScripts } from '../gateway/transports/agent-scripts.ts';

export function agentScripts(): AgentScripts {
  const script = (name: string): Uint8Array =>
    readFileSync(new URL(`../../config/${name}`, import.meta.url));
  return { 'install.sh': script('agent-install.sh'), 'takeover.sh': script('takeover.sh') };
}
