/**
 * Owns the place where a folder, an archive or files are given: dropped anywhere on the page, or chosen by a
 * button. It says what will be sent, and what not, before anything is.
 */
import { type ChangeEvent, useCallback, useEffect, useRef, useState } from 'react';
import { archiveExtensions } from '../../packing/archive-file.ts';
import { type Given, givenByDrop, givenByInput } from '../../packing/folder.ts';
import { archiveBytesMax } from '../../packing/plan.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { type Chosen, chosenOf, sizeInWords } from './chosen.ts';

interface DropZoneProps {
  chosen: Chosen | null;
  onChosen: (chosen: Chosen | null) => void;
  disabled?: boolean;
}

type Looking = { at: 'not' } | { at: 'looking'; files: number } | { at: 'refused'; why: string };

export function DropZone({ chosen, onChosen, disabled = false }: DropZoneProps) {
  const [looking, setLooking] = useState<Looking>({ at: 'not' });
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const take = useCallback(
    async (given: Promise<Given | null>): Promise<void> => {
      stop.current?.abort();
      const controller = new AbortController();
      stop.current = controller;
      const { signal } = controller;
      const onFound = (files: number): void => {
        if (!signal.aborted) setLooking({ at: 'looking', files });
      };
      onFound(0);
      try {
        const what = await given;
        const found = what === null ? null : await chosenOf(what, { onFound, signal });
        if (signal.aborted) return;
        setLooking(
          what === null
            ? { at: 'refused', why: 'There is no file in what was dropped.' }
            : { at: 'not' },
        );
        onChosen(found);
      } catch (error) {
        if (signal.aborted) return;
        setLooking({ at: 'refused', why: error instanceof Error ? error.message : String(error) });
        onChosen(null);
      }
    },
    [onChosen],
  );
  const isOver = usePageDrop(!disabled, (data) => void take(givenByDrop(data)));
  const again = (): void => {
    stop.current?.abort();
    setLooking({ at: 'not' });
    onChosen(null);
  };
  if (chosen !== null && looking.at === 'not') {
    return <ChosenView chosen={chosen} again={disabled ? null : again} />;
  }
  return (
    <div className={`drop ${isOver ? 'drop-over' : ''}`}>
      <span className="drop-icon">
        <Icon name="upload" size={24} />
      </span>
      <p className="drop-title">{isOver ? 'Let go to take it' : 'Drop a folder of code here'}</p>
      <p className="drop-text">
        or an archive (.zip, .tar, .tar.gz, .tgz), or several files. 512 MiB at most.
      </p>
      <div className="drop-buttons">
        <FileButton folder label="Choose a folder" take={take} disabled={disabled} />
        <FileButton label="Choose files" take={take} disabled={disabled} />
      </div>
      <div role="status" className="drop-state">
        {looking.at === 'looking' &&
          `Looking through it: ${looking.files.toLocaleString('en')} files so far…`}
      </div>
      {looking.at === 'refused' && (
        <p role="alert" className="drop-refused">
          <Icon name="warning" /> <span>{looking.why}</span>
        </p>
      )}
    </div>
  );
}

interface FileButtonProps {
  folder?: boolean;
  label: string;
  disabled: boolean;
  take: (given: Promise<Given | null>) => Promise<void>;
}

function FileButton({ folder = false, label, take, disabled }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  const onChange = ({ target }: ChangeEvent<HTMLInputElement>): void => {
    const files = [...(target.files ?? [])];
    target.value = '';
    if (files.length > 0) void take(givenByInput(files));
  };
  return (
    <>
      <Button
        look={folder ? 'primary' : 'plain'}
        icon={folder ? 'folder' : 'archive'}
        disabled={disabled}
        onClick={() => input.current?.click()}
      >
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        aria-label={label}
        onChange={onChange}
        {...(folder ? { webkitdirectory: '' } : { accept: `${archiveExtensions},*/*` })}
      />
    </>
  );
}

/** Takes drops anywhere on the page, which a browser would otherwise open in its place. True while one hovers. */
function usePageDrop(takes: boolean, onDrop: (data: DataTransfer) => void): boolean {
  const [isOver, setOver] = useState(false);
  const latest = useRef(onDrop);
  latest.current = onDrop;
  useEffect(() => {
    const hasFiles = ({ dataTransfer }: DragEvent): boolean =>
      dataTransfer?.types.includes('Files') ?? false;
    const onDragOver = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(takes);
    };
    const onDragLeave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      if (takes && event.dataTransfer !== null) latest.current(event.dataTransfer);
    };
    addEventListener('dragover', onDragOver);
    addEventListener('dragleave', onDragLeave);
    addEventListener('drop', drop);
    return () => {
      removeEventListener('dragover', onDragOver);
      removeEventListener('dragleave', onDragLeave);
      removeEventListener('drop', drop);
    };
  }, [takes]);
  return isOver;
}

function ChosenView({ chosen, again }: { chosen: Chosen; again: (() => void) | null }) {
  const isFolder = chosen.kind === 'folder';
  const bytes = isFolder ? chosen.plan.bytes : chosen.file.size;
  const title = isFolder ? chosen.name || 'Files' : chosen.file.name;
  return (
    <div className="chosen">
      <span className="drop-icon">
        <Icon name={isFolder ? 'folder' : 'archive'} size={20} />
      </span>
      <div className="chosen-text">
        <p className="chosen-name">
          <bdi>{title}</bdi>
        </p>
        <p className="chosen-size">
          {isFolder && `${countOf(chosen.plan.files.length)}, `}
          {sizeInWords(bytes)}
        </p>
        {isFolder && <LeftOut leftOut={chosen.plan.leftOut} />}
        {isFolder && bytes > archiveBytesMax && (
          <p className="chosen-large">
            Packed it may have {String(archiveBytesMax / 2 ** 20)} MiB at most: leave out what the
            build does not need, for example by a .gitignore.
          </p>
        )}
      </div>
      {again !== null && (
        <Button size="small" onClick={again}>
          Choose another
        </Button>
      )}
    </div>
  );
}

function LeftOut({
  leftOut: { count, first },
}: {
  leftOut: { count: number; first: readonly string[] };
}) {
  if (count === 0) return null;
  const more = count - first.length;
  return (
    <p className="chosen-left-out">
      Left out: {first.join(', ')}
      {more > 0 && ` and ${more.toLocaleString('en')} more`}
    </p>
  );
}

function countOf(files: number): string {
  return files === 1 ? '1 file' : `${files.toLocaleString('en')} files`;
}
