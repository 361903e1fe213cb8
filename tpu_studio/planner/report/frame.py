"""The frame of the plan's page: HTML, and CSS with the window's colour tokens, which the page of a run shares."""

STYLE = """:root {
  --window: #f5f6f8; --card: #fff; --border: #e1e4ea; --text: #15181e; --text-2: #4a5160; --text-3: #626a79;
  --tint: #edeff3; --ok: #12754a; --warn: #8f5200; --bad: #b3261e; --accent: #3457d5; --accent-tint: #e8edfc;
}
@media (prefers-color-scheme: dark) { :root {
  --window: #0e1014; --card: #181b21; --border: #282d36; --text: #edeff3; --text-2: #b4bbc8; --text-3: #929baa;
  --tint: #262b34; --ok: #5fd39b; --warn: #f0b454; --bad: #ff8a80; --accent: #8ea6ff; --accent-tint: #1d2540;
} }
* { box-sizing: border-box; }
body { margin: 0; background: var(--window); color: var(--text);
  font: 14px/1.5 Inter, system-ui, -apple-system, "Segoe UI", sans-serif; font-variant-numeric: tabular-nums; }
main { max-width: 1040px; margin: 0 auto; padding: 32px; }
h1 { font-size: 24px; font-weight: 600; margin: 0; letter-spacing: -.01em; overflow-wrap: anywhere; }
h2 { font-size: 15px; font-weight: 600; margin: 0 0 8px; }
.lead { color: var(--text-2); margin: 6px 0 20px; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 14px; }
.number, section { background: var(--card); border: 1px solid var(--border); border-radius: 12px;
  padding: 16px 20px; }
.number span { display: block; color: var(--text-2); font-weight: 500; }
.number strong { display: block; font-size: 24px; font-weight: 600; letter-spacing: -.02em; }
.number em { color: var(--text-3); font-size: 12px; font-style: normal; }
section { margin-top: 14px; overflow-x: auto; }
.verdict { background: var(--accent-tint); border-color: var(--accent); }
.verdict strong { display: block; font-size: 17px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 7px 16px 7px 0; border-top: 1px solid var(--border);
  font-weight: 400; overflow-wrap: break-word; }
tr:first-child > * { border-top: 0; }
th { color: var(--text-2); }
td.n { white-space: nowrap; }
th { min-width: 8em; }
tr.planned td { font-weight: 600; }
tr.beaten td { color: var(--text-3); }
ul { list-style: none; margin: 0; padding: 0; }
li { padding: 8px 0; border-top: 1px solid var(--border); overflow-wrap: anywhere; }
li:first-child { border-top: 0; }
li b { font-weight: 600; }
li p { margin: 2px 0 0; color: var(--text-2); }
li.error b { color: var(--bad); }
li.warning b { color: var(--warn); }
code { font: 12px/1.5 "JetBrains Mono", ui-monospace, Menlo, Consolas, monospace; background: var(--tint);
  border-radius: 4px; padding: 1px 5px; overflow-wrap: anywhere; }
.more { color: var(--text-3); font-size: 12px; margin: 8px 0 0; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--text-3); font-size: 11.5px; }
svg text.name { fill: var(--text); font-weight: 500; }
svg .grid { stroke: var(--border); }
svg .axis { stroke: var(--text-3); }
svg .front { fill: none; stroke: var(--accent); stroke-width: 1.5; stroke-dasharray: 4 4; }
svg .other { fill: var(--text-3); opacity: .55; }
svg .best { fill: var(--accent); }
svg .planned { fill: var(--card); stroke: var(--accent); stroke-width: 3; }
footer { color: var(--text-3); font-size: 12px; margin-top: 20px; }
@page { margin: 14mm; }
@media print {
  body { background: none; font-size: 11px; }
  main { padding: 0; max-width: none; }
  .numbers { grid-template-columns: repeat(4, 1fr); gap: 8px; }
  .number { padding: 8px 12px; }
  .number strong { font-size: 17px; }
  section { padding: 10px 14px; margin-top: 8px; overflow: visible; }
  h2 { break-after: avoid; }
  .number, .verdict, .plot, tr, li { break-inside: avoid; }
  th, td { padding: 3px 12px 3px 0; }
}
"""

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title} – plan</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p class="lead">{lead}</p>
<div class="numbers">{numbers}</div>
<section class="verdict"><h2>Is a TPU worth it?</h2><strong>{answer}</strong>{why}</section>
{plot}
{ways}
{advice}
{checks}
<section><h2>What will be run</h2><table>{run}</table></section>
<section><h2>Settings and why</h2><table>{settings}</table></section>
<footer>{made}. Nothing was rented for this page. Everything on it is in the file itself.</footer>
</main>
</body>
</html>
"""
