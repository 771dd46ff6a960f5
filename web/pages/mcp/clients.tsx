/** Owns what is pasted into each client, for signing in and for a token. */
import { useState } from 'react';
import { mcpClients, type Snippet, type Way } from '../../../src/protocol/mcp-clients.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { SelectField } from '../../ui/field.tsx';
import { Section } from '../../ui/page.tsx';

const ways = [
  { value: 'oauth', label: 'Sign in (OAuth)' },
  { value: 'token', label: 'API token' },
] as const;
type WayName = (typeof ways)[number]['value'];

export function Clients({ url, team }: { url: string; team: string | null }) {
  const [chosen, setChosen] = useState('claudecode');
  const [way, setWay] = useState<WayName>('oauth');
  const clients = mcpClients({ url, team });
  const client = clients.find(({ id }) => id === chosen) ?? clients[0];
  if (client === undefined) return null;
  return (
    <Section title="Client">
      <div className="mcp-choice">
        <SelectField
          label="Which one"
          options={clients.map(({ id, name }) => ({ value: id, label: name }))}
          value={client.id}
          onChange={(event) => setChosen(event.target.value)}
        />
        <SelectField
          label="How it signs in"
          options={ways}
          value={way}
          onChange={(event) => setWay(event.target.value as WayName)}
        />
      </div>
      <WayView way={client[way]} />
      {way === 'token' && (
        <p className="mcp-may">
          What is pasted holds no token: it comes from the variable <code>GANGWAY_TOKEN</code>, or
          the client asks for it.
        </p>
      )}
    </Section>
  );
}

function WayView({ way: { snippets, link, note } }: { way: Way }) {
  return (
    <>
      {link !== undefined && (
        <div>
          <a className="button button-plain button-normal" href={link.href}>
            {link.label}
          </a>
        </div>
      )}
      {snippets.map((snippet) => (
        <SnippetView key={snippet.into} snippet={snippet} />
      ))}
      {note !== undefined && <p className="mcp-may">{note}</p>}
    </>
  );
}

function SnippetView({ snippet: { into, text } }: { snippet: Snippet }) {
  return (
    <div className="mcp-snippet">
      <p>{into}</p>
      <CopyButton text={text} label="Copy the text" />
      <pre className="app-commands" tabIndex={0}>
        {text}
      </pre>
    </div>
  );
}
