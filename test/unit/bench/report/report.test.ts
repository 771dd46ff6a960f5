import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { differences } from '../../../../bench/compare.ts';
import type { Machine } from '../../../../bench/machine.ts';
import { row } from '../../../../bench/model.ts';
import type { Row } from '../../../../bench/model.ts';
import { markdown } from '../../../../bench/report/markdown.ts';
import { page } from '../../../../bench/report/page.ts';
import { writeResults } from '../../../../bench/report/results.ts';
import type { Run } from '../../../../bench/report/results.ts';
import { table } from '../../../../bench/report/table.ts';
import { number, ratio, spread } from '../../../../bench/report/words.ts';
import { tagsOf } from '../../../support/well-formed.ts';

const machine: Machine = {
  cores: 8,
  model: 'A "fast" <CPU> & more',
  memoryBytes: 16 * 2 ** 30,
  kernel: '6.1',
  node: 'v22.0.0',
  loadBefore: 0.1,
  pinned: { servers: '0-3', load: '4-7' },
  load: 'wrk 4.1.0',
  commit: 'abcdef0123',
};

const hostile = `</script><svg onload="x">'&\u0001`;
const latency = (scale: number) => ({
  p50: 0.1 * scale,
  p90: 0.4 * scale,
  p99: 3 * scale,
  p999: 9 * scale,
  max: 40 * scale,
});

const rows: Row[] = [
  row({
    group: `small ${hostile}`,
    what: 'throughput',
    unit: 'req/s',
    better: 'higher',
    rounds: {
      ours: [9_000, 9_100, 9_200],
      bare: [10_000, 10_000, 10_000],
      [hostile]: [10, 11, 12],
    },
    goals: [
      { against: 'bare', ratio: 0.9 },
      { against: hostile, ratio: 1_000 },
    ],
    note: 'closed loop',
  }),
  row({
    group: 'small',
    what: 'latency, 99th percentile',
    unit: 'ms',
    better: 'lower',
    rounds: { ours: [3], bare: [1.5] },
    percentiles: { ours: latency(1), bare: latency(0.5) },
  }),
  row({
    what: 'start',
    unit: 'ms',
    better: 'lower',
    rounds: { ours: [400] },
    goals: [{ value: 700 }],
  }),
  row({ what: 'nothing at all', unit: 'KiB', better: 'lower', rounds: { ours: [0, 0, 0] } }),
  row({
    what: 'less than nothing',
    unit: 'MiB',
    better: 'lower',
    rounds: { ours: [-2], idle: [0.5] },
  }),
];

function run(extra: Partial<Run> = {}): Run {
  const results: Run['results'] = [
    { name: 'one', title: hostile, seconds: 3, rows },
    { name: 'two', title: 'that fails', seconds: 1, failed: `died: ${hostile}`, isFault: true },
  ];
  return { at: '2026-01-02T03:04:05.678Z', quick: false, machine, results, ...extra };
}

