/** A walk over a page by the Tab key alone, as somebody without a mouse makes it. */
import type { Page } from 'playwright-core';

export interface Walk {
  /** Controls that Tab does not lead to, as markup. */
  missed: string[];
  /** Controls that do not show that they have the focus. */
  ringless: string[];
  /** What can be clicked, as its cursor says, and is no control. */
  mouseOnly: string[];
}

/** From the top of the page once around. Of a group with arrow keys, such as tabs, one control is enough. */
export async function walkByKeyboard(page: Page): Promise<Walk> {
  const count = await page.evaluate<number>(begin);
  // What has several stops, such as a field for a date, takes more than one step.
  for (let step = 0; step < count + 20; step++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate<boolean>(look)) break;
  }
  return await page.evaluate<Walk>(result);
}

const controls = `a[href], button, input, select, textarea, summary, [tabindex="0"]:not([role=tablist]), [contenteditable="true"]`;

const begin = `(() => {
  const shown = (one) => one.checkVisibility({ visibilityProperty: true }) && one.closest('[inert]') === null;
  const inGroup = (one) => one.getAttribute('tabindex') === '-1' || (one.type === 'radio' && !one.checked);
  const all = [...document.querySelectorAll('${controls}')];
  const wanted = all.filter((one) => shown(one) && !one.disabled && !inGroup(one));
  window.keyboardWalk = { wanted: new Set(wanted), ringless: [], first: null };
  document.activeElement?.blur?.();
  getSelection().collapse(document.body, 0);
  scrollTo(0, 0);
  return wanted.length;
})()`;

/** Notes where the focus is; whether it is around once. */
const look = `(() => {
  const { wanted, ringless } = keyboardWalk;
  const { activeElement: at } = document;
  if (at === null || at === document.body) return wanted.size === 0;
  if (at === keyboardWalk.first) return true;
  keyboardWalk.first ??= at;
  wanted.delete(at);
  const isDrawn = ({ outlineStyle, outlineWidth, boxShadow }) =>
    (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none';
  let shows = isDrawn(getComputedStyle(at)) || isDrawn(getComputedStyle(at, '::after'));
  for (let one = at.parentElement; one !== null && !shows; one = one.parentElement) {
    shows = one.matches(':focus-within') && isDrawn(getComputedStyle(one)) && one.contains(at) && one !== document.body;
  }
  if (!shows) ringless.push(at.outerHTML.slice(0, 200));
  return wanted.size === 0;
})()`;

const result = `(() => {
  const { wanted, ringless } = keyboardWalk;
  const pointed = [...document.querySelectorAll('main *')].filter((one) =>
    getComputedStyle(one).cursor === 'pointer' && one.checkVisibility() &&
    one.closest('a, button, label, summary, select, input, [tabindex], [role=option], [role=menuitem]') === null);
  return {
    missed: [...wanted].filter((one) => one.isConnected).map((one) => one.outerHTML.slice(0, 200)),
    ringless,
    mouseOnly: pointed.map((one) => one.outerHTML.slice(0, 200)),
  };
})()`;
