/**
 * Owns what a driver and its runner must agree on before they can talk: the number of the protocol,
 * and where in a data directory they meet.
 */

/** Goes up when a message changes its meaning. Runners with another number are asked to hand over. */
export const runnerProtocol = 6;

/** Folder of the socket, readable by its owner alone. */
export const runnerSocketDir = 'run';
export const runnerSocketName = 'runner.sock';
/** Folder of the runner's own state, spools and log; its owner's alone. */
export const runnerStateDir = 'runner';
