/** The part of the package that tests use; it ships no types. */
declare module '@20minutes/s3rver' {
  class S3rver {
    constructor(options: Record<string, unknown>);
    run(): Promise<{ address: string; port: number }>;
    close(): Promise<void>;
  }
  export = S3rver;
}
