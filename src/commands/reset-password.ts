/** Owns the command that makes a link for a new password. The service may run meanwhile. */
import { join } from 'node:path';
import { userOf } from '../auth/callers/account-reads.ts';
import { PasswordResets, resetsFolder } from '../auth/sign-in/password-resets.ts';
import { addressOf, type Config, resolveConfig } from '../config.ts';
import { StoreRefusal } from '../store/refusal.ts';
import { openReadOnly } from '../store/store.ts';
import { openSecretBox } from '../store/secrets.ts';
import { tables } from '../store/records/tables.ts';

/**
 * Prints the link; false when the arguments are wrong. Throws a StoreRefusal, also when no account has the
 * address.
 */
export async function resetPasswordCommand(args: readonly string[]): Promise<boolean> {
  const endsTwoFactor = args.includes('--disable-two-factor');
  const [email, ...more] = args.filter((arg) => arg !== '--disable-two-factor');
  if (email === undefined || email.startsWith('-') || more.length > 0) return false;
  const { config } = resolveConfig();
  const { user, publicUrl } = await lookUp(config, email);
  const key = config.instanceKey === null ? {} : { key: config.instanceKey };
  const resets = new PasswordResets({
    dir: join(config.dataDir, resetsFolder),
    secrets: openSecretBox({ dir: config.dataDir, ...key }),
    now: () => Date.now(),
  });
  const token = await resets.create({ userId: user.id, endsTwoFactor });
  process.stdout.write(`${publicUrl}/reset/${token}\n`);
  process.stderr.write(`Sets a new password for ${user.email}; good once, for an hour.\n`);
  return true;
}

async function lookUp(config: Config, email: string) {
  const reader = openReadOnly(config.dataDir);
  try {
    const record = reader.find(tables.auth, 'email', [email.trim().toLowerCase()]);
    if (!record) throw new StoreRefusal(`No account has the address ${email}.`);
    const stored = reader.get(tables.instance, 'instance')?.publicUrl ?? null;
    return {
      user: userOf(record),
      publicUrl: stored ?? config.publicUrl ?? addressOf(config.host, config.port),
    };
  } finally {
    await reader.close();
  }
}
