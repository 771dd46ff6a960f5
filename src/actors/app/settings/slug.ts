/** Owns slugs: the DNS label of an app's address. */
import { createHash } from 'node:crypto';

const slugMax = 50;
/** RFC 1035. */
export const labelMax = 63;
const hashChars = 6;

/** A label of `[a-z0-9-]` from any name: at most 50 characters, no hyphen at an end or doubled. */
export function slugOf(name: string): string {
  const ascii = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[ßẞ]/g, 'ss')
    .replace(/[æÆ]/g, 'ae')
    .replace(/[øØ]/g, 'o')
    .replace(/[łŁ]/g, 'l')
    .replace(/[đĐðÐ]/g, 'd')
    .toLowerCase();
  const label = ascii.replace(/[^a-z0-9]+/g, '-').slice(0, slugMax);
  return label.replace(/^-+|-+$/g, '') || 'app';
}

/** `<branch>-<app>`. A branch for which the label has no room is cut, and told apart by its hash. */
export function previewSlugOf(branch: string, appSlug: string): string {
  const slug = slugOf(branch);
  const room = labelMax - appSlug.length - 1;
  const isWhole = slug.length <= room && Buffer.byteLength(branch) <= slugMax;
  if (isWhole) return `${slug}-${appSlug}`;
  const hash = createHash('sha256').update(branch).digest('hex').slice(0, hashChars);
  const cut = slug.slice(0, room - hashChars - 1).replace(/-+$/, '');
  return `${cut}-${hash}-${appSlug}`;
}

/** The slug to try at the `attempt`-th time, from 1: `shop`, `shop-2`, `shop-3`, … */
export function slugAttempt(slug: string, attempt: number, max = slugMax): string {
  if (attempt === 1) return slug;
  const tail = `-${String(attempt)}`;
  return slug.slice(0, max - tail.length).replace(/-+$/, '') + tail;
}
