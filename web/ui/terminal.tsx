/** Owns the terminal of a console. xterm.js is loaded when there is one; the shell outlives the page by a minute. */
import type { Terminal as Xterm } from '@xterm/xterm';
import { useCallback, useEffect, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { ConsoleSession, type ConsoleState } from './console-session.ts';
import { ErrorNote } from './error-note.tsx';
import { styledDocument, withStyledDocument } from './styled-document.ts';

interface TerminalProps {
  /** The address of the console, such as `/api/databases/db_1/attach`. */
  attach: string;
  /** One of several containers; default the first. */
  container?: string;
  /** What it is of, for who cannot see it. */
  label: string;
}

const font = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';

export function Terminal({ attach, container = '', label }: TerminalProps) {
  const place = useRef<HTMLDivElement>(null);
  const session = useRef<ConsoleSession | null>(null);
  const [state, setState] = useState<ConsoleState>({ kind: 'connecting' });
  const [round, setRound] = useState(0);
  const [failure, setFailure] = useState<unknown>(null);
  const again = useCallback(() => setRound((before) => before + 1), []);

  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const over = new AbortController();
    const { signal } = over;
    open(current, label, signal)
      .then((terminal) => {
        if (signal.aborted) return;
        const console = new ConsoleSession({
          attach,
          container,
          screen: terminal,
          onState: setState,
        });
        session.current = console;
        terminal.onData((text) => console.type(text));
        terminal.onResize((size) => console.resize(size));
        addEventListener('offline', () => console.interrupt(), { signal });
        signal.addEventListener('abort', () => console.leave());
        terminal.focus();
        void console.run();
      })
      .catch(setFailure);
    return () => over.abort();
  }, [attach, container, label, round]);

  return (
    <div className="terminal">
      <div className="terminal-bar">
        <p role="status" className={state.kind === 'lost' ? 'terminal-bad' : undefined}>
          {wordsOf(state)}
        </p>
        {state.kind === 'ended' ? (
          <Button size="small" icon="refresh" onClick={again}>
            New console
          </Button>
        ) : (
          <Button
            size="small"
            disabled={state.kind !== 'connected'}
            onClick={() => session.current?.close()}
          >
            End
          </Button>
        )}
      </div>
      {failure !== null && <ErrorNote error={failure} retry={again} />}
      <div ref={place} className="terminal-screen" />
    </div>
  );
}

/** Resolves once it stands in its place; it goes with the signal. */
async function open(place: HTMLElement, label: string, signal: AbortSignal): Promise<Xterm> {
  const [xterm, addon] = await Promise.all([import('@xterm/xterm'), import('@xterm/addon-fit')]);
  const terminal = new xterm.Terminal({
    cursorBlink: !matchMedia('(prefers-reduced-motion: reduce)').matches,
    documentOverride: styledDocument(),
    fontFamily: font,
    fontSize: 13,
    scrollback: 5_000,
    theme: { background: '#0f141b', foreground: '#e6eaf0' },
  });
  if (signal.aborted) return terminal;
  const fit = new addon.FitAddon();
  terminal.loadAddon(fit);
  withStyledDocument(() => terminal.open(place));
  terminal.textarea?.setAttribute('aria-label', label);
  fit.fit();
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(place);
  signal.addEventListener('abort', () => {
    resized.disconnect();
    terminal.dispose();
  });
  return terminal;
}

function wordsOf(state: ConsoleState): string {
  switch (state.kind) {
    case 'connecting':
      return 'Connecting…';
    case 'connected':
      return 'Connected';
    case 'lost':
      return 'The connection is lost; coming back to it…';
    case 'ended':
      return state.why ?? 'Ended.';
  }
}
