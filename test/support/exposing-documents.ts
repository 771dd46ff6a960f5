/** Documents that name, or only seem to name, what MCP refuses. */

export interface ExposingDocument {
  name: string;
  query: string;
  operationName?: string;
  variables?: Readonly<Record<string, unknown>>;
}

export interface HostileDocument extends ExposingDocument {
  /** The names refused, in order. */
  fields: readonly string[];
}

const reveal = 'revealEnv(appId: "app_1", key: "K")';

export const hostile: readonly HostileDocument[] = [
  { name: 'a refused field', query: `mutation { ${reveal} }`, fields: ['revealEnv'] },
  { name: 'an alias', query: `mutation { id: ${reveal} }`, fields: ['revealEnv'] },
  {
    name: 'an alias that is a harmless name',
    query: '{ env(appId: "app_1") { masked: value } }',
    fields: ['value'],
  },
  {
    name: 'an alias that is the refused name',
    query: '{ env(appId: "app_1") { value: value } }',
    fields: ['value'],
  },
  {
    name: 'nested fragments',
    query: `mutation { ...A } fragment A on Mutation { ...B } fragment B on Mutation { ...C }
      fragment C on Mutation { x: ${reveal} }`,
    fields: ['revealEnv'],
  },
  {
    name: 'a fragment before the operation',
    query: 'fragment V on EnvVar { value } { env(appId: "app_1") { ...V } }',
    fields: ['value'],
  },
  {
    name: 'inline fragments with and without a type',
    query: `mutation { ... { ... on Mutation { ... @include(if: true) { ${reveal} } } } }`,
    fields: ['revealEnv'],
  },
  {
    name: 'a fragment that is not used',
    query: `{ me { id } } fragment A on Mutation { ${reveal} }`,
    fields: ['revealEnv'],
  },
  {
    name: 'a fragment on a type that there is not',
    query: '{ me { id } ...A } fragment A on Nothing { destinationRecoveryKey(id: 1) }',
    fields: ['destinationRecoveryKey'],
  },
  {
    name: 'fragments in a circle',
    query:
      'mutation { ...A } fragment A on Mutation { ...B } fragment B on Mutation { logout ...A }',
    fields: ['logout'],
  },
  {
    name: 'a second operation that is not chosen',
    query: `query A { me { id } } mutation B { ${reveal} }`,
    operationName: 'A',
    fields: ['revealEnv'],
  },
  {
    name: 'several operations of which none is chosen',
    query: `query A { me { id } } mutation B { ${reveal} }`,
    fields: ['revealEnv'],
  },
  {
    name: '@skip(if: true)',
    query: `mutation { logout @skip(if: true) ... @skip(if: true) { ${reveal} } }`,
    fields: ['logout', 'revealEnv'],
  },
  {
    name: '@include by a variable',
    query: `mutation M($yes: Boolean!) { __typename ${reveal} @include(if: $yes) }`,
    variables: { yes: false },
    fields: ['revealEnv'],
  },
  {
    name: 'a directive that there is not',
    query: `mutation { ${reveal} @nothing }`,
    fields: ['revealEnv'],
  },
  {
    name: '__typename around it',
    query: 'mutation { __typename createToken(input: { name: "t" }) { __typename } __typename }',
    fields: ['createToken'],
  },
  {
    name: 'only the harmless part of a payload',
    query: 'mutation { createToken(input: { name: "t" }) { token { id } } }',
    fields: ['createToken'],
  },
  {
    name: 'the credential in a payload',
    query: 'mutation { startTwoFactorEnrolment(password: "p") { uri recoveryCodes } }',
    fields: ['startTwoFactorEnrolment', 'uri', 'recoveryCodes'],
  },
  {
    name: 'a field that is refused wherever it stands',
    query: '{ apps { nodes { latestDeployment { log { nodes { revealIt } } } } } }',
    fields: ['revealIt'],
  },
  {
    name: 'a refused mutation under a query',
    query: `{ ${reveal} }`,
    fields: ['revealEnv'],
  },
  {
    name: 'what is not built',
    query: 'mutation { execConsole(appId: "app_1", command: "env") { output } }',
    fields: ['execConsole'],
  },
  {
    name: 'missing arguments and selections',
    query: 'mutation { addServer reissueServerBootstrap startGithubConnect acceptInvite }',
    fields: ['addServer', 'reissueServerBootstrap', 'startGithubConnect', 'acceptInvite'],
  },
  {
    name: 'sessions and two-factor',
    query: `mutation { login(email: "a", password: "b") { viewer { id } } disableTwoFactor
      revokeSession switchTeam }`,
    fields: ['login', 'disableTwoFactor', 'revokeSession', 'switchTeam'],
  },
  {
    name: 'a mark at the start, commas, comments and line ends of all kinds',
    query: '\uFEFF,,mutation#{me{id}}\r\n,{,#"\r,,x,:#"""\n,revealEnv#(\r,(appId:"a"key:"K"),}',
    fields: ['revealEnv'],
  },
  {
    name: 'a text that seems to hide it',
    query: 'mutation { deleteEnv(appId: """ \\""" # """, key: "\\"") rotateIt, x: execIt }',
    fields: ['rotateIt', 'execIt'],
  },
  {
    name: 'a default value that seems to end the operation',
    query: 'query Q($a: String = "}") { me { id } ... on Query { mySessions { id } } }',
    fields: ['mySessions'],
  },
  {
    name: 'a definition that is no operation beside it',
    query: `type Query { me: Int } mutation { ${reveal} }`,
    fields: ['revealEnv'],
  },
];

export const harmless: readonly ExposingDocument[] = [
  { name: 'a refused name as an alias', query: '{ revealEnv: me { id createToken: name } }' },
  {
    name: 'a refused name in a text',
    query: '{ apps(search: "revealEnv { value }") { totalCount } }',
  },
  {
    name: 'a refused name in a block text',
    query: '{ apps(search: """ mutation { login } """) { totalCount } }',
  },
  { name: 'a refused name in a comment', query: '{ me { id } # revealEnv\n }' },
  {
    name: 'refused names for operation, fragment and variable',
    query: `query login($value: String, $rotateIt: Boolean = true) {
      apps(search: $value) { totalCount } ...execIt @include(if: $rotateIt)
    } fragment execIt on Query { me { id } }`,
    operationName: 'login',
    variables: { value: 'revealEnv' },
  },
  {
    name: 'all of a variable but its value',
    query: '{ env(appId: "app_1") { id key masked isSecret targets updatedAt } }',
  },
  {
    name: 'names that only hold a refused one',
    query: '{ instanceSettings { publicUrl } needsSetup }',
  },
  {
    name: 'fields that tell of two-factor',
    query: '{ me { twoFactorEnabled } viewerTeam { requireTwoFactor } }',
  },
  {
    name: 'introspection',
    query: '{ __schema { mutationType { name } } __type(name: "Mutation") { fields { name } } }',
  },
  {
    name: 'introspection of arguments and their values',
    query: '{ __type(name: "EnvVar") { fields { name args { name defaultValue } } } }',
  },
  { name: 'tokens without their secrets', query: '{ apiTokens { id name prefix } }' },
];
