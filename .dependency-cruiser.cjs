/**
 * DESIGN's import rule: imports point down only.
 * main -> gateway -> {graphql, mcp} -> auth -> actors -> {store, drivers, workers} -> protocol -> lib
 */
const layers = [
  [
    'gateway',
    ['graphql', 'mcp', 'auth', 'actors', 'store', 'drivers', 'workers', 'protocol', 'lib'],
  ],
  ['graphql', ['auth', 'actors', 'store', 'drivers', 'workers', 'protocol', 'lib']],
  ['mcp', ['graphql', 'auth', 'actors', 'store', 'drivers', 'workers', 'protocol', 'lib']],
  ['auth', ['actors', 'store', 'drivers', 'workers', 'protocol', 'lib']],
  ['actors', ['store', 'drivers', 'workers', 'protocol', 'lib']],
  ['store', ['protocol', 'lib']],
  // Drivers and the agent share the shapes of what is stored, nothing that reads or writes it.
  ['drivers', ['agent', 'protocol', 'lib']],
  ['workers', ['protocol', 'lib']],
  ['agent', ['drivers', 'protocol', 'lib']],
  ['protocol', ['lib']],
  ['lib', []],
];

const onlyDown = layers.map(([layer, allowed]) => ({
  name: `${layer}-imports-down`,
  comment: `src/${layer} imports only ${allowed.join(', ') || 'nothing of ours'}`,
  severity: 'error',
  from: { path: `^src/${layer}/`, pathNot: '^src/workers/tasks/' },
  to: {
    path: '^src/',
    pathNot: [
      `^src/${layer}/`,
      ...allowed.map((name) => `^src/${name}/`),
      ...(layer === 'drivers' || layer === 'agent' ? ['^src/store/records\\.ts$'] : []),
    ],
  },
}));

const onlyIn = (library, folder) => ({
  name: `${library}-only-in-${folder.replaceAll('/', '-')}`,
  severity: 'error',
  from: { path: '^src/', pathNot: `^src/${folder}/` },
  to: { path: `node_modules/${library}/` },
});

module.exports = {
  forbidden: [
    ...onlyDown,
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
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default'],
      extensions: ['.ts', '.js', '.json'],
    },
  },
};
