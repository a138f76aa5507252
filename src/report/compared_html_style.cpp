// compared_html_style.cpp: how the page of a comparison looks: on a desk, on a phone, in the dark and on paper.
#include "report/compared_html_parts.h"

namespace ordinal::report::page {

std::string style() {
  return R"css(
:root {
  color-scheme: light dark;
  --paper: #fdfdfc; --raised: #f5f5f2; --ink: #1c2128; --quiet: #5a626c; --rule: #dfe1e0; --accent: #0b5cad;
  --good: #0c6b4a; --good-back: #e0f2ea; --kin: #0a5f78; --kin-back: #def0f5; --same: #2450a8; --same-back: #e4ebfa;
  --care: #85500a; --care-back: #faeed7; --none: #5a626c; --none-back: #eaebec; --mark: #ffe08a; --native: #eef4fb;
  --tint-1: #fdf3e3; --tint-2: #fce7c8; --tint-3: #fbd9ab; --tint-4: #facb8f; --tint-5: #f9bc74; --tint-6: #f7ac59;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171c; --raised: #1c2027; --ink: #e3e6ea; --quiet: #a0a8b2; --rule: #303640; --accent: #7ab6ff;
    --good: #74d9ae; --good-back: #143126; --kin: #76cfe6; --kin-back: #122f38; --same: #9dbcff; --same-back: #1c294a;
    --care: #efbe6f; --care-back: #382a10; --none: #a0a8b2; --none-back: #292e36; --mark: #6b5200; --native: #1a2431;
    --tint-1: #231f1b; --tint-2: #352818; --tint-3: #473015; --tint-4: #5a3812; --tint-5: #6d3f0d; --tint-6: #7f4607;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0 auto; max-width: 75rem; padding: 0 clamp(1rem, 4vw, 2.5rem) 4rem; background: var(--paper);
  color: var(--ink); overflow-wrap: break-word;
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
a { color: var(--accent); text-underline-offset: .18em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; border-radius: 3px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100vw; top: .5rem; padding: .5rem 1rem; background: var(--paper); z-index: 1; }
.skip:focus { left: .5rem; }
h1, h2, h3, p, ul, ol, dl, dd, figure { margin: 0; }
header { padding: clamp(1.25rem, 3vw, 2.5rem) 0 0; }
.eyebrow { color: var(--quiet); font-size: .875rem; letter-spacing: .04em; }
h1 { max-width: 44ch; margin: .25rem 0 1rem; font-size: clamp(1.375rem, 2.8vw, 2rem); font-weight: 650;
  line-height: 1.25; letter-spacing: -.014em; text-wrap: balance; overflow-wrap: anywhere; }
.lead { color: var(--quiet); }
.headlines { display: grid; gap: .9rem; max-width: 46rem; padding: 0; list-style: none; }
.headlines li { padding-left: 1.1rem; border-left: 3px solid var(--accent); font-size: clamp(1rem, 1.6vw, 1.125rem);
  overflow-wrap: anywhere;
  line-height: 1.4; text-wrap: pretty; }
.findings { display: grid; gap: .5rem; max-width: 46rem; padding-left: 1.1rem; overflow-wrap: anywhere; }
nav { margin-top: clamp(2rem, 4vw, 3rem); padding: .9rem 0; border-block: 1px solid var(--rule); font-size: .9375rem; }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.35rem; padding: 0; list-style: none; }
nav a { display: inline-block; padding: .15rem 0; text-decoration: none; }
nav a:hover { text-decoration: underline; }
section { padding-top: clamp(2.5rem, 5vw, 4rem); }
#where { padding-top: 1.25rem; }
#summary { padding-top: 1rem; }
#where > h2, .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
h2 { margin-bottom: 1.25rem; font-size: clamp(1.5rem, 3vw, 1.875rem); font-weight: 620; line-height: 1.2;
  letter-spacing: -.012em; }
h3 { margin: 1.75rem 0 .75rem; font-size: 1.0625rem; font-weight: 620; line-height: 1.4; }
p, figcaption, dd { max-width: 44rem; text-wrap: pretty; }
.nothing, .note, .unit, figcaption, footer { color: var(--quiet); }
.note, .unit { font-size: .875rem; font-weight: 400; }
.spec, code { font-family: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, monospace; font-size: .92em;
  overflow-wrap: break-word; }
.scheme { display: inline-flex; align-items: center; gap: .5em; }
.marker { flex: none; width: .95em; height: .95em; fill: currentColor; }
.badge { display: inline-block; padding: .08em .6em; border-radius: 1em; font-size: .8125rem; font-weight: 550;
  line-height: 1.5; white-space: nowrap; }
.trained { color: var(--good); background: var(--good-back); }
.jointly { color: var(--kin); background: var(--kin-back); }
.exact { color: var(--same); background: var(--same-back); }
.extrapolating { color: var(--care); background: none; box-shadow: inset 0 0 0 1px var(--care); }
.untrained { color: var(--care); background: var(--care-back); }
.badge.refused { color: var(--none); background: var(--none-back); }

.ranked { width: 100%; max-width: 46rem; margin-bottom: 1.5rem; }
.ranked caption { padding-top: .5rem; color: var(--ink); font-weight: 620; }
.meaning { margin-top: 1.75rem; padding: clamp(1.1rem, 3vw, 1.75rem); background: var(--raised); border-radius: 12px; }
.meaning dl { display: grid; gap: .7rem; }
.meaning dl div { display: grid; grid-template-columns: 6.5rem 1fr; gap: .25rem 1rem; }
.warning { margin-top: 1.1rem; padding-top: 1.1rem; border-top: 1px solid var(--rule); }
.schemes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1.5rem 2.25rem;
  padding: 0; list-style: none; }
.schemes p { margin-top: .35rem; font-size: .9375rem; line-height: 1.5; }
.schemes .remark { color: var(--quiet); }

.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: .9375rem; line-height: 1.35; font-variant-numeric: tabular-nums; }
.summary { min-width: 100%; }
caption { padding: 0 0 .75rem; color: var(--quiet); text-align: left; }
caption > span { position: sticky; left: 0; display: inline-block; max-width: min(44rem, 100vw - 2rem); }
th, td { padding: .5rem .75rem; border-bottom: 1px solid var(--rule); text-align: right; vertical-align: baseline;
  white-space: nowrap; }
