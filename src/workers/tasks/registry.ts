/** Owns the thread that asks public registries, and reads what they answer: whatever that is, it costs nobody else. */
export { askRegistry } from '../../registries/sources/ask-registry.ts';
