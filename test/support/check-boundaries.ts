/**
 * Runs dependency-cruiser over src and bench and fails on a violation, and also when it looked at nothing:
 * with a TypeScript it does not know it cruises 0 modules and calls that a success.
 */
import { spawnSync } from 'node:child_process';

const run = spawnSync(
  process.execPath,
  [
    'node_modules/.bin/depcruise',
    'src',
    'bench',
    '--config',
    '.dependency-cruiser.cjs',
    '--output-type',
    'json',
  ],
  { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 },
);
if (run.status === null || run.stdout === '') {
  console.error(run.stderr);
  process.exit(1);
}
const { summary } = JSON.parse(run.stdout) as {
  summary: {
    totalCruised: number;
    violations: { rule: { name: string }; from: string; to: string }[];
  };
};
for (const { rule, from, to } of summary.violations)
  console.error(`${rule.name}: ${from} -> ${to}`);
console.log(`${summary.totalCruised} modules checked, ${summary.violations.length} violations`);
process.exit(summary.totalCruised === 0 || summary.violations.length > 0 ? 1 : 0);
