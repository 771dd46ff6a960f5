/** Queries that every lane must answer alike: one of each thing a document can do. */

export interface CorpusQuery {
  name: string;
  query: string;
  variables?: Record<string, unknown>;
  operationName?: string;
}

export const introspection = `query IntrospectionQuery { __schema { queryType { name }
  mutationType { name } subscriptionType { name }
  types { ...FullType } directives { name description locations args { ...InputValue } } } }
  fragment FullType on __Type { kind name description
    fields(includeDeprecated: true) { name description args { ...InputValue } type { ...TypeRef }
      isDeprecated deprecationReason }
    inputFields { ...InputValue } interfaces { ...TypeRef }
    enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
    possibleTypes { ...TypeRef } }
  fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue }
  fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name
    ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
    ofType { kind name } } } } } } } } } }`;

export const corpus: CorpusQuery[] = [
  { name: 'a scalar', query: '{ needsSetup }' },
  { name: 'me', query: '{ me { id email name isInstanceAdmin twoFactorEnabled } }' },
  {
    name: 'a list with records, enums, dates, numbers and nulls',
    query: `{ apps { totalCount pageInfo { endCursor hasNextPage } nodes { id slug name source status
      url folderId serverId upload { filename size uploadedAt } git { repository } image compose
      build { buildCommand startCommand port healthPath } resources { memoryMb cpus pids replicas }
      previewBranches deployHookEnabled autoDeploy createdAt updatedAt containers { name state } } } }`,
  },
  {
    name: 'aliases on every level',
    query: '{ mine: viewerTeam { a: id b: slug id } all: apps(first: 2) { x: nodes { y: id z: id } } }',
  },
  {
    name: 'fragments, nested, inline and merged',
    query: `query Q { apps { ...Page nodes { id ...A ... on App { name team { id } } ... { slug } } } }
      fragment Page on AppConnection { totalCount nodes { status } }
      fragment A on App { team { slug capabilities } latestDeployment { ...D } }
      fragment D on Deployment { id status canRollback queuePosition }`,
  },
  {
    name: 'merged selections of one response key in two places',
    query: '{ apps { nodes { team { id } build { port } team { name } } nodes { build { nodeVersion } } } }',
  },
  { name: '__typename on every level', query: '{ __typename apps { __typename nodes { t: __typename id } } }' },
  {
    name: 'variables with a default, a null and a value',
    query: `query($n: Int = 2, $after: String, $search: String) {
      apps(first: $n, after: $after, search: $search) { nodes { id } pageInfo { endCursor } } }`,
    variables: { search: 'name', after: null },
  },
  {
    name: 'an ID given as a number',
    query: 'query($id: ID!) { app(id: $id) { id } }',
    variables: { id: 7 },
  },
  {
    name: 'a variable given that nobody declared',
    query: 'query($id: ID) { app(id: $id, slug: null) { id } }',
    variables: { id: 'app_1', more: { a: [1] } },
  },
  { name: 'a missing required variable', query: 'query($id: ID!) { app(id: $id) { id } }' },
  {
    name: 'a variable of the wrong type',
    query: 'query($n: Int) { apps(first: $n) { totalCount } }',
    variables: { n: 'many' },
  },
  {
    name: 'a number beyond Int',
    query: 'query($n: Int) { apps(first: $n) { totalCount } }',
    variables: { n: 2 ** 31 },
  },
  {
    name: 'a field argument error below data',
    query: '{ me { id } apps(first: 2) { nodes { id deployments(first: 900) { nodes { id } } } } }',
  },
  {
    name: 'an error that takes a nullable parent with it',
    query: '{ me { id } app(id: "app_1") { id deployments(after: "nonsense") { nodes { id } } } }',
  },
  {
    name: 'an error that takes everything with it',
    query: '{ me { id } apps(after: "nonsense") { totalCount } }',
  },
  { name: 'two errors at once', query: '{ a: app { id } b: app(id: "1", slug: "2") { id } me { id } }' },
  { name: 'something invisible', query: '{ app(id: "app_x") { id } deployment(id: "dpl_none") { id } }' },
  {
    name: '@skip and @include with constants',
    query: '{ me { id @skip(if: true) email @include(if: true) name @include(if: false) } }',
  },
  {
    name: '@skip and @include with variables and fragments',
    query: `query($yes: Boolean!, $no: Boolean!) { apps { nodes { ...F @include(if: $yes) id @skip(if: $yes)
      ... @skip(if: $no) { status id } team { slug } team @include(if: $no) { name } ...F @skip(if: $no) } } }
      fragment F on App { slug name @skip(if: $no) build { port @include(if: $no) nodeVersion } }`,
    variables: { yes: true, no: false },
  },
  {
    name: 'a fragment spread twice, once conditionally',
    query: `query($no: Boolean!) { a: app(id: "app_1") { ...F @include(if: $no) }
      b: app(id: "app_1") { ...F } } fragment F on App { id name }`,
    variables: { no: false },
  },
  { name: 'a response key that is a trap', query: '{ __proto__: needsSetup constructor: needsSetup }' },
  { name: 'a trap further down', query: '{ me { __proto__: id toString: email } }' },
  {
    name: 'the chosen one of two operations',
    query: 'query A { needsSetup } query B { me { id } }',
    operationName: 'B',
  },
  {
    name: 'logs by page',
    query: '{ logs(appId: "app_1", tail: 2) { nodes { at stream text } pageInfo { hasNextPage endCursor } } }',
  },
  {
    name: 'a log within a deployment',
    query: '{ deployment(id: "dpl_1a") { log(first: 1) { nodes { text } pageInfo { hasNextPage } } } }',
  },
  { name: 'lists of other topics', query: '{ folders { id name parentId } trash { id } roles { name builtIn } members { email role { name } } servers { id connected lastSeenAt isolation { layer holds missing consequence } } mcpSettings { enabled } instanceSettings { logMaxDays publicUrl } myTeams { id } apiTokens { id } }' },
  { name: '__type', query: '{ __type(name: "App") { name fields { name type { name kind ofType { name } } } } }' },
  { name: 'introspection', query: introspection },
]; // prettier-ignore
