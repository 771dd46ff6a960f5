/** The address is not available. The message is for whoever starts the program. */
export class ListenError extends Error {
  override name = 'ListenError';

  constructor(host: string, port: number, options?: ErrorOptions) {
    super(
      `Cannot listen on ${host}:${String(port)}: it is taken, or not an address of ours`,
      options,
    );
  }
}
