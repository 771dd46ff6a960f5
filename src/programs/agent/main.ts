/** Entry point of the agent, as it is started on another server. */
import { agentCommand } from './command.ts';

process.exitCode = await agentCommand(process.argv.slice(2));
