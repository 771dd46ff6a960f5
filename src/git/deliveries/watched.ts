/** Owns whether a push changed anything that an app watches. */

/**
 * `files`: paths that the push changed; null where nobody says. `watched`: files and folders; none: everything is.
 * A push counts as one that changed it wherever that is not known.
 */
export function touches(files: readonly string[] | null, watched: readonly string[]): boolean {
  if (files === null || watched.length === 0) return true;
  const folders = watched.map((path) => `${path}/`);
  return files.some(
    (file) => watched.includes(file) || folders.some((folder) => file.startsWith(folder)),
  );
}
