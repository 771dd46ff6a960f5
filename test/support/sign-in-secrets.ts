/** What accounts seal and keep, for tests: secrets of their own, and no folder unless one is given. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SecretBox, openSecretBox } from '../../src/store/secrets.ts';
import './cheap-passwords.ts';

export function signInSecrets(dir?: string): { secrets: SecretBox; resetsDir: string } {
  const home = dir ?? mkdtempSync(join(tmpdir(), 'gangway-secrets-'));
  const secrets = openSecretBox({ dir: home });
  // Once open they need their folder no more.
  if (dir === undefined) rmSync(home, { recursive: true, force: true });
  return { secrets, resetsDir: join(home, 'resets') };
}