th { font-weight: 550; }
thead th { border-bottom-color: var(--quiet); font-size: .875rem; vertical-align: bottom; }
thead .unit { display: block; font-size: .78rem; }
thead th[scope=colgroup] { text-align: center; border-bottom-color: var(--rule); }
.left, th[scope=row], .group th { text-align: left; }
th[scope=row], thead tr:first-child th:first-child { position: sticky; left: 0; padding-left: .25rem; background: var(--paper); }
th[scope=row] { max-width: 17rem; font-weight: 400; white-space: normal; }
.group th { padding: 1.4rem .25rem .5rem; font-size: .9375rem; font-weight: 620; }
.group th > span { position: sticky; left: .25rem; display: inline-block; max-width: calc(100vw - 3rem); white-space: normal; }
.group .unit { margin-left: .5rem; }
.native, .native th[scope=row] { background: var(--native); }
.interval { display: block; color: var(--quiet); font-size: .8125rem; }
td.reason { min-width: 16rem; color: var(--quiet); white-space: normal; }

.drawing { margin-bottom: 1.5rem; }
#where .drawing { margin-bottom: 0; }
#where .oc-band { fill-opacity: .1; }
.narrow-only { display: none; }
.panels { display: grid; gap: .75rem 1.75rem; }
.columns-2 { grid-template-columns: repeat(auto-fill, minmax(min(100%, 27rem), 1fr)); }
.columns-3 { grid-template-columns: repeat(auto-fill, minmax(min(100%, 20rem), 1fr)); }
.panel { min-width: 0; max-width: calc(var(--width, 600px) * 1.15); }
.panel > svg { display: block; overflow: visible; width: calc(100% + 2 * var(--inset, 0%)); height: auto; margin: 0 calc(-1 * var(--inset, 0%)); }
.panel .scroll > svg { display: block; width: 100%; height: auto; }
.wide .panels { display: flex; gap: .5rem; width: max-content; }
.wide .panel { flex: none; width: var(--width); }
.wide .panel > svg { width: 100%; margin: 0; }
.wide .columns-2 { flex-wrap: wrap; width: auto; }
figcaption { margin-top: .75rem; font-size: .9375rem; line-height: 1.5; }
.pictures { gap: 2.25rem 1.75rem; }
.pictures figure { max-width: none; }
.pictures h3 { margin-top: 0; }
details { margin-top: 1.25rem; border-top: 1px solid var(--rule); }
summary { padding: .7rem 0; color: var(--accent); cursor: pointer; font-weight: 550; }
details[open] > summary { margin-bottom: .5rem; }

