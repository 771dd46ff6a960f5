/** The certificates of the instance itself, and why one is missing. */
import { EmptyState, Section } from '../../ui/page.tsx';
import { RelativeTime } from '../../ui/relative-time.tsx';
import { StatusDot } from '../../ui/status.tsx';
import { Table } from '../../ui/table.tsx';
import type { Settings } from './documents.ts';

type Certificate = NonNullable<Settings['certificates']>[number];

export function Certificates({ certificates }: { certificates: readonly Certificate[] }) {
  return (
    <div id="certificates">
      <Section
        title="Certificates"
        description="Those of the panel and of the names that all apps have from Gangway. Those of domains are with their apps."
        look="bare"
      >
        {certificates.length === 0 ? (
          <EmptyState icon="shield" title="None is ordered for the instance">
            GANGWAY_EDGE_PANEL serves the panel at the edge, and GANGWAY_ACME_DNS_COMMAND gets a
            certificate for all names of apps.
          </EmptyState>
        ) : (
          <Table
            label="Certificates"
            rows={certificates}
            rowKey={({ host }) => host}
            columns={[
              { key: 'host', head: 'Host', cell: ({ host }) => <bdi>{host}</bdi> },
              { key: 'state', head: 'State', cell: (one) => <State certificate={one} /> },
              {
                ...{ key: 'issuer', head: 'Issuer', lesser: true },
                cell: ({ certificate }) => certificate?.issuer ?? '–',
              },
              {
                ...{ key: 'ends', head: 'Ends', lesser: true },
                cell: ({ certificate }) =>
                  certificate === null ? '–' : <RelativeTime at={certificate.notAfter} />,
              },
            ]}
          />
        )}
      </Section>
    </div>
  );
}

function State({ certificate: { certificate, error, nextTryAt } }: { certificate: Certificate }) {
  const isThere = certificate !== null;
  if (error === null) {
    return <StatusDot status={isThere ? 'active' : 'issuing'} />;
  }
  return (
    <span className="instance-failed">
      <StatusDot status={isThere ? 'not renewed' : 'missing'} tone={isThere ? 'warn' : 'bad'} />
      <small>
        {error}{' '}
        {nextTryAt !== null && (
          <>
            It is tried again <RelativeTime at={nextTryAt} />.
          </>
        )}
      </small>
    </span>
  );
}
