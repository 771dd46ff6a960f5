/** Owns the text format of Prometheus (0.0.4): families of samples to lines. Pure. */

export interface Sample {
  /** `_bucket`, `_sum`, `_count` of a histogram. */
  suffix?: string;
  labels?: Readonly<Record<string, string>>;
  value: number;
}

export interface MetricFamily {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  samples: readonly Sample[];
}

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

export function encodeMetrics(families: readonly MetricFamily[]): string {
  return families.map(encodeFamily).join('');
}

function encodeFamily(family: MetricFamily): string {
  const help = family.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  const head = `# HELP ${family.name} ${help}\n# TYPE ${family.name} ${family.type}\n`;
  return head + family.samples.map((sample) => encodeSample(family.name, sample)).join('');
}

function encodeSample(name: string, sample: Sample): string {
  const labels = Object.entries(sample.labels ?? {})
    .map(([key, value]) => `${key}="${escapeLabel(value)}"`)
    .join(',');
  return `${name}${sample.suffix ?? ''}${labels && `{${labels}}`} ${encodeNumber(sample.value)}\n`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function encodeNumber(value: number): string {
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  return String(value);
}

/** A family of one number without labels: a counter when its name says so, else a gauge. */
export function singleSample(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: name.endsWith('_total') ? 'counter' : 'gauge', samples: [{ value }] };
}

/** Adds up the samples of several threads that have the same name and labels. */
export function mergeFamilies(families: Iterable<MetricFamily>): MetricFamily[] {
  const merged = new Map<string, { family: MetricFamily; samples: Map<string, Sample> }>();
  for (const family of families) {
    const into = merged.get(family.name) ?? { family, samples: new Map<string, Sample>() };
    merged.set(family.name, into);
    for (const sample of family.samples) {
      const key = JSON.stringify([sample.suffix, sample.labels]);
      const value = (into.samples.get(key)?.value ?? 0) + sample.value;
      into.samples.set(key, { ...sample, value });
    }
  }
  return [...merged.values()].map(({ family, samples }) => ({
    ...family,
    samples: [...samples.values()],
  }));
}
