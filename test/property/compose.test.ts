import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { WorkFailed } from '../../src/actors/workload/work-failed.ts';
import { readStack } from '../../src/actors/app/compose/stack.ts';

const allowed = [
  'image',
  'ports',
  'expose',
  'volumes',
  'environment',
  'command',
  'depends_on',
  'labels',
  'build',
];
const others = [
  'privileged',
  'devices',
  'pid',
  'network_mode',
  'cap_add',
  'security_opt',
  'volumes_from',
];

describe('any compose file', () => {
  it('is a stack or is refused by name, and never anything else', async () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const service = fc.dictionary(fc.constantFrom(...allowed, ...others), value);
    const file = fc.oneof(
      value,
      fc.record(
        { services: fc.dictionary(fc.constantFrom('web', 'db', 'X'), service), volumes: value },
        { requiredKeys: ['services'] },
      ),
    );
    await fc.assert(
      fc.asyncProperty(file, async (content) => {
        try {
          const stack = await readStack(JSON.stringify(content), { variables: {}, port: null });
          assert.ok(stack.services.some(({ name }) => name === stack.main));
          assert.doesNotMatch(JSON.stringify(content), /privileged|devices|network_mode|cap_add/);
        } catch (error) {
          if (!(error instanceof WorkFailed)) throw error;
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is read from any text, or is refused', async () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[a-z:{}[\]&*!|>\-\n ]{0,80}$/));
    await fc.assert(
      fc.asyncProperty(text, async (content) => {
        await assert.rejects(readStack(content, { variables: {}, port: null }), WorkFailed);
      }),
      { numRuns: 500 },
    );
  });
});
