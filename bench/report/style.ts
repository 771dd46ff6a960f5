/** Owns how the page looks: light and dark, wide and narrow, printed. */
export const style = `
:root { color-scheme: light dark; --page: #fff; --card: #f6f7f9; --text: #16202c; --soft: #55606e;
  --rule: #d5dae1; --ours: #0b62d6; --bare: #3d4753; --peer: #9aa5b1; --good: #12753f; --bad: #b3261e;
  --range: #f0a020; --second: #8a3ab9; --third: #b06000; --fourth: #0e7c86; --fifth: #a3165c; }
@media (prefers-color-scheme: dark) {
  :root { --page: #10151b; --card: #19212b; --text: #e6ebf1; --soft: #9facba; --rule: #2f3b48;
    --ours: #5ea5ff; --bare: #c3ccd6; --peer: #6d7987; --good: #55c98a; --bad: #ff8a80;
    --range: #ffc660; --second: #cf96f0; --third: #f0b060; --fourth: #5fd0da; --fifth: #ff8cc0; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0.5rem 0 0; font-size: 1.7rem; } h2 { margin: 3rem 0 0; font-size: 1.35rem; }
h3 { margin: 1.5rem 0 0.5rem; font-size: 1rem; } p { margin: 0.25rem 0 0.75rem; max-width: 48rem; }
.soft { color: var(--soft); } .met-word { color: var(--good); } .missed-word { color: var(--bad); }
.notice { padding: 0.6rem 0.9rem; border-left: 4px solid var(--range); background: var(--card); }
.failed { padding: 0.6rem 0.9rem; border-left: 4px solid var(--bad); background: var(--card);
  overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; margin: 1rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; padding: 0; list-style: none; }
a { color: var(--ours); }
.charts { display: grid; gap: 1rem; align-items: start; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); }
figure { margin: 0; padding: 0.8rem; background: var(--card); border-radius: 6px; break-inside: avoid; }
figcaption b, figcaption span { display: block; } figcaption span { color: var(--soft); font-size: 0.8rem; }
svg { display: block; width: 100%; max-width: 30rem; height: auto; margin-top: 0.5rem; overflow: visible; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); } svg .us { fill: var(--text); font-weight: 600; }
svg .small { font-size: 11px; }
svg tspan.us { fill: var(--text); font-weight: 600; }
svg .word.met { fill: var(--good); font-weight: 600; } svg .word.missed { fill: var(--bad); font-weight: 600; }
svg .end { text-anchor: end; } svg .middle { text-anchor: middle; }
.bar.ours { fill: var(--ours); } .bar.bare { fill: var(--bare); } .bar.peer { fill: var(--peer); }
.range { stroke: var(--range); stroke-width: 2; } .grid { stroke: var(--rule); stroke-width: 1; }
.track { fill: var(--rule); } .met { fill: var(--good); } .missed { fill: var(--bad); } .unjudged { fill: var(--peer); }
.goal { stroke: var(--text); stroke-width: 2; }
.line { fill: none; stroke-width: 2; } .line.ours { stroke: var(--ours); stroke-width: 3; }
.line.first { stroke: var(--bare); stroke-dasharray: 6 3; } .line.second { stroke: var(--second); stroke-dasharray: 2 3; }
.line.third { stroke: var(--third); stroke-dasharray: 9 3 2 3; } .line.fourth { stroke: var(--fourth); stroke-dasharray: 12 4; }
.line.fifth { stroke: var(--fifth); stroke-dasharray: 1 4; }
.mark.ours { fill: var(--ours); } .mark.first { fill: var(--bare); } .mark.second { fill: var(--second); }
.mark.third { fill: var(--third); } .mark.fourth { fill: var(--fourth); } .mark.fifth { fill: var(--fifth); }
.lead { font-size: 1.15rem; } pre { margin: 0.5rem 0; padding: 0.7rem 0.9rem; overflow-x: auto; background: var(--card);
  border-radius: 6px; font-size: 0.85rem; } details { margin: 0.75rem 0; } summary { cursor: pointer; }
.missing { margin: 0.25rem 0 1rem; padding-left: 1.2rem; } footer { margin: 3rem 0 1rem; }
.wide { overflow-x: auto; margin-top: 1rem; } table { border-collapse: collapse; font-size: 0.85rem; min-width: 40rem; width: 100%; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
td.figure, th.figure { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tbody th { font-weight: 400; } tr.group th { font-weight: 600; padding-top: 0.8rem; }
`;
