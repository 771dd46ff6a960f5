/** Owns what the app actor is given: its parts, its folders, its bounds. */
import { type AppDeps, appDefaults, type AppOptions } from '../actors/app/deps.ts';
import { BuildQueue } from '../actors/app/deploying/build-queue.ts';
import { type Config, hostBuildEnv, isDefaultNodeImage } from '../config.ts';
import { readStaticServer, toolchainPaths } from '../drivers/process/toolchain.ts';
import { type ActorParts, programFolders } from './actor-parts.ts';

/** Own uids for apps, above those that people and packages use. */
const appUids = { first: 200_000, last: 299_999 };

export function appDeps(parts: ActorParts): AppDeps {
  const { config, reader, driver, streams, secrets, clock, logger, bulk, prepareTools } = parts;
  return {
    ...{ reader, driver, streams, secrets, clock, logger },
    // Every release is extracted before anything of it runs, so the tools are made ready here.
    extractor: {
      extract: async (archive, format, into, options) => {
        await prepareTools();
        return await bulk.extract(archive, format, into, options);
      },
    },
    buildQueue: new BuildQueue({ concurrency: config.buildConcurrency, clock }),
    options: appOptions(parts),
  };
}

/** The host name that the edge knows an app by. */
export function hostNameOf({ appsDomain }: Pick<Config, 'appsDomain'>): (slug: string) => string {
  return (slug) => `${slug}.${appsDomain}`;
}

function appOptions({ config, driver, appsRoot: root, folders }: ActorParts): AppOptions {
  const { appsRoot, perAppUid } = root;
  const tools = toolchainPaths(appsRoot);
  const hostOf = hostNameOf(config);
  return {
    ...appDefaults,
    appsRoot,
    uploadsRoot: folders.uploads,
    // In containers they run as whom their image says.
    uids: perAppUid && driver.runs === 'host' ? appUids : null,
    toolchain: {
      path: [tools.binDir, ...programFolders],
      node: tools.node,
      staticServer: tools.staticServer,
      nodeVersion: process.versions.node,
    },
    containers: {
      images: {
        node: config.nodeImage,
        python: config.pythonImage,
        go: config.goImage,
        base: config.baseImage,
      },
      isDefaultNode: isDefaultNodeImage(config),
      staticServer: readStaticServer,
    },
    buildEnv: hostBuildEnv(),
    hostOf,
    urlOf: (slug) => `http://${hostOf(slug)}:${String(config.edgePort)}`,
    buildTimeoutMs: config.buildTimeoutMinutes * 60_000,
    healthTimeoutMs: config.healthTimeoutSeconds * 1000,
    drainMs: config.appDrainSeconds * 1000,
  };
}
