/**
 * Owns the content of the page that connects MCP clients: the address, whether it is open, and what to
 * paste. Radio buttons and the style sheet choose clients and ways, forms choose the rest. A script adds
 * the copy buttons and the test.
 */
import { filteredPath, type ToolFilter, toolGroups } from '../../protocol/mcp-address.ts';
import { mcpClients } from '../../protocol/mcp-clients.ts';
import type { McpClient, Snippet, Way } from '../../protocol/mcp-clients.ts';
import type { TeamRecord } from '../../store/records/records.ts';
import { html, pageStyle } from './page.ts';
import type { Html } from './page.ts';

export const connectPath = '/connect';
/** The address that opens the explorer with the mutation that makes a token. */
const tokenPath = '/api/graphql#create-token';

export type ConnectTeam = Readonly<Pick<TeamRecord, 'id' | 'name' | 'slug'>>;

/** What the person may do in the team. */
export type Standing =
  | { kind: 'known'; enabled: boolean; mayManage: boolean; mayConnect: boolean }
  /** For example because a second factor is due. */
  | { kind: 'refused'; sentence: string };

export interface ConnectView {
  readonly publicUrl: string;
  readonly teams: readonly ConnectTeam[];
  /** One of `teams`; null without any. */
  readonly team: ConnectTeam | null;
  readonly standing: Standing | null;
  readonly filter: ToolFilter;
}

export function connectPage(view: ConnectView): Html {
  const path = filteredPath(view.filter);
  const url = `${view.publicUrl}${path}`;
  const team = view.teams.length > 1 ? (view.team?.slug ?? null) : null;
  return html`<h1>Connect an AI client</h1>
    <p>
      Agents work with this instance through MCP, the Model Context Protocol, with the rights of the
      person or the token they come with. It is beta: tools may change.
    </p>
    ${standingOf(view)}
    <section>
      <h2>Address</h2>
      ${snippetOf({ into: 'MCP over HTTP', text: url })} ${narrowing(view)}
    </section>
    <section>
      <h2>Client</h2>
      ${choice(mcpClients({ url, team }))}
    </section>
    ${tokens()} ${testing(path, team)}
    <a href="/" class="plain">To Gangway</a>`;
}

function standingOf({ team, standing }: ConnectView): Html {
  if (team === null || standing === null) {
    return notice('off', html`You are in no team yet: there is nothing to reach.`);
  }
  if (standing.kind === 'refused') return notice('off', html`${standing.sentence}`);
  const { enabled, mayManage, mayConnect } = standing;
  const state = enabled ? 'on' : 'off';
  const other = enabled ? 'off' : 'on';
  const asked = html` Whoever holds <b>manage_team</b> can switch it ${other}.`;
  const said = html`MCP is <b>${state}</b> in ${team.name}.${mayManage ? null : asked}`;
  const lacking = html`You do not hold <b>manage_mcp</b> in ${team.name}: your clients and tokens
    are refused there. Whoever manages the roles of the team can give it to you.`;
  return html`${notice(state, said, mayManage ? switchForm(team, !enabled) : null)}
  ${mayConnect ? null : notice('off', lacking)}`;
}

function notice(state: 'on' | 'off', said: Html, more: Html | null = null): Html {
  return html`<div class="notice ${state}">
    <p role="status">${said}</p>
    ${more}
  </div>`;
}

function switchForm(team: ConnectTeam, on: boolean): Html {
  return html`<form method="post" action="${connectPath}?team=${team.slug}">
    <input type="hidden" name="enabled" value="${String(on)}" />
    <button ${on ? null : html`class="plain"`}>Switch MCP ${on ? 'on' : 'off'}</button>
  </form>`;
}

/** Each choice leads to another page, whose address and snippets match it. */
function narrowing({ teams, team, filter }: ConnectView): Html {
  const narrow = filter.groups.length > 0 || filter.readonly;
  const box = (name: string, value: string, checked: boolean, label: string): Html =>
    html`<label>
      <input type="checkbox" name="${name}" value="${value}" ${checked ? html`checked` : null} />
      ${label}
    </label> `;
  return html`<details ${narrow ? html`open` : null}>
    <summary>Offer fewer tools${teams.length > 1 ? ', or choose another team' : ''}</summary>
    <form method="get" action="${connectPath}">
      ${teams.length > 1 ? teamChoice(teams, team) : null}
      <fieldset>
        <legend>Tools</legend>
        ${box('readonly', '1', filter.readonly, 'Only those that change nothing')}
        <div class="boxes">
          ${toolGroups.map((one) => box('tools', one, filter.groups.includes(one), one))}
        </div>
        <small>None ticked: all that the token may use.</small>
      </fieldset>
      <button class="plain">Show the address</button>
    </form>
    <p>
      In short: <code>?readonly=1</code> or <code>?tools=read</code> for what changes nothing,
      <code>?tools=apps,logs</code> for groups or single tools by name. A client acts in the team
      named by the header <code>X-Service-Team: ${team?.slug ?? 'slug'}</code>, else in the first
      one of its token; tools take another one as <code>team</code>.
    </p>
  </details>`;
}

function teamChoice(teams: readonly ConnectTeam[], team: ConnectTeam | null): Html {
  return html`<label
    >Team
    <select name="team">
      ${teams.map(
        (one) =>
          html`<option value="${one.slug}" ${one.id === team?.id ? html`selected` : null}>
            ${one.name}
          </option>`,
      )}
    </select>
  </label>`;
}

