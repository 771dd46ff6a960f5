/** Owns what one needs of a database first: how it is reached, what it is, and who uses it. */
import { Link } from 'wouter';
import { Facts, Section } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusDot } from '../../ui/status.tsx';
import { engines } from '../new-database/engines.ts';
import { Connection } from './connection.tsx';
import type { Database } from './documents.ts';

export function OverviewTab({ database }: { database: Database }) {
  const { engine, version, createdAt, updatedAt, resources, usedBy } = database;
  const limits = [
    resources.memoryMb !== null && `${String(resources.memoryMb)} MB of memory`,
    resources.cpus !== null && `${String(resources.cpus)} processors`,
    resources.pids !== null && `${String(resources.pids)} processes`,
  ].filter(Boolean);
  return (
    <>
      <Section
        title="Connection"
        description="For programs that run here. Apps get it by a variable that refers to this database."
      >
        <Connection database={database} />
      </Section>
      <Section title="About">
        <Facts
          facts={[
            ['Engine', `${engines[engine].label} ${version}`],
            ['Limits', limits.length === 0 ? 'None' : limits.join(', ')],
            ['Made', <RelativeTime key="made" at={createdAt} />],
            ['Changed', <RelativeTime key="changed" at={updatedAt} />],
          ]}
        />
      </Section>
      <Section title="Used by">
        {usedBy.length === 0 ? (
          <p className="database-none">
            No app refers to it. Give an app a variable with the value{' '}
            <code>{`\${database.${database.id}.url}`}</code>.
          </p>
        ) : (
          <ul className="database-users">
            {usedBy.map((app) => (
              <li key={app.id}>
                <Link href={`/apps/${app.id}`}>{app.name}</Link>
                <StatusDot status={app.status} />
              </li>
            ))}
          </ul>
        )}
      </Section>
    </>
  );
}
