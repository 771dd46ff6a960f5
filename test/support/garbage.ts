/** Owns asking V8 to collect, so that a test can tell what is still held. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

// The function is only in contexts that are made after the flag is set.
setFlagsFromString('--expose-gc');

export const collectGarbage = runInNewContext('gc') as () => void;
