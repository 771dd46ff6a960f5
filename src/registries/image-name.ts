/** Owns how the name of an image is read (the reference grammar of the OCI distribution specification). Pure. */

export interface ImageName {
  /** Host, with a port where it has one; null: Docker Hub. */
  registry: string | null;
  /** In full, such as `library/postgres`. */
  repository: string;
  /** Null: none is named. */
  tag: string | null;
}

const hubHosts = new Set(['docker.io', 'index.docker.io', 'registry-1.docker.io']);
const repositoryPattern =
  /^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(\/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$/;
const hostPattern = /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:]+\])(:[0-9]{1,5})?$/i;
const digestPattern = /^[a-z0-9+._-]+:[0-9a-f]{32,128}$/;
const nameMax = 255;

/** Null: it is no name of an image. */
export function imageName(text: string): ImageName | null {
  if (text.length > nameMax) return null;
  const [named = '', digest, ...more] = text.split('@');
  if (more.length > 0 || (digest !== undefined && !digestPattern.test(digest))) return null;
  const slash = named.indexOf('/');
  const first = slash === -1 ? '' : named.slice(0, slash);
  const hasHost = first === 'localhost' || /[.:]/.test(first);
  const { name, tag } = untagged(hasHost ? named.slice(slash + 1) : named);
  if (!repositoryPattern.test(name) || (tag !== null && !isTag(tag))) return null;
  if (!hasHost || hubHosts.has(first)) {
    return { registry: null, repository: name.includes('/') ? name : `library/${name}`, tag };
  }
  if (!hostPattern.test(first) || !URL.canParse(`https://${first}`)) return null;
  return { registry: first.toLowerCase(), repository: name, tag };
}

export function isTag(text: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/.test(text);
}

/** The name for people: what Docker Hub itself keeps is named without `library/`. */
export function shortName({ registry, repository }: ImageName): string {
  return registry === null ? repository.replace(/^library\//, '') : `${registry}/${repository}`;
}

function untagged(path: string): { name: string; tag: string | null } {
  const colon = path.lastIndexOf(':');
  if (colon === -1) return { name: path, tag: null };
  return { name: path.slice(0, colon), tag: path.slice(colon + 1) };
}
