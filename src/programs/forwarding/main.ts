/** Owns the start of the forwarder as a program of its own. Its one argument is the table. */
import { startForwarding } from './forwarder.ts';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Cannot forward: no table was named');
startForwarding(file);
