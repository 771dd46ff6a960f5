/** Owns text that goes into the page: whatever is put into a template is escaped, markup is not. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = Markup | string | number | readonly Content[];

/** markup`<p>${anything}</p>` */
export function markup(parts: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  const text = parts.map((part, i) => part + (i < contents.length ? textOf(contents[i]) : ''));
  return new Markup(text.join(''));
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escaped(text: string): string {
  // Control characters are in no document, not even by number.
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"']/g, (character) => escapes[character] ?? character);
}

function textOf(content: Content | undefined): string {
  if (content === undefined) return '';
  if (content instanceof Markup) return content.text;
  if (typeof content === 'object') return content.map(textOf).join('');
  return escaped(String(content));
}
