import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newTokenSecret } from '../../../../src/auth/callers/token-codec.ts';
import { Redaction } from '../../../../src/mcp/redaction/redaction.ts';
import { SecretIndex } from '../../../../src/mcp/redaction/secret-index.ts';

const redaction = new Redaction(new SecretIndex());

const run = (count: number, from = 'aB3dE6gH9j'): string => from.repeat(10).slice(0, count);
const begin = '-----BEGIN';
const pem = `${begin} RSA PRIVATE KEY-----\n${run(64)}\n${run(30)}==\n-----END RSA PRIVATE KEY-----`;
const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${run(43)}`;
const own = newTokenSecret();

/** A text, and what is left of it. */
const taken: Record<string, [string, string]> = {
  'an API token': [`use ${own} now`, 'use [redacted: api token] now'],
  'a refresh token': [`gwr_${run(32)}`, '[redacted: api token]'],
  'a GitHub token': [`fatal: ghp_${run(36)}!`, 'fatal: [redacted: token]!'],
  'a fine-grained GitHub token': [`github_pat_${run(22)}_${run(59)}`, '[redacted: token]'],
  'a GitLab token': [`glpat-${run(20)}`, '[redacted: token]'],
  'an npm token in .npmrc': [
    `//registry.npmjs.org/:_authToken=npm_${run(36)}`,
    '//registry.npmjs.org/:_authToken=[redacted: token]',
  ],
  'a Slack token': [`xoxb-1234567890-${run(24)}`, '[redacted: token]'],
  'a Slack hook': [
    `https://hooks.slack.com/services/T0000/B0000/${run(24)}`,
    'https://hooks.slack.com/services/[redacted: hook token]',
  ],
  'a Stripe key': [`sk_live_${run(24)}`, '[redacted: token]'],
  'a restricted Stripe key': [`rk_live_${run(24)}`, '[redacted: token]'],
  'an OpenAI key': [`key sk-proj-${run(48)}`, 'key [redacted: token]'],
  'an Anthropic key': [`sk-ant-api03-${run(60)}`, '[redacted: token]'],
  'an AWS key id': ['AKIAIOSFODNN7EXAMPLE', '[redacted: token]'],
  'an AWS secret': [
    `aws_secret_access_key = "${run(40)}"`,
    'aws_secret_access_key = "[redacted: secret]"',
  ],
  'a Google key': [`AIza${run(35)}`, '[redacted: token]'],
  'a JWT': [`got ${jwt}, thanks`, 'got [redacted: token], thanks'],
  'a JWT behind a colour': [`\u001b[32m${jwt}\u001b[0m`, '\u001b[32m[redacted: token]\u001b[0m'],
  'a private key': [`key:\n${pem}\nend`, 'key:\n[redacted: private key]\nend'],
  'a private key escaped as in JSON': [
    `{"key":"${pem.replaceAll('\n', '\\n')}\\n"}`,
    '{"key":"[redacted: private key]\\n"}',
  ],
  'a private key without its end': [
    `${begin} PRIVATE KEY-----\n${run(64)}\n${run(64)}\nthen prose`,
    '[redacted: private key]\nthen prose',
  ],
  'an age key': [`AGE-SECRET-KEY-1${run(58, 'QPZRY9X8GF')}`, '[redacted: private key]'],
  'a deploy hook': [
    `curl http://x:3000/api/apps/app_1/deploy-hook/${run(43)} -X POST`,
    'curl http://x:3000/api/apps/app_1/deploy-hook/[redacted: hook token] -X POST',
  ],
  'a git webhook': [
    `https://panel.example/api/git/webhook/${run(43)}`,
    'https://panel.example/api/git/webhook/[redacted: hook token]',
  ],
  'an invite link': [
    `https://panel.example/invite/${run(43)}`,
    'https://panel.example/invite/[redacted: link token]',
  ],
  'a bearer': ['Authorization: Bearer abcdef', 'Authorization: Bearer [redacted: authorization]'],
  'a bearer in a JSON log': [
    '{"authorization":"Bearer abc.def-123"}',
    '{"authorization":"Bearer [redacted: authorization]"}',
  ],
  'a bare bearer': [`-H 'bearer ${run(24)}'`, "-H 'bearer [redacted: authorization]'"],
  'basic credentials': [
    `proxy-authorization: basic ${Buffer.from('joe:hunter2').toString('base64')}`,
    'proxy-authorization: basic [redacted: authorization]',
  ],
  'bare basic credentials': [
    `sent Basic ${Buffer.from('joe:hunter2').toString('base64')} to`,
    'sent Basic [redacted: authorization] to',
  ],
  'a cookie': ['Cookie: a=b; sid=1234\nnext', 'Cookie: [redacted: cookie]\nnext'],
  'the cookie of a session': [
    'service.session_token=abcdefgh.xyz; Path=/',
    'service.session_token=[redacted: cookie]; Path=/',
  ],
  'a header of a token': [`X-Auth-Token: ${run(20)}`, 'X-Auth-Token: [redacted: token]'],
  'the password of a PostgreSQL address': [
    'postgres://shop:hunter2@db.internal:5432/shop?ssl=1',
    'postgres://shop:[redacted: password]@db.internal:5432/shop?ssl=1',
  ],
  'a password without a user': [
    'redis://:hunter2@localhost:6379',
    'redis://:[redacted: password]@localhost:6379',
  ],
  'a password in an address of many hosts': [
    'mongodb+srv://u:p%40ss@a.example,b.example/db',
    'mongodb+srv://u:[redacted: password]@a.example,b.example/db',
  ],
  'a password with an @': ['amqp://u:p@ss@host/v', 'amqp://u:[redacted: password]@host/v'],
  'a password with a slash': [
    'postgres://u:pa/ss@host:5432/db',
    'postgres://u:[redacted: password]@host:5432/db',
  ],
  'a password in an address with escaped slashes': [
    'mysql:\\/\\/u:hunter2@h:3306\\/db',
    'mysql:\\/\\/u:[redacted: password]@h:3306\\/db',
  ],
  'a token in the place of a user': [
    `https://${run(40)}@git.example/x.git`,
    'https://[redacted: password]@git.example/x.git',
  ],
  'a variable of a dump': [
    'export DB_PASSWORD=hunter2 X=1',
    'export DB_PASSWORD=[redacted: password] X=1',
  ],
  'a quoted variable of a dump': ['API_KEY="a b c"', 'API_KEY="[redacted: secret]"'],
  'a numbered variable': ['APP_SECRET_2=abcdef', 'APP_SECRET_2=[redacted: secret]'],
  'a Rails secret': ['SECRET_KEY_BASE=0a1b2c3d', 'SECRET_KEY_BASE=[redacted: secret]'],
  'a variable of a compose file': [
    'environment:\n      POSTGRES_PASSWORD: hunter2\n      POSTGRES_USER: shop\n',
    'environment:\n      POSTGRES_PASSWORD: [redacted: password]\n      POSTGRES_USER: shop\n',
  ],
  'a JSON key': ['{"clientSecret": "a \\"b\\" c"}', '{"clientSecret": "[redacted: secret]"}'],
  'a JSON key in a JSON string': [
    '{"m":"{\\"password\\":\\"hunter2\\",\\"a\\":1}"}',
    '{"m":"{\\"password\\":\\"[redacted: password]\\",\\"a\\":1}"}',
  ],
  'a property as Node prints it': [
    "{ user: 'joe', password: 'hunter2' }",
    "{ user: 'joe', password: '[redacted: password]' }",
  ],
  'a parameter of an address': [
    'GET /cb?access_token=abcdef&state=1',
    'GET /cb?access_token=[redacted: token]&state=1',
  ],
  'a signature of an address': [
    'https://b.s3.example/k?X-Amz-Signature=0a1b2c&x=1',
    'https://b.s3.example/k?X-Amz-Signature=[redacted: secret]&x=1',
  ],
  'a password of a connection string': [
    'host=db user=shop password=hunter2 dbname=shop',
    'host=db user=shop password=[redacted: password] dbname=shop',
  ],
};

