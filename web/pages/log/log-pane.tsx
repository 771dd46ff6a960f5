/**
 * Owns showing a log of any length: only the lines on the screen are drawn, and the scrollbar stands for all that
 * are kept. A line's place is its offset; a browser's own scroll height ends far before a million lines.
 */
import {
  type KeyboardEvent,
  memo,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { LineText } from '../../ui/line-text.tsx';
import type { Line } from './held-lines.ts';
import type { LogModel, Marker } from './log-model.ts';
import type { Sought } from './ask.ts';

const rowPx = 20;
const scrollMaxPx = 8_000_000;
/** Of a longer line the start is shown, and all of it when asked for. */
const shownChars = 2_000;

export interface LogPaneProps {
  model: LogModel;
  /** Changes with what there is to show. */
  version: number;
  label: string;
  look: { wraps: boolean; stamps: boolean };
  sought: Sought | null;
  /** Lines that a search found. */
  found: ReadonlySet<number>;
  /** The line that a link or a search leads to; a new object leads there again. */
  target: { offset: number } | null;
  onTarget: (offset: number) => void;
  markers: readonly Marker[];
  follows: boolean;
  onFollows: (follows: boolean) => void;
  /** The first line that is shown. */
  onTop: (offset: number) => void;
}

export function LogPane(props: LogPaneProps) {
  const { model, version, look, target, follows, onFollows, onTop } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const height = useHeight(scroller);
  const { firstOffset = 0, nextOffset = 0 } = model.lines.range ?? {};
  const count = nextOffset - firstOffset;
  const fitting = height / rowPx;
  const lastTop = Math.max(0, count - fitting);
  // Offset of the line at the top, with the part of it that is scrolled out.
  const [top, setTop] = useState(0);
  const place = follows ? lastTop : Math.min(lastTop, Math.max(0, top - firstOffset));
  const spacerPx = Math.min(count * rowPx, scrollMaxPx);
  const scrollPx = Math.max(0, spacerPx - height);
  const expectedPx = lastTop === 0 ? 0 : (place / lastTop) * scrollPx;
  const first = firstOffset + Math.floor(place);
  const end = Math.min(nextOffset, first + Math.ceil(fitting) + 2);

  useLayoutEffect(() => {
    const { current } = scroller;
    if (current !== null && Math.abs(current.scrollTop - expectedPx) > 1) {
      current.scrollTop = expectedPx;
    }
  }, [expectedPx]);
  useEffect(() => {
    model.want(first, end);
    onTop(first);
  }, [model, first, end, version, onTop]);
  useEffect(() => {
    if (target === null) return;
    onFollows(false);
    setTop(Math.max(0, target.offset - Math.floor(fitting / 3)));
    // Only a new target leads somewhere.
  }, [target]);

  const onScroll = useCallback((): void => {
    const { current } = scroller;
    if (current === null || Math.abs(current.scrollTop - expectedPx) <= 1) return;
    // As the scroller is now: it may have another height than what was drawn last.
    const rangePx = current.scrollHeight - current.clientHeight;
    const isAtEnd = current.scrollTop >= rangePx - rowPx / 2;
    onFollows(isAtEnd);
    const share = rangePx === 0 ? 0 : current.scrollTop / rangePx;
    if (!isAtEnd) setTop(firstOffset + share * lastTop);
  }, [expectedPx, firstOffset, lastTop, onFollows]);

  // At once: a line that comes before the browser has scrolled would lead back to the end.
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.altKey || event.metaKey || event.shiftKey || lastTop === 0) return;
    if (event.key === 'Home') setTop(firstOffset);
    else if (event.key === 'ArrowUp' || event.key === 'PageUp') setTop(firstOffset + place);
    else if (event.key !== 'End') return;
    if (event.key === 'Home' || event.key === 'End') event.preventDefault();
    onFollows(event.key === 'End');
  };

  return (
    <div
      ref={scroller}
      className="log-scroll"
      role="log"
      aria-live="off"
      aria-label={props.label}
      tabIndex={0}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <div className="log-spacer" style={{ height: Math.max(spacerPx, height) }}>
        <div className={look.wraps ? 'log-window log-wraps' : 'log-window'} style={{ height }}>
          <Rows
            {...props}
            first={first}
            end={end}
            removed={first === firstOffset && firstOffset > 1 ? firstOffset - 1 : 0}
            shift={follows || place >= lastTop ? null : place - Math.floor(place)}
          />
        </div>
      </div>
    </div>
  );
}

