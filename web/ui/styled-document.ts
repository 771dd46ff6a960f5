/**
 * Owns a document for libraries that style what they make by `<style>` elements and `style` attributes, which the
 * policy of the page forbids: both go by the object model instead, where it holds nothing against them.
 */

type CreateElement = (this: Document, name: string) => HTMLElement;
const createElement: CreateElement = Reflect.get(Document.prototype, 'createElement');

/** By the document itself, whatever stands in its place meanwhile. */
function newElement(name: string): HTMLElement {
  return createElement.call(document, name);
}

/** Rules of a style element become a sheet of the document, as long as the element is somewhere in it. */
class SheetElement {
  readonly element = newElement('span');
  readonly #sheet = new CSSStyleSheet();

  constructor() {
    const { element } = this;
    const sheet = this.#sheet;
    element.hidden = true;
    Object.defineProperty(element, 'textContent', {
      set: (rules: string) => sheet.replaceSync(rules),
    });
    const remove = element.remove.bind(element);
    element.remove = () => {
      remove();
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
    };
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
}

function created(name: string): HTMLElement {
  if (name === 'style') return new SheetElement().element;
  const element = newElement(name);
  if (name !== 'span') return element;
  const set = element.setAttribute.bind(element);
  element.setAttribute = (attribute, value) => {
    if (attribute === 'style') element.style.cssText = value;
    else set(attribute, value);
  };
  return element;
}

export function styledDocument(): Document {
  return new Proxy(document, {
    get(target, name) {
      if (name === 'createElement') return created;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value;
    },
  });
}

/** Runs what takes the document itself for such a one. */
export function withStyledDocument(run: () => void): void {
  Reflect.set(document, 'createElement', created);
  try {
    run();
  } finally {
    // What stands in the prototype is there again.
    Reflect.deleteProperty(document, 'createElement');
  }
}
