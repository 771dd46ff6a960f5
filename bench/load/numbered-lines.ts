/**
 * Owns the lines that apps of the bench print: numbered, and due at a time that stands in them, so that
 * whoever reads them can tell what is lost, what came twice, and how long each was on its way.
 *
 *     <number> <due, milliseconds since the epoch> xxxx…
 *
 * A line that is printed late is late: its latency counts from when it was due.
 */

export interface Lines {
  first: number;
  last: number;
  /** When each was due. */
  dueMs: readonly number[];
}

const framesKept = 2_000;

/** The source of an app that prints `perSecond` lines of `bytes` on a schedule, and answers HTTP. */
export function printer({ perSecond, bytes }: { perSecond: number; bytes: number }): string {
  return `
require('node:http').createServer((q, r) => r.end('ok')).listen(process.env.PORT);
const startMs = Date.now();
let printed = 0;
function print() {
  let text = '';
  for (;;) {
    const dueMs = startMs + Math.round((printed * 1000) / ${perSecond});
    if (dueMs > Date.now()) break;
    printed += 1;
    text += (printed + ' ' + dueMs + ' ').padEnd(${bytes - 1}, 'x') + '\\n';
  }
  if (text !== '') process.stdout.write(text);
  setTimeout(print, Math.max(1, startMs + (printed * 1000) / ${perSecond} - Date.now()));
}
print();
`;
}

/** The same as a Perl script, for many apps: an interpreter of a few megabytes each. */
export function smallPrinter({ perSecond, bytes }: { perSecond: number; bytes: number }): string {
  return `
use strict; use IO::Socket::INET; use IO::Select; use Time::HiRes qw(time);
$| = 1;
my $server = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ENV{PORT}, Listen => 16, ReuseAddr => 1) or die;
my $select = IO::Select->new($server);
my $start = int(time() * 1000);
my $printed = 0;
while (1) {
  my $due = $start + int($printed * 1000 / ${perSecond});
  my $wait = $due / 1000 - time();
  if ($wait <= 0) {
    $printed++;
    my $line = "$printed $due ";
    print $line, 'x' x (${bytes - 1} - length $line), "\\n";
    next;
  }
  for ($select->can_read($wait)) { my $client = $server->accept; close $client if $client; }
}
`;
}

/** Reads the lines in frames; many clients get the same frame, which is read once. */
export class LineReader {
  readonly #known = new Map<string, { frame: Buffer; lines: Lines }>();

  /** The lines of an event \`data\` with this id. Throws where a number is missing or comes twice. */
  read(id: string, frame: Buffer): Lines {
    const key = `${id} ${frame.length}`;
    const known = this.#known.get(key);
    if (known?.frame.equals(frame) === true) return known.lines;
    const lines = parse(frame);
    this.#known.set(key, { frame: Buffer.from(frame), lines });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= framesKept) break;
      this.#known.delete(oldest);
    }
    return lines;
  }
}

function parse(frame: Buffer): Lines {
  const text = JSON.parse(frame.toString('utf8', frame.lastIndexOf('\ndata: ') + 7)) as string;
  const dueMs: number[] = [];
  let first = 0;
  let last = 0;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [number = Number.NaN, due = Number.NaN] = line.split(' ', 2).map(Number);
    if (!(number > 0) || !(due > 0)) throw new Error(`no line of ours: ${line.slice(0, 60)}`);
    if (first === 0) first = number;
    else if (number !== last + 1) throw new Error(`line ${number} came behind line ${last}`);
    last = number;
    dueMs.push(due);
  }
  if (first === 0) throw new Error('a frame without a line');
  return { first, last, dueMs };
}
