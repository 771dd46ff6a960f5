/** What keeps apps and databases apart on the machine of Gangway. */
import { Section } from '../../ui/page.tsx';
import { Badge } from '../../ui/status.tsx';
import type { Server } from './documents.ts';

export function Isolation({ layers }: { layers: Server['isolation'] }) {
  return (
    <Section
      title="Isolation"
      description="What keeps apps and databases on this machine apart from each other."
    >
      {layers === null ? (
        <p className="instance-muted">
          It is known once something has run here since the start, and nothing is kept apart where
          Gangway does not run as root.
        </p>
      ) : (
        <Layers layers={layers} />
      )}
    </Section>
  );
}

function Layers({ layers }: { layers: NonNullable<Server['isolation']> }) {
  const lacking = layers.filter(({ holds }) => !holds);
  return (
    <>
      <p className="instance-layers">
        {lacking.length === 0 ? 'All layers hold:' : 'These hold:'}
        {layers.map(
          ({ layer, holds }) =>
            holds && (
              <Badge key={layer} tone="good">
                {layer}
              </Badge>
            ),
        )}
      </p>
      {lacking.length > 0 && (
        <ul className="instance-lacking">
          {lacking.map(({ layer, missing, consequence }) => (
            <li key={layer}>
              <Badge tone="warn">{layer}</Badge>
              <span>
                {missing} <strong>{consequence}</strong>
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
