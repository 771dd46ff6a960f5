/**
 * Uploads files, all at once, and prints the seconds it took till the last was answered, and the
 * answers, as JSON. Argument: `Uploads`. It may do so again and again: a program that is started anew
 * for each upload would burn more of a core than it leaves to what is measured beside it.
 */
import { createReadStream, statSync } from 'node:fs';
import { request } from 'node:http';
import { standBack } from './promptness.ts';

export interface Uploads {
  /** It only makes work, beside which something else is measured. */
  beside?: boolean;
  /** All of it again, as long as it has not taken so many seconds; default: once. */
  forSeconds?: number;
  uploads: Upload[];
}

export interface Upload {
  url: string;
  method: 'POST' | 'PUT';
  headers: Record<string, string>;
  file: string;
}

export interface UploadResult {
  seconds: number;
  /** Of the same index, time after time. */
  answers: { status: number; body: string }[];
}

const { uploads, beside = false, forSeconds = 0 } = JSON.parse(process.argv[2] ?? '{}') as Uploads;
if (beside) standBack();
const startMs = performance.now();
const answers: UploadResult['answers'] = [];
let seconds: number;
do {
  answers.push(...(await Promise.all(uploads.map(send))));
  seconds = (performance.now() - startMs) / 1000;
} while (seconds < forSeconds);
console.log(JSON.stringify({ seconds, answers } satisfies UploadResult));

async function send({ url, method, headers, file }: Upload): Promise<UploadResult['answers'][0]> {
  const length = String(statSync(file).size);
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { ...headers, 'content-length': length } });
    sent.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (body += chunk));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body });
      });
    });
    sent.on('error', reject);
    createReadStream(file, { highWaterMark: 1 << 20 }).pipe(sent);
  });
}
