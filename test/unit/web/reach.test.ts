/** Everything that the API offers is to be reached from a page of the dashboard, or to say why not. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { buildSchema, type DocumentNode, Kind, parse, print } from 'graphql';

const root = new URL('../../../', import.meta.url);

const signIn =
  'the pages of sign-in, invites and set-up work without script, before there is a dashboard';
const live = 'teamChanges tells the same of all that the person sees';
const consoles = 'pages open a terminal, by the transport of consoles';

/** Root fields that no page asks for, with the reason. */
const elsewhere: Readonly<Record<string, string>> = {
  'Query.needsSetup': signIn,
  'Mutation.acceptInvite': signIn,
  'Mutation.completeSetup': signIn,
  'Mutation.login': signIn,
  'Mutation.verifyTwoFactorLogin': signIn,
  'Mutation.logout': 'the menu posts to /logout, which leads to the page of sign-in',
  'Query.backupRun': 'the list has every run, and teamChanges tells how each goes on',
  'Subscription.databaseStatus': live,
  'Mutation.execConsole': consoles,
  'Mutation.execDatabaseConsole': consoles,
};

const schema = buildSchema(readFileSync(new URL('schema.graphql', root), 'utf8'));
const roots = {
  Query: schema.getQueryType(),
  Mutation: schema.getMutationType(),
  Subscription: schema.getSubscriptionType(),
};

/** `Query.apps` and so on, as documents of the dashboard ask for them. */
function usedFields(documents: readonly DocumentNode[]): Set<string> {
  const used = new Set<string>();
  for (const { definitions } of documents) {
    for (const definition of definitions) {
      if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
      const type = { query: 'Query', mutation: 'Mutation', subscription: 'Subscription' };
      for (const selection of definition.selectionSet.selections) {
        // Fragments on root types would hide fields from this test.
        if (selection.kind !== Kind.FIELD) assert.fail(print(selection));
        used.add(`${type[definition.operation]}.${selection.name.value}`);
      }
    }
  }
  return used;
}

function documentsOf(text: string): DocumentNode[] {
  return [...text.matchAll(/\bgraphql\(\s*`([^`]*)`/g)].map(([, body = '']) => parse(body));
}

function webDocuments(): DocumentNode[] {
  const web = new URL('web/', root);
  const names = readdirSync(web, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith('api/schema.d'))
    .flatMap((name) => documentsOf(readFileSync(new URL(name, web), 'utf8')));
}

describe('the API', () => {
  const used = usedFields(webDocuments());
  const offered = Object.entries(roots).flatMap(([type, fields]) =>
    Object.keys(fields?.getFields() ?? {}).map((field) => `${type}.${field}`),
  );

  it('is reached from a page, field by field, or says why not', () => {
    assert.deepEqual(
      offered.filter((field) => !used.has(field) && !(field in elsewhere)),
      [],
    );
  });

  it('has no reason for what is reached, or is gone', () => {
    assert.deepEqual(
      Object.keys(elsewhere).filter((field) => used.has(field) || !offered.includes(field)),
      [],
    );
  });
});
