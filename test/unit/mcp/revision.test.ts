import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  capabilityFault,
  clientOf,
  currentRevision,
  earlierRevisions,
  eraOf,
  type HeaderOf,
  metaOf,
  nameFault,
  revisionFault,
} from '../../../src/mcp/revision.ts';

const prefix = 'io.modelcontextprotocol/';
const headerOf =
  (headers: Record<string, string>): HeaderOf =>
  (name) =>
    headers[name] ?? '';

const modernHeaders = { 'mcp-protocol-version': currentRevision, 'mcp-method': 'tools/list' };
const modernMeta = {
  [`${prefix}protocolVersion`]: currentRevision,
  [`${prefix}clientCapabilities`]: {},
};

/** Of a good request with these headers instead; '' is none. */
function faultOf(headers: Record<string, string>, meta?: unknown) {
  const sent = headerOf({ ...modernHeaders, ...headers });
  const params = meta === undefined ? {} : { _meta: meta };
  return revisionFault(sent, { method: 'tools/list', params });
}

describe('eraOf', () => {
  const era = (headers: Record<string, string>, meta?: unknown) =>
    eraOf(headerOf(headers), { method: 'tools/list', params: { _meta: meta } });

  it('is minimal without a mark', () => {
    assert.equal(era({}), 'minimal');
    assert.equal(era({}, { progressToken: 1 }), 'minimal');
    assert.equal(era({ 'mcp-session-id': 'x' }, { [`${prefix}other`]: 1 }), 'minimal');
    for (const meta of [null, 7, 'x', []]) assert.equal(era({}, meta), 'minimal');
  });

  it('is modern with any mark, in a header or in _meta', () => {
    assert.equal(era({ 'mcp-method': 'x' }), 'modern');
    assert.equal(era({ 'mcp-name': 'x' }), 'modern');
    for (const version of [currentRevision, '2024-11-05', 'v999.0.0', '2025-11-25, 2025-11-25']) {
      assert.equal(era({ 'mcp-protocol-version': version }), 'modern', version);
    }
    for (const key of ['protocolVersion', 'clientCapabilities', 'clientInfo']) {
      assert.equal(era({}, { [prefix + key]: null }), 'modern', key);
    }
  });

  it('is earlier when a header says so and nothing of the body gainsays it', () => {
    for (const version of earlierRevisions) {
      assert.equal(era({ 'mcp-protocol-version': ` ${version}\t` }), 'earlier');
      assert.equal(era({ 'mcp-protocol-version': version, 'mcp-method': 'x' }), 'earlier');
      assert.equal(era({ 'mcp-protocol-version': version }, modernMeta), 'modern');
    }
  });
});

describe('revisionFault', () => {
  it('lets pass what is said twice alike, with white space around', () => {
    assert.equal(faultOf({}, modernMeta), null);
    assert.equal(faultOf({ 'mcp-method': '\ttools/list ' }, modernMeta), null);
    assert.equal(faultOf({}, { ...modernMeta, [`${prefix}clientInfo`]: 7 }), null);
  });

  it('names a header that is missing or different', () => {
    const wrong = [
      { 'mcp-protocol-version': '' },
      { 'mcp-protocol-version': '2025-11-25' },
      { 'mcp-protocol-version': `${currentRevision}, ${currentRevision}` },
      { 'mcp-method': '' },
      { 'mcp-method': 'TOOLS/LIST' },
      { 'mcp-method': 'tools/list, tools/list' },
    ];
    for (const headers of wrong) assert.equal(faultOf(headers, modernMeta)?.code, -32020);
  });

  it('names what _meta lacks, before it compares', () => {
    const other = { 'mcp-protocol-version': 'v999.0.0', 'mcp-method': 'x' };
    const { [`${prefix}protocolVersion`]: version, ...rest } = modernMeta;
    assert.equal(faultOf(other)?.code, -32602);
    assert.equal(faultOf(other, rest)?.code, -32602);
    assert.equal(faultOf(other, { [`${prefix}protocolVersion`]: version })?.code, -32602);
    for (const bad of [null, [], 'all', 7]) {
      const meta = { ...modernMeta, [`${prefix}clientCapabilities`]: bad };
      assert.equal(faultOf({}, meta)?.code, -32602);
    }
    assert.equal(
      faultOf({}, { ...modernMeta, [`${prefix}protocolVersion`]: 20260728 })?.code,
      -32602,
    );
  });

  it('tells which versions there are only to who says one version twice', () => {
    const requested = 'v999.0.0';
    const meta = { ...modernMeta, [`${prefix}protocolVersion`]: requested };
    assert.equal(faultOf({}, meta)?.code, -32020);
    const fault = faultOf({ 'mcp-protocol-version': requested }, meta);
    assert.equal(fault?.code, -32022);
    assert.deepEqual(fault.data, { supported: [currentRevision], requested });
  });
});

describe('nameFault', () => {
  it('compares the name by its case, decoded', () => {
    const fault = (header: string, name: string) =>
      nameFault(headerOf({ 'mcp-name': header }), name);
    assert.equal(fault(' list_apps ', 'list_apps'), null);
    assert.equal(fault('=?base64?bGlzdF9hcHBz?=', 'list_apps'), null);
    for (const header of ['', 'List_apps', 'list_apps, list_apps', '=?base64?!?=']) {
      assert.equal(fault(header, 'list_apps')?.code, -32020, header);
    }
  });
});

describe('capabilityFault', () => {
  it('names all that is needed and not declared', () => {
    const params = (declared: unknown) => ({
      _meta: { [`${prefix}clientCapabilities`]: declared },
    });
    const needed = { sampling: {}, elicitation: { form: {} } };
    assert.equal(capabilityFault(params({}), {}), null);
    assert.equal(capabilityFault(params({ sampling: {}, elicitation: {} }), needed), null);
    const fault = capabilityFault(params({ sampling: {} }), needed);
    assert.equal(fault?.code, -32021);
    assert.deepEqual(fault.data, { requiredCapabilities: { elicitation: { form: {} } } });
    for (const declared of [undefined, null, [], 'sampling']) {
      const { data } = capabilityFault(params(declared), needed) ?? {};
      assert.deepEqual(data, { requiredCapabilities: needed });
    }
    assert.ok(capabilityFault(params({}), { toString: {} }), 'nothing is inherited');
  });
});

describe('clientOf', () => {
  it('reads who speaks, of either era, and cuts it', () => {
    const info = { name: 'n'.repeat(300), version: 'v'.repeat(300) };
    const cut = { name: 'n'.repeat(200), version: 'v'.repeat(100) };
    assert.deepEqual(clientOf({ _meta: { [`${prefix}clientInfo`]: info } }), cut);
    assert.deepEqual(clientOf({ clientInfo: info }), cut);
    assert.deepEqual(clientOf({ clientInfo: { name: 'n' } }), { name: 'n', version: '' });
    for (const clientInfo of [undefined, null, 'n', ['n'], {}, { name: 7 }]) {
      assert.equal(clientOf({ clientInfo }), null);
    }
  });
});

describe('metaOf', () => {
  it('is an object, whatever was sent', () => {
    assert.deepEqual(metaOf({ _meta: { a: 1 } }), { a: 1 });
    for (const meta of [undefined, null, 7, 'x', [1]])
      assert.deepEqual(metaOf({ _meta: meta }), {});
  });
});
