/** Owns what the app behind the proxies answers, for itself and for who checks it. */
export const smallAnswer = Buffer.alloc(5, 'a');
export const largeAnswer = Buffer.alloc(100_000, 'a');

export function uploadAnswer(bytes: number): string {
  return `read ${bytes} bytes`;
}
