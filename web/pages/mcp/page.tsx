/** How AI clients reach this instance by MCP: whether they may, by which address, and what to paste into each. */
import { useState } from 'react';
import { useQuery } from 'urql';
import { Link } from 'wouter';
import { filteredPath, type ToolFilter, toolGroups } from '../../../src/protocol/mcp-address.ts';
import { graphql } from '../../api/graphql.ts';
import { useSession } from '../../shell/session.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Check, TextField } from '../../ui/field.tsx';
import { EmptyState, Page as Frame, Section, Skeleton } from '../../ui/page.tsx';
import { Clients } from './clients.tsx';
import { McpStanding, StandingRoles } from './standing.tsx';
import { TryToken } from './try-token.tsx';

const McpPage = graphql(
  `
    query McpPage {
      mcpSettings {
        enabled
      }
      instanceSettings {
        publicUrl
      }
      roles {
        ...StandingRoles
      }
    }
  `,
  [StandingRoles],
);

const title = 'Connect an AI client';

export function Page() {
  const { team, teams } = useSession();
  const [{ data, error }, ask] = useQuery({ query: McpPage, pause: team === null });
  const [filter, setFilter] = useState<ToolFilter>({ groups: [], readonly: false });
  const again = (): void => ask({ requestPolicy: 'network-only' });
  if (team === null) {
    return (
      <Frame title={title} width="narrow">
        <EmptyState icon="team" title="You are in no team yet">
          There is nothing to reach. An invite brings you into a team.
        </EmptyState>
      </Frame>
    );
  }
  const path = filteredPath(filter);
  // Who is in one team alone need not name it.
  const slug = teams.length > 1 ? team.slug : null;
  return (
    <Frame title={title} width="narrow">
      <p className="mcp-lead">
        Agents work with this instance through MCP, the Model Context Protocol, with the rights of
        the person or the token they come with. It is beta: tools may change.
      </p>
      {error && <ErrorNote error={error} retry={again} />}
      {!data && !error && <Skeleton lines={6} look="rows" />}
      {data && (
        <>
          <McpStanding isOn={data.mcpSettings.enabled} roles={data.roles} again={again} />
          <Section title="Address">
            <div className="mcp-address">
              <TextField
                label="MCP over HTTP"
                value={`${data.instanceSettings.publicUrl}${path}`}
                readOnly
                spellCheck={false}
                onFocus={(event) => event.target.select()}
              />
              <CopyButton
                text={`${data.instanceSettings.publicUrl}${path}`}
                label="Copy the address"
              />
            </div>
            <Narrowing filter={filter} onChange={setFilter} />
          </Section>
          <Clients url={`${data.instanceSettings.publicUrl}${path}`} team={slug} />
          <Section
            title="Test"
            description={
              <>
                Asks with a token as a client does. A token is made on the page of{' '}
                <Link href="/tokens">tokens</Link>; a client that signs in needs none.
              </>
            }
          >
            <TryToken path={path} team={slug} />
          </Section>
        </>
      )}
    </Frame>
  );
}

interface NarrowingProps {
  filter: ToolFilter;
  onChange: (filter: ToolFilter) => void;
}

function Narrowing({ filter, onChange }: NarrowingProps) {
  const { groups } = filter;
  const toggle = (group: string): void => {
    const chosen = toolGroups.filter((one) => (one === group) !== groups.includes(one));
    onChange({ ...filter, groups: chosen });
  };
  return (
    <details className="mcp-fewer">
      <summary>Offer fewer tools</summary>
      <Check
        label="Only those that change nothing"
        checked={filter.readonly}
        onChange={(event) => onChange({ ...filter, readonly: event.target.checked })}
      />
      <fieldset className="mcp-groups">
        <legend>Only these groups; none ticked: all that the caller may use</legend>
        {toolGroups.map((group) => (
          <Check
            key={group}
            label={group}
            checked={groups.includes(group)}
            onChange={() => toggle(group)}
          />
        ))}
      </fieldset>
    </details>
  );
}
