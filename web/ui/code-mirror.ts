/**
 * Owns CodeMirror in a shadow tree of its own: there its styles are sheets that are adopted, where in the
 * document they would be elements, which the policy of the page forbids.
 */
import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

interface EditorOptions {
  label: string;
  language: 'yaml' | 'text';
  value: string;
  onChange: (value: string) => void;
  complete: (before: string) => readonly { from: number; label: string; detail?: string }[];
}

export interface Editor {
  /** Makes it hold this text, without a word when it does already. */
  show(value: string): void;
  close(): void;
}

const look = EditorView.theme({
  '&': { background: 'var(--field)', color: 'var(--ink)', fontSize: '0.8125rem' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--mono)',
    lineHeight: '1.6',
    minHeight: '16rem',
    maxHeight: '60vh',
  },
  '.cm-content': { padding: '0.625rem 0', caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { background: 'transparent', color: 'var(--faint)', border: 'none' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground':
    {
      background: 'var(--tint)',
    },
  '.cm-tooltip': {
    background: 'var(--raised)',
    border: 'none',
    borderRadius: '0.5rem',
    boxShadow: 'var(--float)',
    overflow: 'hidden',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    background: 'var(--tint)',
    color: 'var(--ink)',
  },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--strong)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.comment, tags.meta], color: 'var(--faint)' },
  { tag: [tags.number, tags.bool, tags.keyword], color: 'var(--warn)' },
]);

export function openEditor(place: HTMLElement, options: EditorOptions): Editor {
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
  const complete = ({ state, pos }: CompletionContext): CompletionResult | null => {
    const line = state.doc.lineAt(pos);
    const found = options.complete(line.text.slice(0, pos - line.from));
    const [first] = found;
    if (first === undefined) return null;
    return {
      from: line.from + first.from,
      options: found.map(({ label, detail }) => ({
        label,
        ...(detail !== undefined && { detail }),
      })),
    };
  };
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        keymap.of([...defaultKeymap, ...historyKeymap]),
        autocompletion({ override: [complete] }),
        options.language === 'yaml' ? yaml() : [],
        syntaxHighlighting(colours),
        look,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'false' }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) options.onChange(state.doc.toString());
        }),
      ],
    }),
  });
  return {
    show: (value) => {
      const now = view.state.doc.toString();
      if (value !== now) view.dispatch({ changes: { from: 0, to: now.length, insert: value } });
    },
    close: () => view.destroy(),
  };
}
