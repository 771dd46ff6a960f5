/** Owns the failure of a source that cannot be built; its message is the deployment's error. */

export class BuildRefused extends Error {
  override readonly name = 'BuildRefused';
}
