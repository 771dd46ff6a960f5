/** Owns curves over time, drawn by uPlot, which is loaded when there is one; the newest numbers stand as text. */
import { useEffect, useRef, useState } from 'react';
import type { default as Uplot, Options } from 'uplot';
import { bytesInWords } from './bytes.ts';

export interface Curve {
  label: string;
  /** One for each time; null: nothing is known. */
  values: readonly (number | null)[];
  /** The variable of a colour, such as `--strong`; default by its place. */
  colour?: string;
}

interface MetricsChartProps {
  title: string;
  /** RFC 3339, ascending. */
  times: readonly string[];
  curves: readonly Curve[];
  /** A value with its unit, short. */
  format: (value: number) => string;
  /** How much time it shows, up to the newest sample. */
  minutes: number;
  /** Shown as the top of the axis at least, such as a limit. */
  atLeast?: number;
}

const height = 160;
/** Steps of an axis of bytes, whose units are those of 1024. */
const byteSteps = Array.from({ length: 48 }, (_, power) => 2 ** power);
const colours = ['--strong', '--good-dot', '--warn-dot', '--bad-dot'];

export function MetricsChart({
  title,
  times,
  curves,
  format,
  minutes,
  atLeast = 0,
}: MetricsChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<Uplot | null>(null);
  const data = useRef<Uplot.AlignedData>([[]]);
  const [theme, setTheme] = useState(0);
  data.current = [
    times.map((at) => Date.parse(at) / 1_000),
    ...curves.map(({ values }) => [...values]),
  ];
  const kinds = curves.map(({ label, colour }) => `${label} ${colour ?? ''}`).join('|');

  useEffect(() => onTheme(() => setTheme((before) => before + 1)), []);

  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const over = new AbortController();
    const { signal } = over;
    void import('uplot').then(({ default: Plot }) => {
      if (signal.aborted) return;
      const options = optionsOf(current, { curves, format, minutes, atLeast });
      const drawn = new Plot(options, data.current, current);
      plot.current = drawn;
      const resized = new ResizeObserver(() => {
        drawn.setSize({ width: current.clientWidth, height });
      });
      resized.observe(current);
      signal.addEventListener('abort', () => {
        resized.disconnect();
        drawn.destroy();
        plot.current = null;
      });
    });
    return () => over.abort();
    // The curves' values come by the effect below.
  }, [kinds, minutes, atLeast, theme]);

  useEffect(() => {
    plot.current?.setData(data.current);
  }, [times, curves]);

  return (
    <figure className="chart" role="group" aria-label={title}>
      <figcaption className="chart-title">
        <span>{title}</span>
        <span className="chart-legend">
          {curves.map(({ label, values, colour }, at) => (
            <span key={label}>
              <i className="chart-mark" style={{ background: `var(${colour ?? colourAt(at)})` }} />
              {curves.length > 1 && `${label} `}
              <b>{lastOf(values, format)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} className="chart-place" aria-hidden="true" />
    </figure>
  );
}

function optionsOf(
  place: HTMLElement,
  { curves, format, minutes, atLeast }: Required<Omit<MetricsChartProps, 'title' | 'times'>>,
): Options {
  const styles = getComputedStyle(place);
  const colour = (name: string): string => styles.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--faint'),
    font: `11px ${styles.fontFamily}`,
    grid: { stroke: colour('--edge'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: place.clientWidth,
    height,
    cursor: { y: false, drag: { x: false, y: false } },
    legend: { show: false },
    scales: {
      // A single sample says nothing of how long the time is.
      x: { range: (_plot, _min, max) => [max - minutes * 60, max] },
      y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, atLeast, 1e-9)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        values: (_plot, at, _axis, _space, step) => timesInWords(at, step),
      },
      {
        ...axis,
        size: 64,
        values: (_plot, values) => values.map((one) => format(one)),
        ...(format === bytesInWords && { incrs: byteSteps }),
      },
    ],
    series: [
      {},
      ...curves.map(({ label, colour: own }, at) => ({
        label,
        stroke: colour(own ?? colourAt(at)),
        width: 1.5,
        points: { show: true, filter: lonePoints },
        spanGaps: false,
        ...(at === 0 && { fill: `${colour(own ?? colourAt(at))}18` }),
      })),
    ],
  };
}

const clock = new Intl.DateTimeFormat(undefined, {
  ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
});
const date = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** The date stands where a day begins, and below the first. */
function timesInWords(seconds: readonly number[], step: number): string[] {
  let last = '';
  return seconds.map((one) => {
    const at = new Date(one * 1_000);
    const day = date.format(at);
    const isSame = day === last;
    last = day;
    if (step >= 86_400) return day;
    return isSame ? clock.format(at) : `${clock.format(at)}\n${day}`;
  });
}

/** A value without neighbours makes no line. */
function lonePoints(plot: Uplot, series: number): number[] {
  const values = plot.data[series] ?? [];
  return [...values.keys()].filter(
    (at) => values[at] != null && values[at - 1] == null && values[at + 1] == null,
  );
}

function colourAt(at: number): string {
  return colours[at % colours.length] ?? '--strong';
}

function lastOf(values: readonly (number | null)[], format: (value: number) => string): string {
  const last = values.findLast((one) => one !== null);
  return last == null ? '–' : format(last);
}

/** Calls back when the colours change: by the system, or by the choice of the person. */
function onTheme(changed: () => void): () => void {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const chosen = new MutationObserver(changed);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  dark.addEventListener('change', changed);
  return () => {
    chosen.disconnect();
    dark.removeEventListener('change', changed);
  };
}
