import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, describe, it } from 'node:test';
import {
  buildSchema,
  getNamedType,
  type GraphQLField,
  type GraphQLSchema,
  isObjectType,
  isScalarType,
  parse,
} from 'graphql';
import { anonymous } from '../../../../src/auth/callers/principal.ts';
import type { GraphContext, ReadSide } from '../../../../src/graphql/context.ts';
import { Executor } from '../../../../src/graphql/execution/executor.ts';
import { directivesOf, Exposure } from '../../../../src/graphql/gate/exposure.ts';
import { schema } from '../../../../src/graphql/schema/schema.ts';
import { harmless, hostile } from '../../../support/exposing-documents.ts';
import { GraphqlFixture } from '../../../support/graphql-fixture.ts';

const fixture = new GraphqlFixture();
after(() => fixture.close());
const built = schema;
const contract = withMarks(
  buildSchema(
    await readFile(new URL('../../../fixtures/graphql-core.graphql', import.meta.url), 'utf8'),
  ),
);
const executor = new Executor({
  schema: built,
  limits: fixture.limits,
  onInternal: (cause) => assert.fail(String(cause)),
  onFault: (cause) => assert.fail(String(cause)),
});

/** A context that nothing may be asked of. */
function untouchable(via: GraphContext['via']): GraphContext {
  const read = new Proxy({} as ReadSide, {
    get: (_target, name) => assert.fail(`${String(name)} was read for a refused document`),
  });
  return { ...fixture.context(fixture.ann), read, write: null, via };
}

interface Refusal {
  data?: unknown;
  errors: {
    message: string;
    locations: { line: number; column: number }[];
    extensions: { code: string; field?: string };
  }[];
}

describe('a document over MCP', () => {
  for (const { name, query, operationName, variables = {}, fields } of hostile) {
    it(`is refused with ${name}, before anything runs`, async () => {
      for (let use = 0; use < 3; use++) {
        const answer = await executor.answer(query, operationName, variables, untouchable('mcp'));
        const { data, errors } = JSON.parse(answer.json) as Refusal;
        assert.equal(answer.kind, 'refused');
        assert.equal(data, undefined);
        assert.deepEqual(
          errors.map(({ extensions }) => extensions.field),
          fields,
        );
        for (const { message, extensions } of errors) {
          assert.equal(extensions.code, 'FORBIDDEN');
          assert.match(message, /^MCP .*: \w+ is refused over MCP\.$/);
        }
      }
    });
  }

  for (const { name, query, operationName, variables = {} } of harmless) {
    it(`is answered as over HTTP with ${name}`, async () => {
      const http = fixture.context(fixture.ann);
      const expected = await executor.answer(query, operationName, variables, http);
      const answer = await executor.answer(query, operationName, variables, {
        ...http,
        via: 'mcp',
      });
      assert.deepEqual(answer, expected);
      assert.equal(answer.kind, 'executed', answer.json);
    });
  }

  it('is told each refused name once, at its first place, and five at most', async () => {
    const names = ['revealA', 'rotateB', 'execC', 'login', 'createToken', 'revealF'];
    const query = `{ me { id } revealA\n  again: revealA ${names.join(' ')} }`;
    const { json } = await executor.answer(query, undefined, {}, untouchable('mcp'));
    const { errors } = JSON.parse(json) as Refusal;
    assert.deepEqual(
      errors.map(({ extensions }) => extensions.field),
      names.slice(0, 5),
    );
    assert.deepEqual(errors[0]?.locations, [{ line: 1, column: 13 }]);
    assert.deepEqual(
      errors.map(({ message }) => message.split(':')[0]),
      [
        'MCP never shows a secret',
        'MCP never shows a secret',
        'MCP runs no command in a container',
        'MCP does not reach the account of a person',
        'MCP never shows a secret',
      ],
    );
  });

  it('may hold no subscription, chosen or not', async () => {
    const beside = 'query A { me { id } } subscription B { appStatus(id: "app_1") { id } }';
    const alone = 'subscription { deploymentLog(id: "dpl_1a") { text } }';
    for (const [query, operationName] of [[beside, 'A'], [beside, 'B'], [alone]] as const) {
      const answer = await executor.answer(query, operationName, {}, untouchable('mcp'));
      const { errors } = JSON.parse(answer.json) as Refusal;
      assert.equal(answer.kind, 'refused');
      assert.deepEqual(
        errors.map(({ message, extensions }) => [message, extensions.code]),
        [['MCP takes no subscriptions: ask by a query instead.', 'FORBIDDEN']],
      );
    }
  });

  it('is refused in the time its length takes, up to the longest', async () => {
    const padding = ' '.repeat(fixture.limits.queryChars - 60);
    const long = `{ me { id }${padding}a: revealEnv(appId: "a", key: "K") }`;
    assert.ok(long.length <= fixture.limits.queryChars);
    const { json } = await executor.answer(long, undefined, {}, untouchable('mcp'));
    assert.match(json, /revealEnv is refused over MCP/);
    const longer = await executor.answer(`${padding}${long}`, undefined, {}, untouchable('mcp'));
    assert.equal(longer.kind, 'refused');
    assert.match(longer.json, /COST_LIMIT/);
    const nested = `{ ${'... { '.repeat(900)} login ${'} '.repeat(900)} }`;
    const deep = await executor.answer(nested, undefined, {}, untouchable('mcp'));
    assert.match(deep.json, /login is refused over MCP/);
  });
});

