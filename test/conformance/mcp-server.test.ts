/**
 * The server scenarios of the official MCP conformance suite: all that a revision requires, against
 * the tools that the suite calls; and those that need no such tool, against a whole Gangway.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Gangway } from '../support/gangway.ts';
import { passed, runSuite, type SuiteRun, unpassed } from '../support/mcp-conformance.ts';
import { startMcpGateway } from '../support/mcp-gateway.ts';
import { startTokenProxy } from '../support/mcp-token-proxy.ts';

const revision = '2026-07-28';
const expectedFailures = fileURLToPath(new URL('mcp-expected-failures.yaml', import.meta.url));

const tools = [
  'tools-list',
  'tools-call-simple-text',
  'tools-call-image',
  'tools-call-audio',
  'tools-call-embedded-resource',
  'tools-call-mixed-content',
  'tools-call-error',
  'tools-call-with-progress',
  'dns-rebinding-protection',
  'json-schema-2020-12',
];

describe('the MCP conformance suite against the tools it calls', () => {
  let run: SuiteRun;

  before(async () => {
    run = await runRequirements(revision, '--expected-failures', expectedFailures);
  });

  it('finds no failure but those of features that are not offered', () => {
    assert.equal(run.code, 0, run.output);
  });

  // Some are newer than what the revision requires, and run without a score.
  const scenarios = [
    ...tools,
    'server-stateless',
    'server-sse-multiple-streams',
    'input-required-result-unsupported-methods',
    'input-required-result-validate-input',
    'http-header-validation',
    'http-custom-header-server-validation',
  ];
  for (const scenario of scenarios) {
    it(`passes ${scenario}`, () => assertPassed(run, scenario));
  }

  it('never sends what the schema of the revision does not allow, whatever it was asked', () => {
    const all = [...run.checks.values()].flat().filter(({ id }) => id === 'wire-schema-valid');
    assert.deepEqual(unpassed(all), [], run.output);
    assert.ok(passed(all) > scenarios.length, run.output);
  });

  it('passes what caching asks of the list of tools', () => {
    const ids = ['tools-list-caching-hints', 'ttl-non-negative', 'cache-scope-valid'];
    for (const id of ids) {
      const check = run.checks.get('caching')?.find((one) => one.id === `sep-2549-${id}`);
      assert.equal(check?.status, 'SUCCESS', id);
    }
  });
});

describe('the MCP conformance suite as a client of the revision before', () => {
  let run: SuiteRun;

  before(async () => {
    run = await runRequirements('2025-11-25');
  });

  for (const scenario of ['server-initialize', 'ping', ...tools]) {
    it(`passes ${scenario}`, () => assertPassed(run, scenario));
  }
});

describe('the MCP conformance suite against a whole Gangway', () => {
  let run: SuiteRun;

  before(async () => {
    const gangway = await Gangway.open();
    try {
      const token = await gangway.client.token({ capabilities: ['view_logs', 'deploy_apps'] });
      run = await runAs(token, gangway, '--requirements', revision);
    } finally {
      await gangway.end();
    }
  });

  // What it does not pass: the suite looks into it by tools that no product has, or it is of prompts
  // and resources.
  const unpassable: Record<string, string[]> = {
    'server-stateless': [
      'sep-2575-http-server-no-independent-requests-on-stream',
      'sep-2575-missing-capability-http-400',
      'sep-2575-server-no-log-without-loglevel',
      'sep-2575-server-rejects-undeclared-capability',
    ],
    'tools-list': [],
    'server-sse-multiple-streams': [],
    'dns-rebinding-protection': [],
    'http-header-validation': [],
    caching: [
      'sep-2549-prompts-list-caching-hints',
      'sep-2549-resources-list-caching-hints',
      'sep-2549-resources-templates-list-caching-hints',
    ],
  };
  for (const [scenario, ids] of Object.entries(unpassable)) {
    it(`passes ${scenario}`, () => assertPassed(run, scenario, ids));
  }
});

async function runRequirements(of: string, ...args: string[]): Promise<SuiteRun> {
  const place = await startMcpGateway();
  try {
    return await runAs(place.token, place, '--requirements', of, ...args);
  } finally {
    await place.close();
  }
}

async function runAs(token: string, { url }: Place, ...args: string[]): Promise<SuiteRun> {
  const proxy = await startTokenProxy(url, token);
  try {
    return await runSuite(proxy.mcpUrl, args);
  } finally {
    await proxy.close();
  }
}

interface Place {
  readonly url: string;
}

/** Something of it ran, and of that nothing but these failed or was warned of. */
function assertPassed(run: SuiteRun, scenario: string, but: string[] = []): void {
  const checks = run.checks.get(scenario);
  assert.deepEqual(unpassed(checks), but, run.output);
  assert.ok(passed(checks) > 0, run.output);
}
