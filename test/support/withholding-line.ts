/** Owns a line of the tests to a port of 127.0.0.1 that can keep what is sent one way to itself. */
import net from 'node:net';

export interface WithholdingLine {
  readonly port: number;
  /** From now on this is kept: what is asked, or what is answered; null: nothing. */
  withholds: 'requests' | 'answers' | null;
  /** Called when anything is kept. */
  onWithheld: () => void;
  /** Ends all connections. */
  cut(): void;
  close(): Promise<void>;
}

export async function withholdingLine(target: () => number): Promise<WithholdingLine> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect(target(), '127.0.0.1');
    const lead = (from: net.Socket, to: net.Socket, what: 'requests' | 'answers'): void => {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (line.withholds === what) line.onWithheld();
        else to.write(chunk);
      });
      from
        .on('error', () => undefined)
        .once('close', () => {
          sockets.delete(from);
          // Who kept an answer back has not heard that its sender is gone either.
          if (line.withholds === null) to.destroy();
        });
    };
    lead(near, far, 'requests');
    lead(far, near, 'answers');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const line: WithholdingLine = {
    port: (server.address() as net.AddressInfo).port,
    withholds: null,
    onWithheld: () => undefined,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      line.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return line;
}