describe('a document over HTTP', () => {
  it('may name what MCP refuses', async () => {
    const http = fixture.context(fixture.ann);
    const query = '{ env(appId: "app_1") { key value } }';
    const refused = await executor.answer(query, undefined, {}, { ...http, via: 'mcp' });
    assert.equal(refused.kind, 'refused');
    const answer = await executor.answer(query, undefined, {}, http);
    assert.deepEqual(answer, { kind: 'executed', json: '{"data":{"env":[]}}' });
  });

  it('keeps its own errors, whatever it names', async () => {
    for (const { query, operationName, variables = {} } of hostile) {
      const http = { ...fixture.context(anonymous), write: null };
      const { json } = await executor.answer(query, operationName, variables, http);
      assert.doesNotMatch(json, /over MCP/);
    }
  });
});

describe('Exposure', () => {
  const exposure = new Exposure(built);

  it('holds every name that is refused by rule, built or not', () => {
    const secrets = [
      'createToken', 'destinationRecoveryKey', 'inviteMember', 'addServer',
      'reissueServerBootstrap', 'startGithubConnect', 'webhookUrl', 'value', 'secret', 'uri',
      'recoveryCodes', 'startTwoFactorEnrolment', 'revealEnv', 'revealConnection',
      'revealAppDeployHook', 'revealAnything', 'rotateAppDeployHook', 'rotateDatabasePassword',
      'rotateAnything',
    ]; // prettier-ignore
    for (const name of secrets) assert.equal(exposure.of(name), 'secret', name);
    for (const name of ['execConsole', 'execDatabaseConsole', 'exec', 'execute']) {
      assert.equal(exposure.of(name), 'exec', name);
    }
    const account = [
      'login', 'logout', 'acceptInvite', 'completeSetup', 'verifyTwoFactorLogin',
      'confirmTwoFactorEnrolment', 'disableTwoFactor', 'mySessions', 'revokeSession',
      'changePassword', 'switchTeam',
    ]; // prettier-ignore
    for (const name of account) assert.equal(exposure.of(name), 'account', name);
  });

  it('refuses of the whole contract these names and no others', () => {
    const refused = new Set<string>();
    for (const schema of [built, contract]) {
      const rules = new Exposure(schema);
      for (const [, { name }] of fieldsOf(schema)) if (rules.of(name) !== null) refused.add(name);
    }
    assert.deepEqual([...refused].sort(), [
      'acceptInvite', 'addServer', 'bootstrapToken', 'changePassword', 'completeSetup',
      'confirmTwoFactorEnrolment', 'createToken', 'destinationRecoveryKey', 'disableTwoFactor',
      'execConsole', 'execDatabaseConsole', 'installCommand', 'inviteMember', 'login', 'logout',
      'mySessions', 'recoveryCodes', 'reissueServerBootstrap', 'revealAppDeployHook',
      'revealConnection', 'revealEnv', 'revokeSession', 'rotateAppDeployHook',
      'rotateDatabasePassword', 'secret', 'startGithubConnect', 'startTwoFactorEnrolment',
      'switchTeam', 'uri', 'value', 'verifyTwoFactorLogin', 'webhookUrl',
    ]); // prettier-ignore
  });

  it('takes its names from the directives, and refuses whole what hands a credential over once', () => {
    const schema = withMarks(
      buildSchema(`
        directive @secret on FIELD_DEFINITION
        directive @exec on FIELD_DEFINITION
        type Thing { id: ID! seed: String @secret }
        type Minted { thing: Thing! pin: String! @secret }
        type Query { things: [Thing!]! twoFactorMethods: [String!]! }
        type Mutation { mint: Minted! makeThing: Thing! runIt: Boolean! @exec endAllSessions: Boolean! }
      `),
    );
    const rules = new Exposure(schema);
    const names = [...fieldsOf(schema)].map(([, { name }]) => name);
    assert.deepEqual(
      names.filter((name) => rules.of(name) !== null).sort(),
      ['endAllSessions', 'mint', 'pin', 'runIt', 'seed', 'twoFactorMethods'],
    ); // prettier-ignore
  });

  it('finds nothing in a document without operations or fragments', () => {
    assert.deepEqual(exposure.judge(parse('type A { revealEnv: Int }')), {
      fields: [],
      subscriptions: [],
    });
  });
});