describe('the page', () => {
  it('is well-formed, whatever texts go into it', () => {
    for (const one of [run(), run({ quick: true }), run({ results: [] })]) tagsOf(page(one));
    assert.ok(!page(run()).includes('<svg onload'));
    assert.ok(!page(run()).includes('\u0001'));
  });

  it('asks for nothing else: no script, no link, no picture from elsewhere', () => {
    const html = page(run());
    const tags = new Set(tagsOf(html).map(({ name }) => name));
    for (const name of ['script', 'link', 'img', 'iframe', 'object', 'use', 'image']) {
      assert.ok(!tags.has(name), name);
    }
    const references = tagsOf(html).flatMap(({ attributes }) => attributes['href'] ?? []);
    assert.ok(references.every((href) => href.startsWith('#')));
    assert.doesNotMatch(html, /url\(|@import|https?:/);
  });

  it('describes each picture in words, by ids that are there once', () => {
    const tags = tagsOf(page(run()));
    const ids = tags.flatMap(({ attributes }) => attributes['id'] ?? []);
    assert.equal(new Set(ids).size, ids.length);
    const pictures = tags.filter(({ name }) => name === 'svg');
    assert.ok(pictures.length >= 3);
    for (const { attributes } of pictures) {
      assert.equal(attributes['role'], 'img');
      const named = attributes['aria-labelledby']?.split(' ') ?? [];
      assert.ok(named.length === 2 && named.every((id) => ids.includes(id)));
    }
  });

  it('draws nothing outside its picture, and nothing that is no number', () => {
    for (const { name, attributes } of tagsOf(page(run()))) {
      if (name !== 'rect') continue;
      const [left, width] = [Number(attributes['x']), Number(attributes['width'])];
      assert.ok(left >= 0 && width >= 0 && left + width <= 360.1, JSON.stringify(attributes));
    }
    assert.doesNotMatch(page(run()), /NaN|Infinity|undefined/);
  });

  it('says which goals are met, what failed, and what the machine is', () => {
    const html = page(run());
    assert.match(html, /2 of 3 goals met/);
    assert.match(html, /goal ≥ 0\.9 × bare uWebSockets\.js/);
    assert.match(html, /<a href="#one">one<\/a>, small [^<]*: throughput: <strong>827</);
    assert.match(html, /without figures: two\./);
    assert.match(html, /Failed, no figures:<\/strong> died: &lt;\/script&gt;/);
    assert.match(html, /servers on 0-3, load on 4-7/);
  });

  it('judges nothing in a smoke', () => {
    const html = page(run({ quick: true }));
    assert.match(html, /A smoke of seconds/);
    assert.doesNotMatch(html, /goals met|met-word">/);
  });

  it('shows base and head where two states were compared', () => {
    const results = [{ name: 'one', title: 'x', seconds: 1, rows: differences(rows, rows) }];
    const html = page(run({ results, against: { ref: 'v1 <x>', commit: '0123456789abcdef' } }));
    tagsOf(html);
    assert.match(html, /base: v1 &lt;x&gt;, 0123456789</);
    assert.match(html, /head: abcdef0123</);
    assert.match(html, /within the spread of 0\.0 %/);
    assert.doesNotMatch(html, /goals met/);
  });
});

describe('the table', () => {
  it('has a line for each that ours is held against, with the goal and whether it is met', () => {
    const text = table(rows.slice(0, 3), false);
    assert.match(
      text,
      /throughput \(closed loop\) +9,100 +req\/s +±0\.5 % +bare uWebSockets\.js +10,000 +0\.91 +>= 0\.9: met/,
    );
    assert.match(text, />= 1000: not met/);
    assert.match(text, /start +400 +ms +<= 700 ms: met/);
  });

  it('judges nothing in a smoke', () => {
    assert.doesNotMatch(table(rows, true), /met/);
  });
});

describe('Markdown', () => {
  const cellsOf = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/(?<!\\)\|/).length);

  it('lists every goal with what was reached, and what failed', () => {
    const text = markdown(run());
    assert.match(text, /\| one \| start \| <= 700 ms \| 400 \| met \|/);
    assert.match(text, /\| two \| failed, no figures \|/);
    assert.equal(new Set(cellsOf(text)).size, 1);
  });

  it('lists base and head where two states were compared', () => {
    const results = [
      { name: 'one', title: 'x', seconds: 1, rows: differences(rows, rows) },
      { name: 'two', title: 'y', seconds: 1, failed: 'base: x', isFault: false },
    ];
    const dirty = { ...machine, commit: 'abcdef0123, changed' };
    const against = { ref: 'main', commit: '0123456789abcdef' };
    const text = markdown(run({ results, machine: dirty, against }));
    const [sides, , ...lines] = text.split('\n');
    assert.equal(
      sides,
      'base: main, 0123456789; head: abcdef0123, with changes that are not committed.',
    );
    assert.match(text, /\| 9,100 \| 9,100 \| 1\.000 \| req\/s \| within the spread of 0\.0 % \|/);
    assert.match(text, /no ratio/);
    assert.equal(new Set(cellsOf(lines.join('\n'))).size, 1);
  });
});

describe('figures', () => {
  it('are written with three digits that say something', () => {
    assert.deepEqual([0, 0.001234, 1.005, 99.94, 12_345.6].map(number), [
      '0',
      '0.00123',
      '1',
      '99.9',
      '12,346',
    ]);
    assert.deepEqual([0.00212, 0.0804, 0.9, 12.34, 1234].map(ratio), [
      '0.0021',
      '0.08',
      '0.90',
      '12.3',
      '1,234',
    ]);
  });

  it('have a spread where there is more than one round', () => {
    const of = (ours: number[]) =>
      row({ what: 'x', unit: 'y', better: 'lower', rounds: { ours } }).ours;
    assert.equal(spread(of([90, 100, 110])), '±5.0 %');
    assert.equal(spread(of([90])), '');
    assert.equal(spread(of([0, 0])), '');
  });
});

describe('the results', () => {
  it('are one file a scenario, with its rounds and the machine, and the reason where it failed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gangway-test-'));
    try {
      writeResults(folder, run());
      writeResults(folder, run({ against: { ref: 'main', commit: 'abc' } }));
      const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), 'utf8'));
      const one = read('one.json') as { machine: Machine; rows: Row[] };
      assert.deepEqual(one.machine, machine);
      assert.deepEqual(one.rows[0]?.ours.rounds, [9_000, 9_100, 9_200]);
      const two = read('two.json') as { failed: string; rows?: Row[] };
      assert.match(two.failed, /^died/);
      assert.equal(two.rows, undefined);
      assert.ok(read('one.compare.json'));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
