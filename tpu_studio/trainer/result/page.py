"""The frame of the report: HTML and CSS with the window's colour tokens. Braces are doubled for ``str.format``."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title} – TPU Studio report</title>
<style>
:root {{
  --window: #f5f6f8; --card: #fff; --border: #e1e4ea; --text: #15181e; --text-2: #4a5160; --text-3: #626a79;
  --neutral-tint: #edeff3; --ok: #12754a; --ok-tint: #e4f4ec; --warn: #8f5200; --warn-tint: #fdf1dd; --accent: #3457d5;
  --s1: #3457d5; --s2: #b65306; --s3: #0f8265; --s4: #8e44ad;
}}
@media (prefers-color-scheme: dark) {{ :root {{
  --window: #0e1014; --card: #181b21; --border: #282d36; --text: #edeff3; --text-2: #b4bbc8; --text-3: #929baa;
  --neutral-tint: #262b34; --ok: #5fd39b; --ok-tint: #14301f; --warn: #f0b454; --warn-tint: #33260d; --accent: #8ea6ff;
  --s1: #8ea6ff; --s2: #f2994a; --s3: #4cc9a4; --s4: #c792ea;
}} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--window); color: var(--text);
  font: 14px/1.5 Inter, system-ui, -apple-system, "Segoe UI", sans-serif;
  font-variant-numeric: tabular-nums; }}
main {{ max-width: 1200px; margin: 0 auto; padding: 32px; }}
h1 {{ font-size: 24px; font-weight: 600; margin: 0; letter-spacing: -.01em; overflow-wrap: anywhere; }}
h2 {{ font-size: 15px; font-weight: 600; margin: 0; }}
header {{ display: flex; gap: 12px; align-items: center; flex-wrap: wrap; }}
.pill {{ font-size: 12px; font-weight: 500; border-radius: 12px; padding: 3px 10px;
  background: var(--neutral-tint); color: var(--text-2); }}
.pill.ok {{ background: var(--ok-tint); color: var(--ok); }}
.when {{ color: var(--text-3); font-size: 12px; margin-left: auto; }}
.lead {{ color: var(--text-2); margin: 6px 0 20px; max-width: 75ch; }}
.numbers {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 14px;
  margin-bottom: 14px; }}
.number, figure, section {{ background: var(--card); border: 1px solid var(--border); border-radius: 12px;
  padding: 16px 20px; margin: 0; }}
.number span {{ display: block; color: var(--text-2); font-size: 13px; font-weight: 500; }}
.number strong {{ display: block; font-size: 30px; font-weight: 600; letter-spacing: -.02em; line-height: 1.35; }}
.number .more {{ color: var(--text-3); font-size: 12px; font-weight: 400; min-height: 18px; }}
.curves {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr)); gap: 14px;
  margin-bottom: 14px; }}
figcaption {{ display: flex; gap: 16px; align-items: baseline;
  justify-content: space-between; flex-wrap: wrap; margin-bottom: 8px; }}
.legend {{ display: flex; gap: 16px; font-size: 12px; color: var(--text-2); flex-wrap: wrap; }}
.legend i {{ display: inline-block; width: 10px; height: 10px; border-radius: 3px; margin-right: 6px; }}
.legend b {{ color: var(--text); font-weight: 600; }}
svg {{ display: block; width: 100%; height: auto; }}
svg text {{ fill: var(--text-3); font-size: 11.5px; }}
svg .grid {{ stroke: var(--border); stroke-width: 1; }}
svg path {{ fill: none; stroke-linejoin: round; }}
svg .raw {{ stroke-width: 1; opacity: .3; }}
svg .line {{ stroke-width: 2; }}
section {{ margin-bottom: 14px; overflow-x: auto; }}
section h2 {{ margin-bottom: 8px; }}
.two {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(min(440px, 100%), 1fr)); gap: 14px;
  align-items: start; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; vertical-align: top; padding: 7px 16px 7px 0;
  border-top: 1px solid var(--border); font-weight: 400;
  overflow-wrap: anywhere; }}
tr:first-child > * {{ border-top: 0; }}
th {{ color: var(--text-2); width: 240px; }}
th small {{ color: var(--text-3); font-size: 12px; display: block; }}
td:nth-child(3) {{ color: var(--text-2); width: 55%; }}
ul {{ list-style: none; margin: 0; padding: 0; }}
li {{ padding: 6px 0; border-top: 1px solid var(--border); color: var(--text-2); overflow-wrap: anywhere; }}
li:first-child {{ border-top: 0; }}
li.warning, li.error {{ color: var(--warn); }}
time {{ color: var(--text-3); font-size: 12px; margin-right: 8px; white-space: nowrap; }}
code {{ font: 13px/1.5 "JetBrains Mono", ui-monospace, Menlo, Consolas, monospace; }}
footer {{ color: var(--text-3); font-size: 12px; margin-top: 20px; }}
@media print {{ main {{ padding: 0; }} .number, figure, section {{ break-inside: avoid; }} }}
</style>
</head>
<body>
<main>
<header><h1>{title}</h1><span class="pill {tone}">{pill}</span><span class="when">{when}</span></header>
<p class="lead">{lead}</p>
<div class="numbers">{numbers}</div>
<div class="curves">{curves}</div>
{labels}<div class="two">
<section><h2>What was trained</h2><table>{about}</table></section>
<section><h2>What happened</h2><ul>{happened}</ul></section>
</div>
<section><h2>Settings</h2><table>{settings}</table></section>
<section><h2>How to use the model</h2><table>{use}</table></section>
<footer>Made by {app}. Everything on this page is in the file itself.</footer>
</main>
</body>
</html>
"""