/** Texts by these names are credentials, until somebody says here why one is not. */
const credential =
  /secret|password|token|recovery|hookUrl|webhookUrl|privateKey|connectionString|installCommand|uri$/i;
const noCredential: Readonly<Record<string, string>> = {
  'Database.connectionStringMasked': 'The password in it is masked.',
};

describe('the schema', () => {
  for (const [name, schema] of Object.entries({ built, contract })) {
    it(`marks every field that returns a credential (${name})`, () => {
      assert.deepEqual(unmarked(schema), []);
    });
  }

  it('has every field that is excused', () => {
    const coordinates = [...fieldsOf(contract)].map(([type, { name }]) => `${type}.${name}`);
    for (const excused of Object.keys(noCredential)) assert.ok(coordinates.includes(excused));
  });

  it('would be caught without a mark', () => {
    const schema = buildSchema(`
      type Hook { hookUrl: String! oldTokens: [String] tokenCount: Int tokens: [Token!]! }
      type Token { id: ID! prefix: String! refreshToken: ID! }
      type Query { hook: Hook recoveryKey(id: ID!): String }
      type Mutation { mint: String! burn: Boolean! mintMany: [String!]! }
    `);
    assert.deepEqual(unmarked(schema).sort(), [
      'Hook.hookUrl', 'Hook.oldTokens', 'Mutation.mint', 'Mutation.mintMany',
      'Query.recoveryKey', 'Token.refreshToken',
    ]); // prettier-ignore
  });

  it('carries every mark of the contract on what is built', () => {
    for (const [type, field] of fieldsOf(contract)) {
      const ours = built.getType(type);
      if (!isObjectType(ours)) continue;
      const same = ours.getFields()[field.name];
      if (same === undefined) continue;
      const marks = directivesOf(field.extensions);
      assert.deepEqual(directivesOf(same.extensions), marks, `${type}.${field.name}`);
    }
  });
});

/** Where a credential would be returned that MCP does not know of. */
function unmarked(schema: GraphQLSchema): string[] {
  const found: string[] = [];
  const mutation = schema.getMutationType()?.name;
  for (const [type, field] of fieldsOf(schema)) {
    const coordinate = `${type}.${field.name}`;
    const returned = getNamedType(field.type);
    const isText = isScalarType(returned) && ['String', 'ID', 'JSON'].includes(returned.name);
    // A change answers with what it changed: a bare text is something new, shown once.
    const suspect = isText && (credential.test(field.name) || type === mutation);
    if (!suspect || coordinate in noCredential) continue;
    if (!directivesOf(field.extensions).includes('secret')) found.push(coordinate);
  }
  return found;
}

function* fieldsOf(schema: GraphQLSchema): Iterable<[string, GraphQLField<unknown, unknown>]> {
  for (const [name, type] of Object.entries(schema.getTypeMap())) {
    if (name.startsWith('__') || !isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) yield [name, field];
  }
}

/** A schema from text keeps its directives elsewhere. */
function withMarks(schema: GraphQLSchema): GraphQLSchema {
  for (const [, field] of fieldsOf(schema)) {
    const marks = (field.astNode?.directives ?? []).map((node) => node.name.value);
    field.extensions = { ...field.extensions, directives: marks };
  }
  return schema;
}
