/** Owns slugs: the DNS label of an app's address. */

const slugMax = 50;

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

/** The slug to try at the `attempt`-th time, from 1: `shop`, `shop-2`, `shop-3`, … */
export function slugAttempt(slug: string, attempt: number): string {
  if (attempt === 1) return slug;
  const tail = `-${String(attempt)}`;
  return slug.slice(0, slugMax - tail.length).replace(/-+$/, '') + tail;
}
