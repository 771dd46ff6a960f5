import tseslint from 'typescript-eslint';
import { logCalls } from './test/support/log-calls-rule.ts';

const houseRules = {
  '@typescript-eslint/no-floating-promises': 'error',
  '@typescript-eslint/switch-exhaustiveness-check': [
    'error',
    { considerDefaultExhaustiveForUnions: true },
  ],
  '@typescript-eslint/consistent-type-imports': 'error',
  '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
  '@typescript-eslint/no-confusing-void-expression': 'off',
  '@typescript-eslint/no-unnecessary-type-parameters': 'off',
  '@typescript-eslint/consistent-type-definitions': 'off',
  '@typescript-eslint/dot-notation': 'off',
  '@typescript-eslint/no-invalid-void-type': 'off',
  // There are no enums (erasableSyntaxOnly), and `#private` members make classes nominal for the
  // compiler; together these two took a fifth of the time.
  '@typescript-eslint/no-unsafe-enum-assignment': 'off',
  '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
  '@typescript-eslint/prefer-nullish-coalescing': ['error', { ignorePrimitives: { string: true } }],
  'no-empty': ['error', { allowEmptyCatch: false }],
  'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
  'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
};

export default tseslint.config(
  {
    ignores: [
      ...['node_modules', 'data', 'dist', 'test/fixtures/apps', 'bench/results', 'bench/peers'],
      'web/api/schema.d.ts',
    ],
  },
  {
    files: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', 'web/**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: true, tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: houseRules,
  },
  {
    files: ['src/**/*.ts'],
    plugins: { house: { rules: { 'log-calls': logCalls } } },
    rules: { 'house/log-calls': 'error' },
  },
  {
    files: ['src/**/*.ts'],
    // The static file server is an app: it is told its port as apps are; the SQL prompt is told as
    // other clients where its database is. The agent hands builds on its machine what they need of it.
    ignores: [
      'src/config.ts',
      'src/programs/agent/place-services.ts',
      'src/programs/static/main.ts',
      'src/programs/sql-prompt/main.ts',
    ],
    rules: {
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Only src/config.ts reads the environment.',
        },
      ],
    },
  },
  {
    files: ['web/**/*.tsx'],
    rules: {
      // A page's function is mostly its markup.
      'max-lines-per-function': ['error', { max: 120, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts'],
    rules: {
      // describe() and it() return promises that the runner itself awaits.
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            {
              from: 'package',
              name: ['describe', 'it', 'test', 'before', 'after'],
              package: 'node:test',
            },
          ],
        },
      ],
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      'max-lines-per-function': 'off',
    },
  },
  {
    files: ['*.config.ts', 'eslint.config.js'],
    rules: { 'no-restricted-exports': 'off' },
  },
);
