/** `npm run bench`. */
import { fileURLToPath } from 'node:url';
import { Interrupts } from './interrupts.ts';
import { runBench } from './program.ts';

const interrupts = new Interrupts();
interrupts.listen();
process.exit(
  await runBench(process.argv.slice(2), {
    scenarios: new URL('./scenarios/', import.meta.url),
    results: fileURLToPath(new URL('./results/', import.meta.url)),
    interrupts,
  }),
);
