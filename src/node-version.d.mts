/** Why a Node.js will not do, as one line for people; null where it does. */
export function nodeRefusal(version: string, place: string): string | null;
/** Ends the process with a line on another Node.js. To be called before anything else is loaded. */
export function checkNode(): void;