interface RowsProps extends LogPaneProps {
  first: number;
  end: number;
  /** Lines before the first one that are kept no more. */
  removed: number;
  /** The part of the first line that is scrolled out; null: the last line stands at the bottom. */
  shift: number | null;
}

function Rows({ model, first, end, removed, shift, ...props }: RowsProps) {
  const firstKept = model.lines.range?.firstOffset;
  const rows: ReactNode[] = [];
  let before = model.lines.at(first - 1);
  for (let offset = first; offset < end; offset++) {
    const line = model.lines.at(offset);
    for (const marker of between(props.markers, before, line, offset === firstKept)) {
      rows.push(<MarkerRow key={`${marker.atMs} ${marker.text}`} text={marker.text} />);
    }
    rows.push(
      <Row
        // Rows show one line after the other: to make them anew takes several times as long.
        key={offset % (end - first)}
        offset={offset}
        line={line}
        stamps={props.look.stamps}
        needle={props.sought === null || props.sought.regex ? '' : props.sought.text}
        exact={props.sought?.caseSensitive === true}
        state={rowState(offset, props)}
        onTarget={props.onTarget}
      />,
    );
    before = line;
  }
  return (
    <div
      className={shift === null ? 'log-rows log-rows-end' : 'log-rows'}
      style={shift === null ? undefined : { transform: `translateY(${-shift * rowPx}px)` }}
    >
      {removed > 0 && (
        <MarkerRow text={`${removed.toLocaleString()} older lines are kept no more`} />
      )}
      {rows}
    </div>
  );
}

function rowState(offset: number, { target, found }: Pick<LogPaneProps, 'target' | 'found'>) {
  if (target?.offset === offset) return 'log-row log-row-target';
  return found.has(offset) ? 'log-row log-row-found' : 'log-row';
}

/** What happened between two lines; before the first line that is kept, the last of it. */
function between(
  markers: readonly Marker[],
  before: Line | null | undefined,
  line: Line | null | undefined,
  isFirst: boolean,
): readonly Marker[] {
  if (!line) return [];
  if (isFirst) return markers.filter(({ atMs }) => atMs <= line.atMs).slice(-1);
  if (!before) return [];
  return markers.filter(({ atMs }) => atMs > before.atMs && atMs <= line.atMs);
}

function MarkerRow({ text }: { text: string }) {
  return (
    <div className="log-marker">
      <span>{text}</span>
    </div>
  );
}

interface RowProps {
  offset: number;
  line: Line | null | undefined;
  stamps: boolean;
  needle: string;
  exact: boolean;
  state: string;
  onTarget: (offset: number) => void;
}

const Row = memo(function Row({ offset, line, stamps, needle, exact, state, onTarget }: RowProps) {
  // The same row shows one line after the other.
  const [whole, setWhole] = useState<number | null>(null);
  const isWhole = whole === offset;
  if (line === undefined) return <div className="log-row log-row-unread" aria-hidden="true" />;
  if (line === null) return <div className="log-row log-row-gone">This line is kept no more.</div>;
  const isCut = line.text.length > shownChars && !isWhole;
  const text = isCut ? line.text.slice(0, shownChars) : line.text;
  return (
    <div className={state} data-offset={offset}>
      {stamps && (
        <button
          type="button"
          className="log-time"
          tabIndex={-1}
          title="Link to this line"
          onClick={() => onTarget(offset)}
        >
          {timeOf(line.atMs)}
        </button>
      )}
      <span className="log-text" dir="auto">
        <LineText text={text} needle={needle} exact={exact} />
      </span>
      {isCut && (
        <button type="button" className="log-more" onClick={() => setWhole(offset)}>
          {`… ${(line.text.length - shownChars).toLocaleString()} more characters`}
        </button>
      )}
    </div>
  );
});

const dayMs = 86_400_000;

/** The local time; with its day where that is not today. */
function timeOf(atMs: number): string {
  const at = new Date(atMs);
  const two = (part: number): string => String(part).padStart(2, '0');
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`;
  if (Math.abs(Date.now() - atMs) < dayMs / 2) return time;
  return `${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

function useHeight(element: { readonly current: HTMLElement | null }): number {
  const [height, setHeight] = useState(400);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const measure = (): void => setHeight(current.clientHeight);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, [element]);
  return height;
}
