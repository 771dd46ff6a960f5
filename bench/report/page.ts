import type { Run } from './results.ts';
export function page(run: Run): string {
  return JSON.stringify(run);
}
