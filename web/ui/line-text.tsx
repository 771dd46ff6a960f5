/** Owns showing a line that a program wrote: with its colours, and with nothing in it that could mislead. */
import { lineParts } from './line-parts.ts';

interface LineTextProps {
  text: string;
  /** Marked wherever it stands, in any case unless `exact`. */
  needle?: string;
  exact?: boolean;
}

export function LineText({ text, needle = '', exact = false }: LineTextProps) {
  return lineParts(text, needle, exact).map(({ text: part, look, marked }, i) => {
    if (look === '' && !marked) return part;
    const Tag = marked ? 'mark' : 'span';
    return (
      <Tag key={i} className={look === '' ? undefined : look}>
        {part}
      </Tag>
    );
  });
}
