/**
 * A program that changes a folder all the while, as a hostile app does: `node swapping-child.ts <folder>
 * <uid>`. Each name of `swaps.json` there is, in turn, what the files `<name>.0`, `<name>.1`, … are.
 */
import { readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const [folder = '', uid = ''] = process.argv.slice(2);
const swaps = JSON.parse(readFileSync(join(folder, 'swaps.json'), 'utf8')) as Record<
  string,
  number
>;
if (uid !== '') {
  process.setgroups?.([]);
  process.setgid?.(Number(uid));
  process.setuid?.(Number(uid));
}
const parts = Object.entries(swaps).map(([name, variants]) => ({
  at: join(folder, name),
  variants,
}));

/** False where it is not there: somebody removed it. */
function rename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

for (let turn = 0; ; turn++) {
  let some = false;
  for (const { at, variants } of parts) {
    rename(at, `${at}.${String(turn % variants)}`);
    some = rename(`${at}.${String((turn + 1) % variants)}`, at) || some;
  }
  if (!some) break;
  if (turn === 0) writeSync(1, 'swapping\n');
}
