/** Owns the list of the overview: only what is on the screen is drawn, so that 1,000 apps scroll as ten do. */
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { memo, useLayoutEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusDot } from '../../ui/status.tsx';
import type { Row, Thing } from './things.ts';

const heights = { folder: 44, thing: 60 } as const;

interface ThingListProps {
  rows: readonly Row[];
  /** Absent for whoever may not. */
  onDelete?: ((folder: FolderOf) => void) | undefined;
}

export type FolderOf = Extract<Row, { kind: 'folder' }>;

export function ThingList({ rows, onDelete }: ThingListProps) {
  const list = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const { current } = list;
    if (current !== null) setTop(current.getBoundingClientRect().top + scrollY);
  }, []);
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (at) => heights[rows[at]?.kind ?? 'thing'],
    getItemKey: (at) => keyOf(rows[at], at),
    overscan: 12,
    scrollMargin: top,
  });
  return (
    <ul
      ref={list}
      className="things"
      aria-label="Apps and databases"
      style={{ height: virtual.getTotalSize() }}
    >
      {virtual.getVirtualItems().map(({ key, index, start, size }) => {
        const row = rows[index];
        if (row === undefined) return null;
        return (
          <li
            key={key}
            className={`things-${row.kind}`}
            style={{ height: size, transform: `translateY(${String(start - top)}px)` }}
          >
            {row.kind === 'folder' ? (
              <FolderRow folder={row} onDelete={onDelete} />
            ) : (
              <ThingRow thing={row.thing} />
            )}
          </li>
        );
      })}
    </ul>
  );
}

function keyOf(row: Row | undefined, at: number): string {
  if (row === undefined) return String(at);
  return row.kind === 'folder' ? `folder ${row.id}` : row.thing.id;
}

function FolderRow({ folder, onDelete }: Pick<ThingListProps, 'onDelete'> & { folder: FolderOf }) {
  const { path, count, isEmpty } = folder;
  return (
    <div className="things-heading">
      <Icon name="folder" /> <h2 className="things-path">{path}</h2>
      <span className="things-count">{count}</span>
      {isEmpty && onDelete !== undefined && (
        <IconButton
          icon="trash"
          size="small"
          label={`Delete the folder ${path}`}
          onClick={() => onDelete(folder)}
        />
      )}
    </div>
  );
}

const ThingRow = memo(function ThingRow({ thing }: { thing: Thing }) {
  const { kind, name, href, what, status, url, changedAt } = thing;
  return (
    <div className="thing">
      <span className={`thing-icon thing-${kind}`}>
        <Icon name={kind} size={18} />
      </span>
      <span className="thing-text">
        <Link href={href} className="thing-name">
          {name}
        </Link>
        <span className="thing-what">{what}</span>
      </span>
      <span className="thing-status">
        <StatusDot status={status} />
      </span>
      <span className="thing-url">
        {url !== null && (
          <a href={url} target="_blank" rel="noreferrer">
            {url.replace(/^https?:\/\//, '')}
          </a>
        )}
      </span>
      <span className="thing-time">
        <RelativeTime at={changedAt} />
      </span>
    </div>
  );
});
