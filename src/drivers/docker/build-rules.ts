/**
 * Owns what a build may not have of the machine it runs on: images of other teams, its own network,
 * another program in the builder's place.
 *
 * Addresses are judged as they stand in the file; a name that leads to the machine is not found out.
 */
import { AddressPolicy } from '../../lib/address-policy.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { ImageBuild } from '../driver.ts';
import { frontendOf, mayBeId, takingsOf } from './dockerfile-bases.ts';
import type { Names } from './names.ts';

type Args = Readonly<Record<string, string>>;

/** Returns what images it may take from. Throws IMAGE_NOT_FOUND and IMAGE_BUILD_FAILED, naming what is refused. */
export function checkBuildRules(
  dockerfile: string,
  buildArgs: Args,
  names: Names,
): readonly string[] {
  const frontend = frontendOf(dockerfile);
  if (frontend !== null && !/^(docker\.io\/)?docker\/dockerfile([:@].*)?$/.test(frontend)) {
    throw refused(
      `The syntax ${frontend} is refused: docker/dockerfile alone may read a Dockerfile.`,
    );
  }
  const { bases, urls } = takingsOf(dockerfile, buildArgs);
  for (const base of bases) {
    // A builder starts from any image on the daemon; the classic one by the beginning of its id, too.
    if (!mayBeId(base) && !names.isImage(base)) continue;
    throw new ServiceError(
      'IMAGE_NOT_FOUND',
      `The Dockerfile starts from ${base}: name an image of a registry, with its tag.`,
    );
  }
  for (const url of urls) {
    // The daemon fetches it from where it is itself, not from within a container.
    if (isOfMachine(url))
      throw refused(`ADD ${url} is refused: it is in the server's own network.`);
  }
  return bases;
}

/** Without what would steer BuildKit itself. What it keeps by `--mount=type=cache` is of one app. */
export function buildKitArgs({ owner, buildArgs }: Pick<ImageBuild, 'owner' | 'buildArgs'>): Args {
  return { ...classicArgs({ buildArgs }), BUILDKIT_CACHE_MOUNT_NS: owner };
}

export function classicArgs({ buildArgs }: Pick<ImageBuild, 'buildArgs'>): Args {
  return Object.fromEntries(
    Object.entries(buildArgs).filter(([name]) => !/^BUILDKIT_/i.test(name)),
  );
}

function isOfMachine(url: string): boolean {
  let host: string;
  try {
    // As the schemes of the web: it takes a number for an address, as those who connect do.
    host = new URL(url.replace(/^[a-z+]+:/i, 'http:')).hostname.replace(/^\[|\]$/g, '');
  } catch {
    return false; // It leads nowhere.
  }
  if (/^(.+\.)?localhost\.?$/i.test(host)) return true;
  const isAddress = /^[\d.]+$/.test(host) || host.includes(':');
  return isAddress && new AddressPolicy({ privateNetworks: [] }).admit(host, 0) === 'refused';
}

function refused(sentence: string): ServiceError {
  return new ServiceError('IMAGE_BUILD_FAILED', sentence);
}
