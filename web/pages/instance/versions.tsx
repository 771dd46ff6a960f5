/** What runs, what is installed, and how an update goes. */
import { Facts, Section } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import type { Status } from './documents.ts';

export function Versions({ status }: { status: Status }) {
  const { version, installedVersion, nodeVersion, startedAt, machine } = status;
  const isOutdated = version !== installedVersion;
  return (
    <Section title="Versions">
      <Facts
        facts={[
          ['Gangway', version],
          ['Node.js', nodeVersion],
          ['Started', <RelativeTime key="started" at={startedAt} />],
          ['System', machine.system],
        ]}
      />
      {isOutdated ? (
        <p className="instance-update" role="status">
          Version {installedVersion} is installed. Restart Gangway to run it; apps and databases
          stay up.
        </p>
      ) : (
        <p className="instance-muted">
          To update, put the new version in the place of this one and restart Gangway. Apps and
          databases stay up.
        </p>
      )}
    </Section>
  );
}
