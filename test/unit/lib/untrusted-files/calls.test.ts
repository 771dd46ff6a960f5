/** All that holds of these files holds when their calls are made by this thread itself, too. */
import { callInThisThread } from '../../../../src/lib/untrusted-files/calls.ts';

callInThisThread();
for (const name of ['folder', 'copy', 'remove', 'swapped']) await import(`./${name}.test.ts`);
