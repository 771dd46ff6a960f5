/**
 * Rooms of `src` and how they may import each other: down only. Each room imports what stands below it
 * here; rooms of one row do not import each other.
 */
const rows = [
  ['main'],
  ['service', 'commands'],
  ['threads'],
  ['gateway'],
  ['mcp'],
  ['graphql'],
  ['auth'],
  ['actors'],
  ['agents', 'consoles', 'metrics'],
  ['logs'],
  ['places'],
  ['acme', 'backups', 'git', 'registries'],
  ['archives', 'drivers'],
  ['store', 'workers'],
  ['protocol'],
  ['lib'],
];
/** Programs run as processes of their own: what they say to a driver lies in `protocol`. */
const programsImport = ['protocol', 'lib'];
/**
 * The agent is what runs things on another server, as the service does here: a composition root, like `main`. It has
 * what a machine needs, and nothing of what there is once: no store, no actors, no gateway.
 */
const agentImports = ['drivers', 'places', 'programs', ...programsImport];
const agent = '^src/programs/agent/';
/** Only what starts the service knows its configuration. */
const readsConfig = ['main', 'service', 'commands'];

const pathOf = (room) => (room === 'main' ? '^src/main\\.ts$' : `^src/${room}/`);
const config = '^src/config\\.ts$';
/** Entry points of threads: like `main` they import what they need. */
const tasks = '^src/workers/tasks/';

const only = (room, rooms, pathNot = tasks) => ({
  name: `${room}-imports-down`,
  comment: `src/${room} imports only ${rooms.join(', ') || 'nothing of ours'}`,
  severity: 'error',
  from: { path: pathOf(room), pathNot },
  to: {
    path: '^src/.*\\.ts$',
    pathNot: [room, ...rooms]
      .map(pathOf)
      .concat(readsConfig.includes(room) ? [config] : [], room === 'main' ? [agent] : []),
  },
});

const onlyDown = [
  ...rows.flatMap((row, at) => row.map((room) => only(room, rows.slice(at + 1).flat()))),
  only('programs', programsImport, agent),
  {
    name: 'agent-imports-down',
    severity: 'error',
    from: { path: agent },
    to: { path: '^src/.*\\.ts$', pathNot: agentImports.map(pathOf) },
  },
  {
    name: 'config-imports-down',
    severity: 'error',
    from: { path: config },
    to: { path: '^src/', pathNot: ['store', 'protocol', 'lib'].map(pathOf) },
  },
];

const onlyIn = (library, folder) => ({
  name: `${library}-only-in-${folder.replaceAll('/', '-')}`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/${folder}/` },
  to: { path: `node_modules/${library}/` },
});

module.exports = {
  forbidden: [
    ...onlyDown,
    {
      name: 'every-file-has-a-room',
      severity: 'error',
      from: {
        path: '^src/.*\\.ts$',
        pathNot: [...rows.flat(), 'programs'].map(pathOf).concat(config, tasks),
      },
      to: {},
    },
    onlyIn('@peculiar/x509', 'workers/tasks'),
    onlyIn('lmdb', 'store'),
    onlyIn('uWebSockets.js', 'gateway'),
    onlyIn('uws-pack', 'gateway'),
    {
      name: 'tasks-are-entry-points',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/workers/tasks/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'nobody-imports-main',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/(main|.*/main)\\.ts$' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'only-declared-packages',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown', 'unknown'] },
    },
    {
      name: 'resolvable',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^bench/peers/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
