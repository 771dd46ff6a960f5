import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ESLint, Linter } from 'eslint';
import ts from 'typescript';
import tseslint from 'typescript-eslint';
import { logCalls } from '../../support/log-calls-rule.ts';

const file = 'sample.ts';
const declarations = `
  interface Error { name: string; message: string; stack?: string }
  interface Logger { warn(fields: object, event: string): void }
  declare const logger: Logger;
  declare const core: { deps: { logger: Logger } };
  declare const error: Error;
  declare const thrown: unknown;
  declare const named: string;
  declare const fields: { error: Error; app: string };
`;

/** Lints one statement that stands behind the declarations. */
function complaints(statement: string): string[] {
  const text = `${declarations}\n${statement}\nexport {};`;
  const options: ts.CompilerOptions = { noLib: true, types: [], target: ts.ScriptTarget.ES2022 };
  const host = ts.createCompilerHost(options);
  host.getSourceFile = (name) =>
    name === file ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2022, true) : undefined;
  const program = ts.createProgram([file], options, host);
  const messages = new Linter().verify(
    text,
    {
      files: ['**/*.ts'],
      languageOptions: { parser: tseslint.parser, parserOptions: { programs: [program] } },
      plugins: { house: { rules: { 'log-calls': logCalls } } },
      rules: { 'house/log-calls': 'error' },
    },
    { filename: file },
  );
  return messages.map(({ messageId, message }) => messageId ?? message);
}

const refused: [statement: string, complaint: string][] = [
  ["logger.warn({ error }, 'app_lost');", 'field'],
  ["core.deps.logger.warn({ app: 'a', error: thrown }, 'app_lost');", 'field'],
  ["logger.warn({ cause: thrown }, 'app_lost');", 'field'],
  ["logger.warn({ failure: error }, 'app_lost');", 'field'],
  ["logger.warn({ ...fields, port: 1 }, 'app_lost');", 'field'],
  ["logger.warn(fields, 'app_lost');", 'field'],
  ["logger.warn({}, 'app-lost');", 'event'],
  ["logger.warn({}, 'app.lost');", 'event'],
  ["logger.warn({}, 'App lost');", 'event'],
  ['logger.warn({}, `app_${named}`);', 'event'],
  ['logger.warn({}, named);', 'event'],
  ["logger.warn('app_lost');", 'event'],
];

describe('log-calls', () => {
  for (const [statement, complaint] of refused) {
    it(`refuses ${statement}`, () => {
      assert.deepEqual(complaints(statement), [complaint]);
    });
  }

  for (const statement of [
    "logger.warn({ err: error, app: 'a' }, 'app_lost');",
    "core.deps.logger.warn({ err: thrown }, 'app_lost2');",
    "logger.warn({}, named === 'a' ? 'app_lost' : 'request');",
    "error.warn({ error }, 'app-lost');",
  ]) {
    it(`takes ${statement}`, () => {
      assert.deepEqual(complaints(statement), []);
    });
  }

  it('holds for the whole source', async () => {
    const config = (await new ESLint().calculateConfigForFile('src/main.ts')) as Linter.Config;
    assert.deepEqual(config.rules?.['house/log-calls'], [2]);
  });
});
