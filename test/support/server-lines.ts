/**
 * Owns the ways of a test from other servers to the control plane: each is a line of its own, behind an address of its
 * own. As root the servers are network namespaces with addresses of their own; else all is on this machine's loopback.
 */
import { needs } from './programs.ts';
import { Namespace } from './namespaces.ts';
import { slowLine, type SlowLine } from './slow-line.ts';

export interface ServerLine {
  /** Where the server finds the control plane. */
  host: string;
  /** What a program is run by to be on the server. */
  within: readonly string[];
  /** To the agents' port. */
  line: SlowLine;
  close(): Promise<void>;
}

export interface ServerLineOptions {
  /** Of this test: 0, 1, … */
  index: number;
  /** Of the control plane, on 127.0.0.1. */
  panelPort: number;
  /** The same one; the control plane may listen there on `agentsHost` alone. */
  agentPort: number;
}

/** Where the control plane is to have its agents' port: the addresses of the lines are others. */
export const agentsHost = '127.0.0.1';
/** Whether servers are namespaces here. */
export const haveNamespaces = needs('root', 'ip', 'unshare', 'nsenter') === false;

export async function serverLine(options: ServerLineOptions): Promise<ServerLine> {
  const { index, panelPort, agentPort } = options;
  const space = haveNamespaces ? await Namespace.open() : null;
  const host = space ? addressOf(index, 1) : `127.0.0.${String(index + 2)}`;
  await space?.join(`gwt${String(process.pid)}${String(index)}`, host, addressOf(index, 2));
  const line = await slowLine(() => agentPort, { host, port: agentPort });
  const panel = await slowLine(() => panelPort, { host, port: panelPort });
  return {
    ...{ host, line, within: space?.within ?? [] },
    async close() {
      await line.close();
      await panel.close();
      await space?.close();
    },
  };
}

/** Two tests at once, in processes of their own, have others. */
function addressOf(index: number, end: 1 | 2): string {
  return `10.222.${String(process.pid % 256)}.${String(4 * index + end)}`;
}
