/** A secret box that seals nothing, so that a test reads what was sealed for which place. */
import type { SecretBox } from '../../src/actors/workload/deps.ts';

export const plainSecrets: SecretBox = {
  seal: (plain, context) => Buffer.from(`${context}|${plain}`),
  open: (sealed, context) =>
    Buffer.from(sealed)
      .toString()
      .slice(context.length + 1),
};
