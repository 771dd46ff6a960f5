/**
 * Owns what a built dashboard is on disk: a folder with its files, each as brotli and as gzip, and a
 * manifest that is written last. `src/programs/dashboard` makes it, the gateway serves it.
 */

export const manifestName = 'manifest.json';
/** What esbuild tells of its outputs, for whoever weighs them. */
export const metafileName = 'metafile.json';

export interface DashboardManifest {
  /** Of what it was built from. */
  readonly digest: string;
  /** Names of files. `theme` runs before anything is painted, `script` is a module, `imports` what it needs to run. */
  readonly entry: {
    readonly theme: string;
    readonly script: string;
    readonly imports: readonly string[];
    readonly style: string;
  };
  /** In order: the first pattern that fits a path is its page. */
  readonly pages: readonly DashboardPage[];
  /** Name to media type. On disk are `<name>.br` and `<name>.gz`. */
  readonly files: Readonly<Record<string, string>>;
}

export interface DashboardPage {
  /** Segments with `:name`, `:name?` at the end, or `*`. */
  readonly path: string;
  /** Scripts that its first view needs besides the entry. */
  readonly scripts: readonly string[];
}
