/**
 * Owns a strict reading of markup, for tests: every tag closed where it must be, every attribute quoted
 * and there once, no character that should have been escaped. XML's rules, which HTML in its XML
 * form keeps, too; what stands in <style> is text without `<`.
 */
export interface Tag {
  name: string;
  attributes: Readonly<Record<string, string>>;
}

const tagPattern = /^<(\/?)([a-zA-Z][\w-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/;
const reference = /&(?!(?:amp|lt|gt|quot|#39);)/;

/** Tags in order; throws where the markup is not well-formed. */
export function tagsOf(document: string): Tag[] {
  const open: string[] = [];
  const tags: Tag[] = [];
  let rest = document.replace(/^<!DOCTYPE html>/i, '');
  while (rest !== '') {
    const text = rest.slice(0, !rest.includes('<') ? rest.length : rest.indexOf('<'));
    checkText(text, open);
    rest = rest.slice(text.length);
    if (rest === '') break;
    const [whole, closing, name = '', list = '', empty] = tagPattern.exec(rest) ?? [];
    if (whole === undefined) throw new Error(`no tag: ${rest.slice(0, 80)}`);
    rest = rest.slice(whole.length);
    if (closing === '/') {
      const last = open.pop();
      if (last !== name) throw new Error(`</${name}> closes <${String(last)}>`);
      continue;
    }
    tags.push({ name, attributes: attributesOf(list) });
    if (empty !== '/') open.push(name);
  }
  if (open.length > 0) throw new Error(`left open: ${open.join(', ')}`);
  return tags;
}

function checkText(text: string, open: readonly string[]): void {
  if (open.at(-1) !== 'style' && reference.test(text)) throw new Error(`not escaped: ${text}`);
  if (open.length === 0 && text.trim() !== '') throw new Error(`text outside: ${text}`);
}

function attributesOf(list: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name = '', value = ''] of list.matchAll(/([\w:-]+)="([^"]*)"/g)) {
    if (name in attributes) throw new Error(`${name} stands twice in ${list}`);
    if (reference.test(value)) throw new Error(`not escaped: ${value}`);
    attributes[name] = value;
  }
  return attributes;
}