function choice(clients: readonly McpClient[]): Html {
  const radio = (group: string, id: string, label: string, checked: boolean): Html =>
    html`<label
      ><input type="radio" name="${group}" id="${group}-${id}" ${checked ? html`checked` : null} />
      ${label}</label
    >`;
  return html`<div class="tabs" role="radiogroup" aria-label="Client">
      ${clients.map(({ id, name }, i) => radio('client', id, name, i === 0))}
    </div>
    <div class="tabs" role="radiogroup" aria-label="How it signs in">
      ${radio('way', 'oauth', 'Sign in (OAuth)', true)} ${radio('way', 'token', 'API token', false)}
    </div>
    ${clients.map(
      ({ id, oauth, token }) =>
        html`<div class="client ${id}">
          <div class="way oauth">${wayOf(oauth)}</div>
          <div class="way token">${wayOf(token)}</div>
        </div>`,
    )}`;
}

function wayOf({ snippets, link, note }: Way): Html {
  return html`${link ? html`<a href="${link.href}">${link.label}</a>` : null}
  ${snippets.map(snippetOf)} ${note === undefined ? null : html`<p>${note}</p>`}`;
}

function snippetOf({ into, text }: Snippet): Html {
  return html`<div class="snippet">
    <p>${into}</p>
    <pre tabindex="0">${text}</pre>
  </div>`;
}

function tokens(): Html {
  return html`<section>
    <h2>Tokens</h2>
    <p>
      A client that signs in needs none. Any other takes an API token: in what is pasted here, from
      the variable <code>GANGWAY_TOKEN</code>. It can do what its capabilities and its owner both
      allow, and is shown once.
    </p>
    <a href="${tokenPath}" class="plain">Make a token in the explorer</a>
  </section>`;
}

/** Without its script this part stays hidden. The field has no name, so no form could ever send the token. */
function testing(path: string, team: string | null): Html {
  return html`<section>
    <h2>Test</h2>
    <p id="untested">Without JavaScript, take the line for curl above.</p>
    <form id="test" data-path="${path}" data-team="${team ?? ''}" hidden>
      <label
        >API token
        <input
          type="password"
          required
          maxlength="512"
          autocomplete="off"
          spellcheck="false"
          placeholder="gwy_…"
        />
        <small>It goes to this instance alone, from this page, and is not kept.</small>
      </label>
      <button>Test the connection</button>
      <output></output>
    </form>
  </section>`;
}

const shown = mcpClients({ url: '', team: null })
  .map(({ id }) => `main:has(#client-${id}:checked) .client.${id}`)
  .join(',\n');

export const connectStyle = pageStyle(`
main { max-width: 46rem; min-width: 0; }
section { margin-top: 2.25rem; }
h2 { margin: 0; font-size: 1.125rem; line-height: 1.25; }
code { display: inline-block; max-width: 100%; font: .875em ui-monospace, monospace;
  color: var(--ink); }
small { margin-top: .5rem; }
.notice { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between;
  gap: .5rem 1rem; margin-top: 1.25rem; padding: .625rem .75rem .625rem 1rem; border-radius: .25rem;
  background: var(--paper); border-left: 4px solid #d98a00; }
.notice.on { border-left-color: #2e9e5b; }
.notice p { margin: 0; color: var(--ink); }
.notice form { margin: 0; }
.notice button { width: auto; min-height: 2rem; margin: 0; padding: .25rem .875rem; font-size: .875rem; }
.notice button.plain:hover { background: var(--card); }
.snippet { position: relative; margin-top: .875rem; }
.snippet p { margin: 0 0 .25rem; padding-right: 5rem; font-size: .875rem; }
pre { margin: 0; padding: .75rem 1rem; overflow-x: auto; font: .875rem/1.5 ui-monospace, monospace;
  background: var(--paper); border: 1px solid var(--edge); border-radius: .5rem; }
pre:focus-visible { outline: 2px solid var(--strong); outline-offset: 2px; }
.snippet button { position: absolute; top: -.25rem; right: 0; width: auto; min-height: 1.75rem; padding: .125rem .625rem;
  font-size: .8125rem; color: inherit; background: none; border-color: var(--line); }
.snippet button:hover { background: var(--paper); }
details { margin-top: 1rem; }
summary { cursor: pointer; font-weight: 600; }
details form { margin-top: 1rem; }
.boxes { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr));
  margin: .25rem 0 0; }
.tabs { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: .875rem; }
.tabs label { margin: 0; padding: .375rem .875rem; font-size: .9375rem; font-weight: 500;
  border: 1px solid var(--line); border-radius: 2rem; cursor: pointer; }
.tabs label:hover { background: var(--paper); }
.tabs label:has(:checked) { color: #fff; background: var(--fill);
  border-color: var(--fill); }
.tabs label:has(:focus-visible) { outline: 2px solid var(--strong); outline-offset: 2px; }
.tabs input { position: absolute; width: 1px; height: 1px; margin: 0; opacity: 0; }
.client, .way { display: none; }
${shown} { display: block; }
main:has(#way-oauth:checked) .oauth, main:has(#way-token:checked) .token { display: block; }
.way > a { margin-top: .875rem; }
.way > p { margin-top: .75rem; }
section > a { margin-top: .875rem; }
section > form { margin-top: .875rem; }
form + p { margin-top: 1rem; }
form[hidden] { display: none; }
button:disabled { opacity: .6; cursor: default; }
output p { margin-top: .75rem; }
output:not(:empty) { display: block; margin-top: 1rem; padding: .25rem 1rem .75rem;
  color: var(--ink); background: var(--paper); border-left: 4px solid var(--line);
  border-radius: .25rem; }
output.good { border-left-color: #2e9e5b; }
output.bad { border-left-color: var(--bad); }
section + a.plain { margin-top: 2rem; }
`);
