/** The one entry of the package that gives its native part; it comes without types. */
declare module '@lydell/node-pty/requireBinary.js' {
  export function requireBinary(file: 'pty.node'): unknown;
}
