/** Whether the instance is well: what answers, what has room, and what is not as safe as it could be. */
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { Section } from '../../ui/page.tsx';
import { StatusDot } from '../../ui/status.tsx';
import { type Check, checksOf } from './checks.ts';
import type { Instance, Status } from './documents.ts';

interface HealthProps {
  /** By `useOwnCheck`. */
  own: Check;
  status: Status;
  instance: Instance;
}

export function Health({ own, status, instance }: HealthProps) {
  const checks = [own, ...checksOf(status, instance, Date.now())];
  return (
    <Section
      title="Health"
      description={
        <>
          Looked at every few seconds. All figures are at <a href="/metrics">/metrics</a>, as
          Prometheus reads them.
        </>
      }
    >
      <ul className="instance-checks">
        {checks.map((check) => (
          <li key={check.name}>
            <CheckRow check={check} />
          </li>
        ))}
      </ul>
      {status.warnings.map((warning) => (
        <p key={warning} className="instance-warning">
          {warning}
        </p>
      ))}
    </Section>
  );
}

function CheckRow({ check: { name, tone, word, detail, link } }: { check: Check }) {
  return (
    <>
      <span className="instance-check-name">{name}</span>
      <StatusDot status={word} tone={tone} />
      <span className="instance-check-detail">
        {detail} {link !== undefined && <To link={link} />}
      </span>
    </>
  );
}

function To({ link: [href, label] }: { link: NonNullable<Check['link']> }) {
  // A place on this page is no page of its own.
  return href.startsWith('#') ? <a href={href}>{label}</a> : <Link href={href}>{label}</Link>;
}

/**
 * The web server's own answer, as load balancers ask for it: beside the first look at the instance, and anew with each
 * further one.
 */
export function useOwnCheck(look: object | undefined): Check {
  const [tookMs, setTookMs] = useState<number | null | undefined>();
  useEffect(() => {
    const over = new AbortController();
    const from = performance.now();
    fetch('/api/health', { signal: over.signal }).then(
      ({ ok }) => setTookMs(ok ? performance.now() - from : null),
      () => {
        if (!over.signal.aborted) setTookMs(null);
      },
    );
    return () => over.abort();
  }, [look]);
  const name = 'Gangway';
  if (tookMs === undefined) return { name, tone: 'off', word: 'is asked', detail: '' };
  if (tookMs === null) {
    return { name, tone: 'bad', word: 'does not answer', detail: 'Nothing came from /api/health.' };
  }
  const detail = `/api/health answered this browser within ${tookMs.toFixed(0)} ms.`;
  return { name, tone: 'good', word: 'answers', detail };
}
