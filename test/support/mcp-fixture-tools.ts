/**
 * The tools that the official MCP conformance suite calls by name. They are in no product: a test
 * composes them into a server in place of the tools of Gangway.
 */
import { setImmediate } from 'node:timers/promises';
import type { JsonSchema, Tool, ToolInput, ToolOutcome } from '../../src/mcp/tool.ts';

// One red pixel.
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
// A header, and no sample.
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

const image = { type: 'image', data: png, mimeType: 'image/png' } as const;

const text = (words: string): ToolOutcome => ({ kind: 'text', text: words });

/** Takes what it is given: the schemas are there to be listed. */
function input(schema: JsonSchema = {}): ToolInput {
  return {
    schema: { type: 'object', properties: {}, additionalProperties: false, ...schema },
    read: (args) => ({ ok: true, value: args as Record<string, unknown> }),
  };
}

function tool(name: string, run: Tool['run'], more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `What the conformance suite expects of ${name}.`,
    group: 'apps',
    effect: 'reads',
    idempotent: true,
    needs: null,
    input: input(),
    output: null,
    run,
    ...more,
  };
}

const dialects: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
};

export const fixtureTools: readonly Tool[] = [
  tool('test_simple_text', () => text('This is a simple text response for testing.')),
  tool('test_image_content', () => ({ kind: 'content', content: [image] })),
  tool('test_audio_content', () => ({
    kind: 'content',
    content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }],
  })),
  tool('test_embedded_resource', () => ({
    kind: 'content',
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
  })),
  tool('test_multiple_content_types', () => ({
    kind: 'content',
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  })),
  tool('test_error_handling', () => ({
    kind: 'failed',
    sentence: 'This tool intentionally returns an error for testing',
  })),
  tool(
    'test_tool_with_progress',
    async (call) => {
      for (const message of ['0 of 100', '50 of 100', '100 of 100']) {
        call.progress(message);
        await setImmediate();
      }
      return text('Done.');
    },
    { slow: true },
  ),
  tool('test_missing_capability', () => text('The client can sample.'), {
    needsOfClient: { sampling: {} },
  }),
  tool('test_streaming_elicitation', () => text('Nothing was asked.'), { slow: true }),
  tool('test_logging_tool', () => text('Nothing was logged.')),
  tool('test_custom_header', (_call, { region }) => text(`In ${String(region)}.`), {
    input: input({
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    }),
  }),
  tool('json_schema_2020_12_tool', () => text('Listed.'), { input: input(dialects) }),
];
