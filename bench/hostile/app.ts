/**
 * Owns what a hostile app is made of: a server that begins its attack when it is asked for `/begin`, so that
 * it is deployed like any other before.
 */

/**
 * Of an app: `begin` does the harm, and `answer` answers what else is asked, with 'here' where there is
 * none. `run` starts a program, again whenever it has ended where it is told to.
 */
const server = `
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');

function run(program, args, { again = false, stdio = 'inherit' } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio });
    child.once('spawn', resolve).once('error', reject);
    if (again) child.once('exit', () => setTimeout(run, 20, program, args, { again, stdio }));
  });
}

function times(count, work) {
  return Promise.all(Array.from({ length: count }, (_, i) => work(i)));
}

function serve(begin, answer = (request, response) => response.end('here')) {
  require('node:http').createServer((request, response) => {
    if (request.url !== '/begin') return answer(request, response);
    Promise.resolve(begin()).then(
      () => response.end('begun'),
      (error) => response.writeHead(500).end(String(error)),
    );
  }).listen(process.env.PORT);
}
`;

/** The files of an app that runs `script`, which ends with a call of \`serve\`. */
export function hostileFiles(
  script: string,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { ...more, Procfile: 'web: node app.js\n', 'app.js': `${server}${script}` };
}

export const quietAnswer = 'A page of somebody who does no harm.';

/** At `/fresh` it ends the connection, so that the edge opens another one for the next. */
export const quietFiles = {
  Procfile: 'web: node app.js\n',
  'app.js': `require('node:http').createServer((request, response) => {
    if (request.url === '/fresh') response.setHeader('connection', 'close');
    response.end(${JSON.stringify(quietAnswer)});
  }).listen(process.env.PORT);`,
};
