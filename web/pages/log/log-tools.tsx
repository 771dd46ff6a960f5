/** Owns what can be done with a log besides reading it: looks, pause, time, link, copy, download. */
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Button, IconButton } from '../../ui/button.tsx';
import { copyText } from '../../ui/copy-button.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Menu, MenuItem } from '../../ui/menu.tsx';
import { toast, toastError } from '../../ui/toast.tsx';
import { type LogSubject, readLog } from './ask.ts';
import { plainLine } from '../../ui/line-parts.ts';

export interface Look {
  wraps: boolean;
  stamps: boolean;
}

interface LineLink {
  generation: string;
  offset: number;
}

interface LogToolsProps {
  containers: readonly string[];
  container: string;
  onContainer: (name: string) => void;
  look: Look;
  onLook: (look: Look) => void;
  isPaused: boolean;
  onPause: (isPaused: boolean) => void;
  onTime: (time: Date) => Promise<void>;
  linkTo: () => LineLink;
  save: (signal: AbortSignal) => Promise<void>;
}

export function LogTools(props: LogToolsProps) {
  const { look, onLook, isPaused, onPause } = props;
  const [isTimeOpen, setTimeOpen] = useState(false);
  const save = useSaving(props.save);
  const copyLink = async (): Promise<void> => {
    const link = linkOf(location.href, props.linkTo());
    history.replaceState(history.state, '', link);
    if (await copyText(link)) toast('Link copied');
  };
  return (
    <div className="log-tools">
      {props.containers.length > 1 && (
        <SelectField
          label="Container"
          quiet
          value={props.container}
          options={props.containers.map((value) => ({ value, label: value }))}
          onChange={(event) => props.onContainer(event.target.value)}
        />
      )}
      {isTimeOpen && (
        <TimeForm
          onTime={async (time) => {
            await props.onTime(time).catch(toastError);
            setTimeOpen(false);
          }}
        />
      )}
      <IconButton
        icon={isPaused ? 'play' : 'pause'}
        size="small"
        label={isPaused ? 'Go on' : 'Pause'}
        onClick={() => onPause(!isPaused)}
      />
      <IconButton
        icon="clock"
        size="small"
        label="Jump to a time"
        aria-expanded={isTimeOpen}
        onClick={() => setTimeOpen(!isTimeOpen)}
      />
      <IconButton
        icon="link"
        size="small"
        label="Copy a link to this line"
        onClick={() => void copyLink()}
      />
      <Menu trigger={<IconButton icon="more" size="small" label="More" />}>
        <MenuItem chosen={look.wraps} onSelect={() => onLook({ ...look, wraps: !look.wraps })}>
          Wrap long lines
        </MenuItem>
        <MenuItem chosen={look.stamps} onSelect={() => onLook({ ...look, stamps: !look.stamps })}>
          Show times
        </MenuItem>
        <MenuItem icon="copy" onSelect={() => void copyShown()}>
          Copy what is shown
        </MenuItem>
        <MenuItem
          icon="download"
          disabled={save.isBusy}
          hint={`The last ${savedMax.toLocaleString()} lines at most`}
          onSelect={save.start}
        >
          Download
        </MenuItem>
      </Menu>
    </div>
  );
}

function TimeForm({ onTime }: { onTime: (time: Date) => Promise<void> }) {
  const [time, setTime] = useState('');
  const [isBusy, setBusy] = useState(false);
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    const wanted = new Date(time);
    if (Number.isNaN(wanted.getTime())) return;
    setBusy(true);
    void onTime(wanted).finally(() => setBusy(false));
  };
  return (
    <form className="log-time-form" onSubmit={onSubmit}>
      <input
        type="datetime-local"
        step="1"
        className="control"
        aria-label="Time to jump to"
        value={time}
        required
        onChange={(event) => setTime(event.target.value)}
      />
      <Button type="submit" size="small" busy={isBusy}>
        Jump
      </Button>
    </form>
  );
}

function useSaving(save: (signal: AbortSignal) => Promise<void>) {
  const [isBusy, setBusy] = useState(false);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const start = (): void => {
    setBusy(true);
    stop.current = new AbortController();
    const { signal } = stop.current;
    save(signal)
      .catch((error: unknown) => {
        if (!signal.aborted) toastError(error);
      })
      .finally(() => setBusy(false));
  };
  return { isBusy, start };
}

async function copyShown(): Promise<void> {
  const rows = document.querySelectorAll('.log-scroll .log-text');
  const text = [...rows].map((row) => row.textContent).join('\n');
  if (await copyText(`${text}\n`)) toast('Copied');
}

const savedMax = 100_000;
const pageLines = 5_000;

/** Saves the newest lines as a file of plain text. */
export async function saveLog(
  subject: LogSubject,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const { range } = await readLog(subject, { tail: 1 }, signal);
  const parts: string[] = [];
  const end = range?.nextOffset ?? 0;
  for (let from = Math.max(range?.firstOffset ?? 0, end - savedMax); from < end;) {
    const { nodes } = await readLog(
      subject,
      { from, tail: Math.min(pageLines, end - from) },
      signal,
    );
    const last = nodes.at(-1);
    if (last === undefined) break;
    parts.push(nodes.map(({ at, text }) => `${at} ${plainLine(text)}\n`).join(''));
    from = last.offset + 1;
  }
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts, { type: 'text/plain' }));
  link.download = `${name.replaceAll(/[^\w.-]+/g, '-').slice(0, 60)}.log`;
  link.click();
  // The browser has taken it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The address that leads to a line. */
export function linkOf(href: string, { generation, offset }: LineLink): string {
  const link = new URL(href);
  link.searchParams.set('line', `${generation}:${offset}`);
  return link.href;
}

export function lineInLink(search: string): LineLink | null {
  const line = new URLSearchParams(search).get('line') ?? '';
  const at = line.lastIndexOf(':');
  const offset = Number(line.slice(at + 1));
  return at > 0 && Number.isSafeInteger(offset) ? { generation: line.slice(0, at), offset } : null;
}
