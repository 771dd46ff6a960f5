/**
 * Owns what builds and pulls may not have of the machine they run on: its own network, link-local
 * registries, another program in the builder's place.
 *
 * A Dockerfile is judged by the addresses that stand in it. A host name that leads to the machine is not
 * found out.
 */
import { isIP } from 'node:net';

import { AddressPolicy } from '../../../lib/address-policy.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { ImageBuild } from '../../driver.ts';
import { frontendOf, sourcesOf } from './dockerfile-sources.ts';
import type { Names } from '../engine/names.ts';

type Args = Readonly<Record<string, string>>;

/** Registries may be in private networks; what ADD fetches may not. */
const forRegistries = new AddressPolicy({ privateNetworks: ['0.0.0.0/0', '::/0'] });
const forFiles = new AddressPolicy({ privateNetworks: [] });

/** Throws IMAGE_NOT_FOUND, REGISTRY_REFUSED and IMAGE_BUILD_FAILED, naming what is refused. */
export function checkBuildRules(dockerfile: string, buildArgs: Args, names: Names): void {
  const frontend = frontendOf(dockerfile);
  if (frontend !== null && !/^(docker\.io\/)?docker\/dockerfile([:@].*)?$/.test(frontend)) {
    throw refused(
      `The syntax ${frontend} is refused: docker/dockerfile alone may read a Dockerfile.`,
    );
  }
  const { images, urls } = sourcesOf(dockerfile, buildArgs);
  for (const image of images) {
    checkRegistry(image);
    if (!names.isImage(image)) continue;
    throw new ServiceError(
      'IMAGE_NOT_FOUND',
      `The Dockerfile starts from ${image}: name an image of a registry, with its tag.`,
    );
  }
  for (const url of urls) {
    // The daemon fetches it from where it is itself, not from within a container.
    if (isOfMachine(url))
      throw refused(`ADD ${url} is refused: it is in the server's own network.`);
  }
}

/** Throws REGISTRY_REFUSED where it lies at a link-local address: clouds keep their secrets there. */
export function checkRegistry(reference: string): void {
  const [host = '', ...rest] = reference.split('/');
  if (rest.length === 0 || !/[.:]/.test(host)) return;
  const address = hostOf(`http://${host}`);
  if (address === null || isIP(address) === 0) return;
  if (forRegistries.admit(address, 0) !== 'refused') return;
  throw new ServiceError(
    'REGISTRY_REFUSED',
    `The registry of ${reference} is at no address for registries.`,
  );
}

/** Without what would steer BuildKit itself. What it keeps by `--mount=type=cache` is of one app. */
export function checkedArgs({ owner, buildArgs }: Pick<ImageBuild, 'owner' | 'buildArgs'>): Args {
  const own = Object.entries(buildArgs).filter(([name]) => !/^BUILDKIT_/i.test(name));
  return { ...Object.fromEntries(own), BUILDKIT_CACHE_MOUNT_NS: owner };
}

function isOfMachine(url: string): boolean {
  const host = hostOf(url.replace(/^[a-z+]+:/i, 'http:'));
  if (host === null) return false; // It leads nowhere.
  if (/^(.+\.)?localhost\.?$/i.test(host)) return true;
  return isIP(host) !== 0 && forFiles.admit(host, 0) === 'refused';
}

/** Of an address of the web, with numbers in any notation as the addresses they stand for. */
function hostOf(url: string): string | null {
  try {
    return new URL(url).hostname.replace(/^\[|\]$/g, '');
  } catch {
    return null; // It is none.
  }
}

function refused(sentence: string): ServiceError {
  return new ServiceError('IMAGE_BUILD_FAILED', sentence);
}
