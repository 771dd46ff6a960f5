/**
 * Owns the addresses of workloads on their machine. A workload has a number there: by it the machine's end of
 * its pair of interfaces is called, and its address follows.
 */
import { randomInt } from 'node:crypto';

/** Of `workloadNetwork`. */
const prefix = '10.213.';
/** Of the machine, as workloads see it. */
export const machineAddress = '10.213.255.1';
/** What the machine's ends of all pairs are called, as iptables has it. */
export const anyWorkload = 'gngw+';
/** The block of the machine's address is nobody else's. */
const numbersEnd = 255 * 256;

export function interfaceOf(number: number): string {
  return `gngw${String(number)}`;
}

export function addressOf(number: number): string {
  return `${prefix}${String(number >> 8)}.${String(number & 255)}`;
}

/** Undefined for what is no address of a workload. */
export function numberOf(address: string): number | undefined {
  if (!address.startsWith(prefix)) return undefined;
  const [high = NaN, low = NaN] = address.slice(prefix.length).split('.').map(Number);
  const number = high * 256 + low;
  return isNumber(number) && addressOf(number) === address ? number : undefined;
}

/** Programs know the first and the last of 256 addresses as those of a network and of all in it. */
function isNumber(number: number): boolean {
  const low = number & 255;
  return number > 0 && number < numbersEnd && low !== 0 && low !== 255;
}

/** Numbers one behind the other from anywhere, so that none comes again soon, nor with another instance. */
export function* workloadNumbers(first = randomInt(1, numbersEnd)): Generator<number, never> {
  for (let number = first; ; number = (number + 1) % numbersEnd) {
    if (isNumber(number)) yield number;
  }
}
