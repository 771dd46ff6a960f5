/* Runs in the browser: starts GraphiQL on this very address, with the caller's cookie. */
'use strict';

const greeting = `# The API of this instance.
# Ctrl-Enter runs what is written here;
# the book at the left explains the API.

query Start {
  me { email }
  viewerTeam { name }
  apps(first: 20) {
    totalCount
    nodes {
      id
      name
      status
      url
      latestDeployment { status createdAt }
    }
  }
}
`;

// Other pages of ours open the explorer with one of these documents, named by the fragment of the address.
// No other document can be opened by a link, because the person would run it with all their rights.
const prepared = {
  '#create-token': `# A token for an AI client or a program. Name it, give it what it needs and no more,
# run this (Ctrl-Enter), and copy the secret: it is shown once.

mutation CreateToken {
  createToken(input: {
    name: "my agent"
    capabilities: [view_logs, deploy_apps, control_apps]
  }) {
    secret
    token { id name prefix }
  }
}
`,
};

const address = '/api/graphql';

function request(params, headers, accept) {
  return fetch(address, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { ...headers, 'content-type': 'application/json', accept },
    body: JSON.stringify(params),
  });
}

/** The events of a graphql-sse stream. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  try {
    for (;;) {
      const end = text.indexOf('\n\n');
      if (end < 0) {
        const { done, value } = await reader.read();
        if (done) return;
        text += value;
        continue;
      }
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      if (lines.includes('event: complete')) return;
      const data = lines.find((line) => line.startsWith('data: '));
      if (data) yield JSON.parse(data.slice('data: '.length));
    }
  } finally {
    await reader.cancel();
  }
}

function isSubscription(params) {
  const words = params.query.replace(/#.*$/gm, '');
  const name = params.operationName;
  return new RegExp(`\\bsubscription\\b\\s*${name ? `${name}\\b` : ''}`).test(words);
}

async function fetcher(params, options) {
  const headers = (options && options.headers) || {};
  if (!isSubscription(params)) {
    const response = await request(params, headers, 'application/json');
    return response.json();
  }
  const response = await request(params, headers, 'text/event-stream');
  return response.ok ? events(response) : response.json();
}

const root = document.getElementById('explorer');
const { createElement, Fragment } = window.React;
const link = (href, text) => createElement('a', { className: 'account', href }, text);
const account = link(`/login?next=${encodeURIComponent(address)}`, root.dataset.account);
const connect = root.dataset.account === 'Account' ? link('/connect', 'Connect') : null;
window.ReactDOM.createRoot(root).render(
  createElement(
    window.GraphiQL,
    {
      fetcher,
      defaultQuery: greeting,
      query: prepared[window.location.hash],
      defaultEditorToolsVisibility: true,
      shouldPersistHeaders: false,
    },
    createElement(window.GraphiQL.Logo, null, createElement(Fragment, null, connect, ' ', account)),
  ),
);
