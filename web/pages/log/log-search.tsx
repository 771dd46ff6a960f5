/** Owns the search of the log viewer: what is sought, what was found, and the list of it alone. */
import { type FormEvent, useState } from 'react';
import { Button, IconButton } from '../../ui/button.tsx';
import { SearchField } from '../../ui/field.tsx';
import { LineText } from '../../ui/line-text.tsx';
import type { LogSearching } from './use-search.ts';

interface SearchBarProps {
  search: LogSearching;
  /** The line that is shown. */
  current: number | null;
  onGo: (offset: number) => void;
  onlyMatches: boolean;
  onOnlyMatches: (only: boolean) => void;
}

export function SearchBar({ search, current, onGo, onlyMatches, onOnlyMatches }: SearchBarProps) {
  const [text, setText] = useState('');
  const [regex, setRegex] = useState(false);
  const [caseSensitive, setCase] = useState(false);
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    if (text !== '') search.start({ text, regex, caseSensitive });
  };
  const { matches } = search;
  const at = matches.findIndex(({ offset }) => offset === current);
  const older = matches[at + 1];
  const newer = at > 0 ? matches[at - 1] : undefined;
  return (
    <form className="log-search" role="search" onSubmit={onSubmit}>
      <SearchField
        label="Search the whole log"
        value={text}
        maxLength={500}
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
      />
      <Toggle label="Match case" text="Aa" isOn={caseSensitive} onToggle={setCase} />
      <Toggle label="Regular expression" text=".*" isOn={regex} onToggle={setRegex} />
      <Button type="submit" size="small" busy={search.isBusy} disabled={text === ''}>
        Search
      </Button>
      {search.sought !== null && (
        <>
          <IconButton
            className="log-older"
            icon="chevron"
            size="small"
            label="Older match"
            disabled={older === undefined && search.isComplete}
            onClick={() => (older === undefined ? search.goOn() : onGo(older.offset))}
          />
          <IconButton
            className="log-newer"
            icon="chevron"
            size="small"
            label="Newer match"
            disabled={newer === undefined}
            onClick={() => newer && onGo(newer.offset)}
          />
          <Toggle
            label="Only matches"
            text="Only matches"
            isOn={onlyMatches}
            onToggle={onOnlyMatches}
          />
          <Outcome search={search} />
        </>
      )}
    </form>
  );
}

function Outcome({ search }: { search: LogSearching }) {
  const { matches, isComplete, isBusy, scannedTo } = search;
  const count = `${matches.length.toLocaleString()}${isComplete ? '' : '+'} found`;
  const until = scannedTo === null ? '' : new Date(scannedTo).toLocaleString();
  return (
    <span className="log-outcome">
      <span role="status">{isBusy ? `${count} …` : count}</span>
      {!isComplete && <span>{`back to ${until}`}</span>}
      {isBusy && (
        <Button size="small" look="ghost" onClick={search.stop}>
          Stop
        </Button>
      )}
      {!isBusy && !isComplete && (
        <Button size="small" look="ghost" onClick={search.goOn}>
          Search older lines
        </Button>
      )}
    </span>
  );
}

interface ToggleProps {
  label: string;
  text: string;
  isOn: boolean;
  onToggle: (on: boolean) => void;
}

export function Toggle({ label, text, isOn, onToggle }: ToggleProps) {
  return (
    <button
      type="button"
      className={`button button-ghost button-small log-toggle${text.length > 2 ? '' : ' log-sign'}`}
      aria-pressed={isOn}
      aria-label={label}
      title={label}
      onClick={() => onToggle(!isOn)}
    >
      {text}
    </button>
  );
}

const shownChars = 500;

/** What was found and nothing else; a line leads to its place. */
export function LogMatches({
  search,
  onGo,
}: {
  search: LogSearching;
  onGo: (offset: number) => void;
}) {
  const { sought, matches } = search;
  const needle = sought === null || sought.regex ? '' : sought.text;
  return (
    <ol
      className="log-scroll log-matches"
      aria-label="Lines that match, the newest first"
      tabIndex={0}
    >
      {matches.map(({ offset, at, text }) => (
        <li key={offset}>
          <button type="button" className="log-row log-match" onClick={() => onGo(offset)}>
            <span className="log-time">{new Date(at).toLocaleString()}</span>
            <span className="log-text" dir="auto">
              <LineText
                text={text.slice(0, shownChars)}
                needle={needle}
                exact={sought?.caseSensitive === true}
              />
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}
