/** Entry point of the program that makes the agent's one file: writes it to the file that it is given. */
import { writeFileWhole } from '../../lib/whole-file.ts';
import { agentPackage } from './package.ts';

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('Usage: node main.ts <file>');
writeFileWhole(file, agentPackage().code, false);
