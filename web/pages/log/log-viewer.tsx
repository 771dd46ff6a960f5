/**
 * Owns the log of an app or a database as people see it: live, searched, at any place of it, with its
 * deployments where they happened.
 */
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { ErrorNote } from '../../ui/error-note.tsx';
import { EmptyState } from '../../ui/page.tsx';
import { Button } from '../../ui/button.tsx';
import type { LogSubject } from './ask.ts';
import { LogModel, type LogState, type Marker } from './log-model.ts';
import { LogPane } from './log-pane.tsx';
import { lineInLink, LogTools, saveLog } from './log-tools.tsx';
import { LogMatches, SearchBar } from './log-search.tsx';
import { useSearch } from './use-search.ts';

export interface LogViewerProps {
  /** Followed by `useFollowedLog`. Another one is another viewer: give it a key. */
  log: LogModel;
  /** What the log is of, for its label and the name of a saved file. */
  name: string;
  choice?: ContainerChoice;
  /** What is shown between the lines, in the order of time. */
  markers?: readonly Marker[];
}

export interface ContainerChoice {
  /** The main one first; one or none needs no choice. */
  containers: readonly string[];
  /** Null: the main one. */
  container: string | null;
  onContainer: (name: string) => void;
}

/**
 * Follows a log from now on. To be called where the page begins: its lines are then asked for beside all else.
 * `onDeployment` is told when one went live, so that there is another marker.
 */
export function useFollowedLog(subject: LogSubject, onDeployment?: () => void): LogModel {
  const onLive = useRef(onDeployment);
  onLive.current = onDeployment;
  const { appId, databaseId, container } = subject;
  const model = useMemo(() => {
    const of = { appId, databaseId, container };
    return new LogModel(of, () => onLive.current?.());
  }, [appId, databaseId, container]);
  useEffect(() => {
    model.open();
    return () => model.close();
  }, [model]);
  return model;
}

const noMarkers: readonly Marker[] = [];
const noChoice: ContainerChoice = { containers: [], container: null, onContainer: () => undefined };

export function LogViewer({
  log: model,
  name,
  choice = noChoice,
  markers = noMarkers,
}: LogViewerProps) {
  const { subject } = model;
  const version = useSyncExternalStore(model.subscribe, model.version);
  const [look, setLook] = useState({ wraps: false, stamps: true });
  const [follows, setFollows] = useState(true);
  const [target, setTarget] = useState<{ offset: number } | null>(null);
  const [onlyMatches, setOnlyMatches] = useState(false);
  const top = useRef(0);
  const search = useSearch(subject);
  useLinkedLine(model, version, setTarget);

  const { state } = model;
  const all = useMemo(
    () => [...markers, ...model.crashes].sort((one, other) => one.atMs - other.atMs),
    [markers, model, version],
  );
  const { range } = model.lines;
  const newest = search.matches[0]?.offset;
  useEffect(() => {
    if (newest !== undefined) setTarget({ offset: newest });
  }, [search.sought, newest]);
  const goTo = useCallback((offset: number): void => setTarget({ offset }), []);
  const onTop = useCallback((offset: number): void => {
    top.current = offset;
  }, []);
  const linked = target?.offset ?? null;
  const save = (signal: AbortSignal): Promise<void> => saveLog(subject, name, signal);

  return (
    <section className="log" aria-label={`Log of ${name}`}>
      <div className="log-bar">
        <SearchBar
          search={search}
          current={linked}
          onGo={goTo}
          onlyMatches={onlyMatches}
          onOnlyMatches={setOnlyMatches}
        />
        <LogTools
          {...choice}
          container={choice.container ?? choice.containers[0] ?? ''}
          look={look}
          onLook={setLook}
          isPaused={state.kind === 'paused'}
          onPause={(isPaused) => (isPaused ? model.pause() : model.resume())}
          onTime={async (time) => {
            const offset = await model.offsetAt(time);
            if (offset !== null) goTo(offset);
          }}
          linkTo={() => ({ generation: range?.generation ?? '', offset: linked ?? top.current })}
          save={save}
        />
      </div>
      {search.error && <ErrorNote error={search.error} />}
      {state.kind === 'failed' && <ErrorNote error={state.error} retry={() => model.resume()} />}
      {onlyMatches && search.sought !== null ? (
        <LogMatches
          search={search}
          onGo={(offset) => {
            setOnlyMatches(false);
            goTo(offset);
          }}
        />
      ) : range === null || range.nextOffset === range.firstOffset ? (
        <Nothing state={state} />
      ) : (
        <LogPane
          model={model}
          version={version}
          label={`Log of ${name}`}
          look={look}
          sought={search.sought}
          found={search.offsets}
          target={target}
          onTarget={goTo}
          markers={all}
          follows={follows}
          onFollows={setFollows}
          onTop={onTop}
        />
      )}
      <div className="log-foot">
        <StateText
          state={state}
          lines={range === null ? 0 : range.nextOffset - range.firstOffset}
        />
        {!follows && range !== null && (
          <Button size="small" icon="down" onClick={() => setFollows(true)}>
            To the newest line
          </Button>
        )}
      </div>
    </section>
  );
}

/** Leads to the line that the address names, once the log is there. */
function useLinkedLine(
  model: LogModel,
  version: number,
  onLine: (target: { offset: number }) => void,
): void {
  const link = useRef(lineInLink(location.search));
  useEffect(() => {
    const { range } = model.lines;
    const { current } = link;
    if (current === null || range === null) return;
    link.current = null;
    // Of another generation it is a line that is gone.
    if (current.generation === range.generation) onLine({ offset: current.offset });
  }, [model, version, onLine]);
}

function Nothing({ state }: { state: LogState }) {
  if (state.kind === 'connecting') return <div className="log-scroll" aria-busy="true" />;
  return (
    <EmptyState icon="log" title="No lines yet">
      What the program writes to its output appears here at once.
    </EmptyState>
  );
}

function StateText({ state, lines }: { state: LogState; lines: number }) {
  const texts = {
    connecting: 'Connecting …',
    live: 'Live',
    paused: 'Paused',
    failed: 'Not followed',
    away: state.kind === 'away' ? `${state.reason} Trying again …` : '',
  };
  return (
    <p className={`log-state log-state-${state.kind}`}>
      <span role="status">{texts[state.kind]}</span>
      <span className="log-count">{`${lines.toLocaleString()} lines`}</span>
    </p>
  );
}
