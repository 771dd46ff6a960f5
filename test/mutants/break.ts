/** One behaviour broken in the source, and the tests of its part, which are to notice. */
export interface Break {
  name: string;
  /** Below the root of the tree. */
  file: string;
  /** Stands in the file once. */
  find: string;
  replace: string;
  /** Files below `test/`. */
  tests: readonly string[];
}
