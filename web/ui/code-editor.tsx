/**
 * Owns an editor for text that machines read, such as compose files and variables. CodeMirror comes when it is
 * first used; until then, and where it cannot come, a plain field takes the text.
 */
import { useEffect, useRef, useState } from 'react';
import type { Editor } from './code-mirror.ts';

export interface CodeEditorProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  language?: 'yaml' | 'text';
  /** Offered while typing; gets what stands before the cursor in its line. */
  complete?: (before: string) => readonly { from: number; label: string; detail?: string }[];
}

export function CodeEditor({
  label,
  value,
  onChange,
  language = 'text',
  complete,
}: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [isThere, setThere] = useState(false);
  const latest = useRef({ value, onChange, complete });
  latest.current = { value, onChange, complete };
  useEffect(() => {
    let isGone = false;
    void import('./code-mirror.ts').then(
      ({ openEditor }) => {
        if (isGone || place.current === null) return;
        editor.current = openEditor(place.current, {
          ...{ label, language, value: latest.current.value },
          onChange: (text) => latest.current.onChange(text),
          complete: (before) => latest.current.complete?.(before) ?? [],
        });
        setThere(true);
      },
      // The plain field stays.
      () => undefined,
    );
    return () => {
      isGone = true;
      editor.current?.close();
      editor.current = null;
    };
  }, [label, language]);
  useEffect(() => editor.current?.show(value), [value]);
  return (
    <div className="code-editor">
      <div ref={place} className="code-editor-place" hidden={!isThere} />
      {!isThere && (
        <textarea
          className="control code-editor-plain"
          aria-label={label}
          rows={12}
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </div>
  );
}
