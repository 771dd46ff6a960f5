/** Owns what is made of an answer of a bucket that is a refusal. */
import { ServiceError } from '../../../lib/errors.ts';

const passingStatuses: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const passingCodes: ReadonlySet<string | null> = new Set([
  'InternalError',
  'OperationAborted',
  'RequestTimeout',
  'SlowDown',
  'ServiceUnavailable',
]);

const sentences: Readonly<Partial<Record<string, string>>> = {
  AuthorizationHeaderMalformed: 'The bucket refuses the signature: check region.',
  InvalidAccessKeyId: 'The bucket does not know the access key.',
  NoSuchBucket: 'There is no such bucket at this endpoint.',
  RequestTimeTooSkewed: 'The bucket refuses the signature: the clocks of the two machines differ.',
  SignatureDoesNotMatch: 'The bucket refuses the signature: check secretKey and region.',
};

export class BucketRefusal extends Error {
  override name = 'BucketRefusal';
  readonly status: number;
  readonly code: string | null;

  constructor(status: number, code: string | null) {
    super(`The bucket answered ${String(status)} ${code ?? ''}`.trim());
    this.status = status;
    this.code = code;
  }

  get mayPass(): boolean {
    return passingStatuses.has(this.status) || passingCodes.has(this.code);
  }

  /** Whether there is no such object; a bucket that is missing is another matter. */
  get isGone(): boolean {
    return this.status === 404 && this.code !== 'NoSuchBucket';
  }

  told(): ServiceError {
    if (this.isGone) {
      const detail = 'The backup is not in the bucket any more.';
      return new ServiceError('ARTIFACT_GONE', detail, { cause: this });
    }
    return new ServiceError('DESTINATION_FAILED', this.#sentence(), { cause: this });
  }

  #sentence(): string {
    const { status, code } = this;
    const shown = code === null ? String(status) : `${String(status)} ${code}`;
    const known = code === null ? undefined : sentences[code];
    if (known !== undefined) return `${known} (${shown})`;
    if (status === 401 || status === 403) {
      return `The bucket denies access: check the rights of the access key. (${shown})`;
    }
    if (status >= 300 && status < 400) {
      return `The bucket is elsewhere, and redirects are not followed: check endpoint and region. (${shown})`;
    }
    return `The bucket answered with an error. (${shown})`;
  }
}

/** The code of S3 in an answer that is an error, else null. */
export function codeIn(text: string): string | null {
  const at = text.indexOf('<Error>');
  return at === -1 ? null : fieldIn(text.slice(at), 'Code', /^[A-Za-z0-9]{1,64}$/);
}

/** The text of an element, where it is as it may be; null else. */
export function fieldIn(text: string, name: string, allowed: RegExp): string | null {
  const start = text.indexOf(`<${name}>`);
  if (start === -1) return null;
  const from = start + name.length + 2;
  const end = text.indexOf(`</${name}>`, from);
  if (end === -1) return null;
  const value = plain(text.slice(from, end));
  return allowed.test(value) ? value : null;
}

const entities: Readonly<Partial<Record<string, string>>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#34': '"',
  '#39': "'",
};

function plain(text: string): string {
  return text.replace(/&(#?[a-z0-9]{1,5});/g, (whole, name: string) => entities[name] ?? whole);
}