const kept: Record<string, string> = {
  'a password that is masked': 'postgres://app:••••••••@127.0.0.1:5432/app and redis://:****@h/0',
  'a line of an access log':
    '127.0.0.1 - - [21/Nov/2026:09:00:00 +0000] "GET /api/tokens?page=2 HTTP/1.1" 200 512',
  'a stack trace':
    "TypeError: Cannot read properties of undefined (reading 'token')\n    at getToken (file:///app/src/token.ts:12:34)\n    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
  'an unexpected token': `SyntaxError: Unexpected token '<', "<!DOCTYPE "... is not valid JSON`,
  'code that reads a variable': 'const password = process.env.DB_PASSWORD;',
  'code that calls': 'password=getPassword()',
  'a reference': 'DB_PASSWORD=${DB_PASSWORD} API_KEY=$KEY TOKEN=<your token>',
  'flags of a name': 'REQUIRE_TOKEN=true USE_PASSWORD=false MAX_TOKENS=4096 TOKEN=',
  'names that only begin so': 'TOKEN_URL=https://id.example/oauth/token PASSWORD_FILE=/run/x',
  'the working directory': 'PWD=/app OLDPWD=/home/app',
  'keys that are no secret':
    'CACHE_KEY=users:1 "primaryKey":"id" "publicKey":"abc" {"key":"value"}',
  'a token of a list': '{"nextToken":"abc","nextPageToken":"def"}',
  counts: '{"total_tokens":123456,"prompt_tokens":1200}',
  'prose on passwords': 'The password: must have 10 characters; the token is missing or expired.',
  'a missing variable': 'Error: API_TOKEN: missing',
  'prose on bearers': 'WWW-Authenticate: Bearer realm="x", bearer authentication-required here',
  'prose on basics': 'Basic authentication is off; basic functionality works',
  'an address':
    'http://localhost:3080/a/b?x=1#y https://user@host.example/ ssh://git@host:22/x.git',
  'a port and an @': 'http://localhost:5173/@vite/client http://[::1]:3000/@fs/app',
  'a scoped package': 'https://registry.npmjs.org:443/@scope/name/-/name-1.0.0.tgz',
  'an address of mail': 'mail a:b@c.example or joe@example.com',
  'a UUID': 'id=0190c1a2-7b3c-7def-8123-456789abcdef',
  'a commit': 'HEAD is now at 0123456789abcdef0123456789abcdef01234567 Fix',
  'an image': `data:image/png;base64,iVBORw0KGgo${run(90)}`,
  'words that end in sk-': 'task-0190c1a27b3c7def8123456789ABCDEF disk-aB3dE6gH9jaB3dE6gH9jaB3',
  'words with dashes': 'sk-learn-is-a-very-long-name-of-a-package',
  'the shown part of a token': 'gwy_aB3d…',
  'a template of a route': 'POST /api/apps/:id/deploy-hook/:token POST /webhook/stripe',
  'a public key': `${begin} PUBLIC KEY-----\n${run(64)}\n-----END PUBLIC KEY-----`,
  'ids of ours': 'app_01jd0123456789abcdefghjkmn dpl_01jd0123456789abcdefghjkmn',
  'a cookie that is only named': 'Invalid cookie: expired. Cookies: none',
  'AKIA in a word': 'AKIAlice asiatic Akiabc',
};

