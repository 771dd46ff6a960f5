/**
 * Owns which Node.js Gangway runs on: the one it brings, or another of the same major version that has
 * all it uses. Plain JavaScript that older ones read too: it is there to tell them.
 *
 * Native code is installed for that major version alone, and tests are run on no other.
 */
const wanted = { major: 22, minor: 18 };

/**
 * Why a Node.js will not do, as one line for people; null where it does.
 * @param {string} version @param {string} place of its binary
 */
export function nodeRefusal(version, place) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major === wanted.major && minor >= wanted.minor) return null;
  return (
    `Gangway runs on Node.js ${wanted.major}, from ${wanted.major}.${wanted.minor} on; this is ${version} (${place}). ` +
    'Start it by npm, which takes the Node.js that Gangway brings: node_modules/.bin/node.'
  );
}

/** Ends the process with a line on another Node.js. To be called before anything else is loaded. */
export function checkNode() {
  const refusal = nodeRefusal(process.versions.node, process.execPath);
  if (refusal === null) return;
  process.stderr.write(`gangway: ${refusal}\n`);
  process.exit(1);
}
