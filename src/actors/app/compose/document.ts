/**
 * Owns reading a compose file: YAML 1.2 with merge keys, as plain data.
 *
 * 1. Nothing is fetched, included or made: tags other than YAML's own are refused.
 * 2. It ends soon, whatever the text: aliases are counted, depth and size are bounded.
 */
import type { YAMLError } from 'yaml';
import { ComposeRefused, placeOf } from './refused.ts';

const aliasesMax = 100;
const depthMax = 32;
const nodesMax = 20_000;

/** The document as plain data. Rejects with ComposeRefused. */
export async function readDocument(text: string): Promise<unknown> {
  const { LineCounter, parseAllDocuments } = await import('yaml');
  const lines = new LineCounter();
  const options = { merge: true, uniqueKeys: true, lineCounter: lines, prettyErrors: false };
  const documents = parseAllDocuments(text, options);
  const [document, second] = documents;
  if (document === undefined) throw new ComposeRefused('compose is empty.');
  if (second !== undefined) throw new ComposeRefused('compose must be one YAML document.');
  const [wrong] = [...document.errors, ...document.warnings];
  if (wrong !== undefined) {
    throw new ComposeRefused(`compose is not valid YAML: ${describe(wrong, lines)}.`);
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: aliasesMax });
  } catch (error) {
    throw new ComposeRefused('compose has too many aliases, or one that leads nowhere.', {
      cause: error,
    });
  }
  measure(value, [], { nodes: 0 });
  return value;
}

function describe(error: YAMLError, lines: { linePos(at: number): { line: number } }): string {
  const { line } = lines.linePos(error.pos[0]);
  const [sentence = 'unreadable'] = error.message.split('\n');
  return `line ${String(line)}: ${sentence.replace(/[.:]$/, '')}`;
}

/** Aliases make one text many values, and may close a circle. */
function measure(value: unknown, path: PropertyKey[], seen: { nodes: number }): void {
  if (path.length > depthMax)
    throw new ComposeRefused(`${placeOf(path.slice(0, 4))} is nested too deep.`);
  seen.nodes += 1;
  if (seen.nodes > nodesMax) throw new ComposeRefused('compose has too many values.');
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    measure(inner, [...path, Array.isArray(value) ? Number(key) : key], seen);
  }
}
