/**
 * Owns the log of a deployment as it is written.
 *
 * 1. Lines come by one subscription, from the first one on; nothing is asked for again and again. Behind a lost
 *    connection they come from the first one on again: what is there already is passed over.
 * 2. What comes at once is shown at once: the page is drawn once a frame, however many lines come.
 * 3. It stays at its end until somebody scrolls up.
 */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { useClient } from 'urql';
import { type ApiError, toApiError } from '../../../api/errors.ts';
import { graphql, type ResultOf } from '../../../api/graphql.ts';
import { Button } from '../../../ui/button.tsx';
import { CopyButton } from '../../../ui/copy-button.tsx';
import { ErrorNote } from '../../../ui/error-note.tsx';
import { lastWritten, plainLine } from '../../../ui/line-parts.ts';
import { LineText } from '../../../ui/line-text.tsx';

const DeploymentLog = graphql(`
  subscription DeploymentLog($id: ID!) {
    deploymentLog(id: $id) {
      offset
      stream
      text
    }
  }
`);

type LogLine = ResultOf<typeof DeploymentLog>['deploymentLog'];

/** What is held; a build that writes more shows its end. */
const linesMax = 50_000;
const lineHeight = 20;
const nearEnd = 40;

interface Log {
  lines: readonly LogLine[];
  /** Lines that came before those. */
  dropped: number;
  isOver: boolean;
  error: ApiError | null;
}

const nothing: Log = { lines: [], dropped: 0, isOver: false, error: null };

function useLog(id: string): { log: Log; again: () => void } {
  const client = useClient();
  const [round, setRound] = useState(0);
  const [log, setLog] = useState(nothing);
  useEffect(() => {
    let lines: LogLine[] = [];
    let dropped = 0;
    let last = -1;
    let frame = 0;
    let over: Partial<Log> = {};
    const show = (): void => {
      frame = 0;
      if (lines.length > linesMax) {
        dropped += lines.length - linesMax;
        lines = lines.slice(-linesMax);
      }
      setLog({ ...nothing, lines: [...lines], dropped, ...over });
    };
    const soon = (): void => {
      frame ||= requestAnimationFrame(show);
    };
    setLog(nothing);
    const source = client.subscription(DeploymentLog, { id });
    const subscription = source.subscribe(({ data, error, hasNext }) => {
      if (error) over = { error: toApiError(error) };
      else if (!hasNext) over = { isOver: true };
      else if (data && data.deploymentLog.offset > last) {
        last = data.deploymentLog.offset;
        lines.push(data.deploymentLog);
      }
      soon();
    });
    return () => {
      subscription.unsubscribe();
      cancelAnimationFrame(frame);
    };
  }, [client, id, round]);
  return { log, again: () => setRound((before) => before + 1) };
}

export function BuildLog({ id, isUnderWay }: { id: string; isUnderWay: boolean }) {
  const { log, again } = useLog(id);
  const { lines, dropped, error } = log;
  return (
    <div className="build-log">
      {error !== null && <ErrorNote error={error} retry={again} />}
      <div className="build-log-tools">
        <span role="status">
          {lines.length + dropped === 0
            ? isUnderWay
              ? 'Waits for the first line…'
              : 'It wrote nothing.'
            : `${(lines.length + dropped).toLocaleString('en')} lines`}
          {dropped > 0 && `, the last ${lines.length.toLocaleString('en')} shown`}
        </span>
        <CopyButton
          text={() => lines.map(({ text }) => plainLine(lastWritten(text))).join('\n')}
          label="Copy the log"
        />
      </div>
      <Lines lines={lines} />
    </div>
  );
}

function Lines({ lines }: { lines: readonly LogLine[] }) {
  const frame = useRef<HTMLDivElement>(null);
  const [follows, setFollows] = useState(true);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => lineHeight,
    overscan: 20,
  });
  const toEnd = useCallback((): void => {
    const { current } = frame;
    if (current !== null) current.scrollTop = current.scrollHeight;
  }, []);
  useLayoutEffect(() => {
    if (follows) toEnd();
  }, [follows, lines, toEnd]);
  const onScroll = (): void => {
    const { current } = frame;
    if (current === null) return;
    setFollows(current.scrollHeight - current.scrollTop - current.clientHeight < nearEnd);
  };
  return (
    <div className="build-log-place">
      <div
        ref={frame}
        className="build-log-lines"
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label="Build log"
        aria-live="off"
      >
        <div className="build-log-all" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ key, index, start }) => {
            const line = lines[index];
            if (line === undefined) return null;
            return (
              <div
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                className={`build-log-line build-log-${line.stream}`}
                style={{ transform: `translateY(${String(start)}px)` }}
              >
                <bdi>
                  <LineText text={lastWritten(line.text)} />
                </bdi>
              </div>
            );
          })}
        </div>
      </div>
      {!follows && (
        <div className="build-log-end">
          <Button
            size="small"
            icon="down"
            onClick={() => {
              setFollows(true);
              toEnd();
            }}
          >
            To the end
          </Button>
        </div>
      )}
    </div>
  );
}