.continuation:first-of-type { margin-top: 1.25rem; }
.continuation { padding: 1.1rem 0; border-top: 1px solid var(--rule); }
.continuation h3 { margin: 0 0 .5rem; }
.story { max-width: 44rem; white-space: pre-wrap; overflow-wrap: anywhere; }
p.story { font: 1.0625rem/1.65 ui-serif, "Iowan Old Style", Charter, Georgia, "Times New Roman", serif; }
.prompt { font-style: italic; }
.tints .prompt { color: var(--quiet); }
.tints [class^=tint-] { border-radius: 2px; }
.tint-1 { background: var(--tint-1); } .tint-2 { background: var(--tint-2); } .tint-3 { background: var(--tint-3); }
.tint-4 { background: var(--tint-4); } .tint-5 { background: var(--tint-5); } .tint-6 { background: var(--tint-6); }
.edge { margin: 0 .35em; padding: 0 .45em; border-left: 2px dashed var(--accent); color: var(--accent);
  font: .75rem/1 system-ui, sans-serif; white-space: nowrap; }
.shared { color: var(--quiet); }
.line-end { color: var(--quiet); opacity: .6; }
mark { padding: .05em .1em; border-radius: 3px; background: var(--mark); color: inherit; }
.settings { display: grid; gap: .6rem; }
.settings div { display: grid; grid-template-columns: 11rem 1fr; gap: 0 1.25rem; }
.settings dt { color: var(--quiet); }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; padding: .9rem 1.1rem; background: var(--raised); border-radius: 8px; line-height: 1.5; }
footer { margin-top: 4rem; padding-top: 1rem; border-top: 1px solid var(--rule); font-size: .875rem; }

@media (min-width: 100rem) { body { max-width: 88rem; } }
@media (max-width: 40rem) {
  .wide-only { display: none; }
  .narrow-only { display: block; }
  .meaning dl div, .settings div { grid-template-columns: 1fr; }
  th, td { padding: .5rem .5rem; }
  th[scope=row] { max-width: 9.25rem; }
  th .scheme { min-width: 8.5rem; }
  th .spec { font-size: .8rem; overflow-wrap: anywhere; }
  .ranked, .ranked tbody, .ranked caption { display: block; }
  .ranked thead { position: absolute; clip-path: inset(50%); height: 1px; width: 1px; overflow: hidden; }
  .ranked tr { display: grid; grid-template-columns: 1fr auto; gap: .15rem .75rem; margin-bottom: .6rem; padding: .7rem .85rem;
    border: 1px solid var(--rule); border-radius: 10px; background: var(--raised); }
  .ranked th, .ranked td { padding: 0; border: 0; text-align: left; white-space: normal; background: none; }
  .ranked th { position: static; grid-column: 1; max-width: none; font-weight: 620; }
  .ranked th .spec { font-size: .95rem; }
  .ranked td.left { grid-column: 2; grid-row: 1; text-align: right; }
  .ranked td.ppl, .ranked td.delta { grid-row: 2; }
  .ranked td.delta { grid-column: 2; text-align: right; }
  .ranked td[data-label]:not(.left)::before { content: attr(data-label) " "; color: var(--quiet); font-size: .8125rem; }
}
@media print {
  :root { --paper: #fff; --raised: #fff; }
  @page { margin: 14mm; }
  html { font-size: 9pt; }
  body { max-width: none; padding: 0; }
  nav, .skip { display: none; }
  header { padding-top: 0; }
  section { padding-top: 2.25rem; }
  details::details-content { content-visibility: visible; block-size: auto; opacity: 1; }
  summary { list-style: none; }
  .scroll { overflow: visible; }
  table { font-size: .85rem; }
  th, td { padding: .25rem .35rem; }
  th[scope=row] { max-width: 14rem; position: static; }
  .group th { padding-top: .8rem; }
  .badge, .delta .interval, thead th, thead .unit { font-size: .75rem; }
  .panels, .wide .panels { display: grid; width: auto; gap: .5rem 1.25rem; }
  .columns-2 { grid-template-columns: repeat(2, 1fr); }
  .columns-3 { grid-template-columns: repeat(3, 1fr); }
  .columns-4 { grid-template-columns: repeat(4, 1fr); }
  .wide .panel { width: auto; }
  h2, h3, summary { break-after: avoid; }
  .narrow-only { display: none; }
  .wide-only { display: block; }
  [class^=tint-] { print-color-adjust: exact; }
  .panel, tr, .continuation { break-inside: avoid; }
  .badge, mark, .meaning { border: 1px solid var(--rule); print-color-adjust: exact; }
}
)css";
}

}  // namespace ordinal::report::page
