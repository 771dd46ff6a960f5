/** Owns sizes as people read them. */
const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Such as "1.4 GiB". */
export function bytesInWords(bytes: number): string {
  let [amount, unit] = [bytes, 0];
  while (amount >= 1024 && unit < units.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || amount >= 100 ? 0 : 1;
  return `${amount.toFixed(digits)} ${units[unit] ?? ''}`;
}
