"""How the page looks, on a screen and on paper; fonts are those the reader's machine has."""

__all__ = ["STYLE"]

STYLE = """
:root { --ink: #1f2933; --soft: #5a6672; --line: #d9dee4; --yes: #1b6e3c; --no: #b3261e; --partly: #8a5a00; }
* { box-sizing: border-box; }
html { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
body { margin: 0; color: var(--ink); background: #fff; font: 16px/1.55 Arial, Helvetica, sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 1.5rem 1.5rem 4rem; }
.private { margin: 0; padding: .6rem 1.5rem; text-align: center; color: #5f4400; background: #fff3d0;
  border-bottom: 1px solid #ecd58f; font-size: .95rem; }
h1 { margin: .6rem 0 1.2rem; font-size: 1.9rem; line-height: 1.2; }
h1 .guarantee { display: block; margin-top: .3rem; color: var(--soft); font-size: 1.1rem; font-weight: normal;
  overflow-wrap: anywhere; }
h2 { margin: 2.6rem 0 .7rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); font-size: 1.25rem;
  break-after: avoid; overflow-wrap: anywhere; }
p { margin: .6rem 0; overflow-wrap: anywhere; }
.note, figcaption { color: var(--soft); font-size: .9rem; }
.verdict { display: grid; grid-template-columns: auto 1fr; gap: .1rem 1.4rem; align-items: center;
  padding: 1rem 1.4rem; border: 1px solid; border-left-width: 8px; border-radius: 6px; break-inside: avoid; }
.verdict.yes { border-color: var(--yes); background: #f0f8f2; }
.verdict.no { border-color: var(--no); background: #fdf1f0; }
.verdict.partly { border-color: var(--partly); background: #fff9ea; }
.verdict .question { grid-column: 1 / -1; color: var(--soft); font-size: .95rem; }
.verdict p { margin: .2rem 0; font-size: 1.1rem; }
.badge { padding: .25rem 1.1rem; border-radius: 6px; color: #fff; font-size: 1.6rem; font-weight: bold; }
.yes .badge { background: var(--yes); }
.no .badge { background: var(--no); }
.partly .badge { background: var(--partly); max-width: 9.5rem; font-size: 1.25rem; text-align: center; }
.figures { display: grid; grid-template-columns: repeat(3, 1fr); gap: .8rem; margin: 1.2rem 0 0; }
.figures div { display: flex; flex-direction: column-reverse; justify-content: flex-end; padding: .7rem .9rem;
  border: 1px solid var(--line); border-radius: 6px; break-inside: avoid; }
.figures dt { color: var(--soft); font-size: .8rem; line-height: 1.3; }
.figures dd { margin: 0; font-size: 1.35rem; font-weight: bold; font-variant-numeric: tabular-nums; }
ul { margin: .5rem 0 .9rem; padding-left: 1.3rem; }
li { margin: .3rem 0; overflow-wrap: anywhere; }
.promises li { font-size: 1.05rem; }
.problems { color: var(--no); font-weight: bold; }
table { width: 100%; margin: .8rem 0; border-collapse: collapse; font-size: .95rem; }
th, td { padding: .42rem .9rem .42rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: normal; font-size: .85rem; }
tr { break-inside: avoid; }
td { overflow-wrap: anywhere; }
th, td:first-child { white-space: nowrap; }
.wide th, .wide td:first-child { white-space: normal; }
.wide th { vertical-align: bottom; }
.wide td { overflow-wrap: break-word; }
.wide .number { padding-right: .9rem; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; padding-right: 1.6rem; }
figure { margin: 1.2rem 0; break-inside: avoid; }
figure svg { display: block; max-width: 100%; height: auto; overflow: visible; }
figcaption { margin-top: .4rem; max-width: 46rem; }
.unsaid { margin-top: 2.6rem; padding: .2rem 1.4rem .6rem; border-radius: 6px; background: #f4f6f8; }
.unsaid h2 { margin-top: 1rem; }
@media (max-width: 44rem) { .figures { grid-template-columns: repeat(2, 1fr); } }
@media print { body { font-size: 10pt; } main { max-width: none; padding: 0; } h2 { margin-top: 1.8rem; }
  @page { margin: 15mm; } }
"""