describe('what is found by its shape or name', () => {
  for (const [what, [text, left]] of Object.entries(taken)) {
    it(`takes out ${what}`, () => {
      assert.equal(redaction.text(text), left);
      assert.equal(redaction.text(left), left);
    });
    it(`takes out ${what} in a JSON text`, () => {
      const json = redaction.json(JSON.stringify({ nodes: [{ text }] }));
      assert.deepEqual(JSON.parse(json), { nodes: [{ text: left }] });
      assert.equal(redaction.json(json), json);
    });
  }

  for (const [what, text] of Object.entries(kept)) {
    it(`leaves ${what}`, () => {
      assert.equal(redaction.text(text), text);
      const json = JSON.stringify({ nodes: [{ text }] });
      assert.equal(redaction.json(json), json);
    });
  }

  it('takes out the value under a key of a JSON text that names a secret', () => {
    const json = JSON.stringify({ a: { password: 'x\n"y"' }, token: null, secret: 'true' });
    assert.equal(
      redaction.json(json),
      '{"a":{"password":"[redacted: password]"},"token":null,"secret":"true"}',
    );
  });

  it('takes out headers that are members of a JSON text', () => {
    const json = JSON.stringify({ authorization: 'Bearer abc.def-123', 'Set-Cookie': 'sid=abc' });
    const left = redaction.json(json);
    for (const secret of ['abc.def-123', 'sid=abc']) assert.ok(!left.includes(secret), left);
  });

  it('takes out the lines of a private key that stand in strings of their own', () => {
    const lines = `before\n${pem}\nafter`.split('\n');
    const json = JSON.stringify({ nodes: lines.map((text) => ({ stream: 'stdout', text })) });
    const left = JSON.parse(redaction.json(json)) as { nodes: { text: string }[] };
    assert.deepEqual(
      left.nodes.map(({ text }) => text),
      ['before', ...Array<string>(3).fill('[redacted: private key]'), lines.at(-2), 'after'],
    );
  });

  const hostile: Record<string, string> = {
    'words that begin a token': 'eyJheyJhsk-ghp_',
    'tokens without an end': 'eyJh',
    'names of secrets': 'TOKEN=',
    'names and signs': 'password": ',
    'names and quotes': '"token":"',
    'escaped quotes': '\\"token\\":\\"',
    addresses: '://a:',
    'addresses and more': '://a:b@',
    'beginnings of keys': `${begin} PRIVATE KEY-----`,
    'beginnings and dashes': `${begin} PRIVATE KEY-----a-----`,
    cookies: 'cookie: ',
    headers: 'authorization: bearer ',
    hooks: 'webhook/deploy-hook/',
    marks: '[redacted: ',
    'marks of ours': '[redacted: token]',
    backslashes: '\\',
    blanks: ' \t',
    ats: '@',
    quotes: '"',
  };
  // Half a second each where the work is linear; hours where it is not.
  for (const [what, part] of Object.entries(hostile)) {
    it(`ends on a megabyte of ${what}`, { timeout: 30_000 }, () => {
      const text = part.repeat(Math.ceil(2 ** 20 / part.length));
      const once = redaction.text(text);
      assert.equal(redaction.text(once), once);
      const json = JSON.stringify({ text });
      JSON.parse(redaction.json(json));
      redaction.json(text);
    });
  }
});
