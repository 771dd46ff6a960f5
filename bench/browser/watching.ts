/** What watches a page from inside, from before its first script on: `watching` of its window. */

/** As text: it runs in the page, by the debugger, which the policy of the page does not bind. */
export const watching = `window.watching = (() => {
  const tasks = [];
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'longtask', buffered: true });
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const idle = () => new Promise((resolve) => requestIdleCallback(resolve, { timeout: 5_000 }));
  const there = (selector) => new Promise((resolve) => {
    const look = () => {
      if (document.querySelector(selector) === null) return;
      seen.disconnect();
      resolve();
    };
    const seen = new MutationObserver(look);
    seen.observe(document, { childList: true, subtree: true });
    look();
  });
  return {
    usable: async (selector) => {
      await there(selector);
      // Behind the frame that it is painted in.
      await frame();
      await frame();
      await idle();
      return performance.now();
    },
    /** Forgets the tasks so far. */
    begin: () => void tasks.splice(0),
    /** The longest task since, in ms; none is told below 50. */
    longestTask: () => Math.max(0, ...tasks),
    /** Scrolls down and up again for so long, a step each frame: how long each frame took, in ms. */
    scroll: async (ms, step) => {
      const took = [];
      const limit = document.documentElement.scrollHeight - innerHeight;
      let last = await frame();
      for (let at = 0, way = 1; took.reduce((sum, one) => sum + one, 0) < ms; ) {
        at += way * step;
        if (at >= limit || at <= 0) way = -way;
        scrollTo(0, at);
        const now = await frame();
        took.push(now - last);
        last = now;
      }
      return took;
    },
  };
})();`;
