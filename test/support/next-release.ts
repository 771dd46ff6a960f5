/** Owns a checkout of the release after this one, as an update brings it: its edge is another program. */
import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const own = ['src', 'config', 'package.json'];

export class NextRelease {
  readonly folder = mkdtempSync(join(tmpdir(), 'gangway-next-release-'));

  constructor() {
    for (const name of own) {
      cpSync(join(root, name), join(this.folder, name), { recursive: true });
    }
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
    appendFileSync(join(this.folder, 'src/programs/edge/main.ts'), '// The next release.\n');
  }

  close(): void {
    rmSync(this.folder, { recursive: true });
  }
}
