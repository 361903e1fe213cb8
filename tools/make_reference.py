"""Writes docs/job-file.md, the reference of the job file, from the one schema (``wire.schema``, ``wire.models``).

python tools/make_reference.py            write it
python tools/make_reference.py --check    exit 1 when it is not what the schema says (a test does this)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpu_studio.wire.families import ModelSpec  # noqa: E402
from tpu_studio.wire.keys import AUTO, Key  # noqa: E402
from tpu_studio.wire.models import MODELS  # noqa: E402
from tpu_studio.wire.schema import KEYS, TABLES  # noqa: E402

PAGE = ROOT / "docs" / "job-file.md"

HEAD = """# The job file

*Made by `tools/make_reference.py` from the program's own schema; do not edit by hand.*

A job says what to train. It is a text file, `name.tpujob` ([TOML](https://toml.io)), that you can read, write and
share. Only the model and the data must be given; everything else has a default, and `"auto"` (written or left out)
means that TPU Studio chooses and says why: on the Plan page, and under `reasons` in the run's `plan.json`.

```toml
format = 1
name = "sign-digits"

[model]
name = "small-cnn"

[data]
kind = "images"
path = "../samples/sign-digits"    # as seen from this file

[training]
epochs = 40
```

* Relative paths are relative to the file.
* A key that is not in these tables is an error, and the nearest known one is named with its line.
* `epochs` and `steps` exclude each other, as do `name` and `file` of the model.
* Comments survive when TPU Studio saves the file.
* On the command line every key can be set for once: `tpu-studio run digits.tpujob --set training.epochs=3`.
"""

_TITLES = {
    "": "At the top",
    "model": "`[model]`: what is trained",
    "data": "`[data]`: what it learns from",
    "training": "`[training]`: how it learns",
    "limits": "`[limits]`: when it stops, whatever happens",
    "where": "`[where]`: where it runs",
}


def page() -> str:
    lines = [HEAD]
    for table in ("", *TABLES):
        lines += [f"## {_TITLES[table]}", "", "| key | value | default | what it is |", "| --- | --- | --- | --- |"]
        lines += [_row(key) for key in KEYS if key.table == table]
        lines.append("")
    lines += ["## Models and their options", ""]
    for model in MODELS:
        lines += [*_model(model), ""]
    return "\n".join(lines).rstrip() + "\n"


def _row(key: Key) -> str:
    told = f"{key.title}. {key.help}" if key.help else f"{key.title}."
    return f"| `{key.name}` | {_kind(key)} | {_default(key)} | {told} |"


def _kind(key: Key) -> str:
    match key.kind:
        case "choice":
            kinds = ", ".join(f"`{choice}`" for choice in (*(("auto",) if key.auto else ()), *key.choices))
        case "integer":
            kinds = "whole number"
        case "boolean":
            kinds = "`true` or `false`"
        case "list":
            kinds = "list of texts"
        case _:
            kinds = key.kind
    bounds = _bounds(key)
    unit = f" ({key.unit})" if key.unit and key.kind in ("integer", "number") else ""
    auto = " or `auto`" if key.auto and key.kind != "choice" else ""
    return f"{kinds}{f' {bounds}' if bounds else ''}{unit}{auto}"


def _bounds(key: Key) -> str:
    if key.minimum is None and key.maximum is None:
        return ""
    low = "" if key.minimum is None else f"above {key.minimum:,g}" if key.above else f"from {key.minimum:,g}"
    return " ".join(part for part in (low, "" if key.maximum is None else f"to {key.maximum:,.10g}") if part)


def _default(key: Key) -> str:
    if key.default in (None, ""):
        return "–"
    if key.default in ({}, []):
        return "none"
    value = "true" if key.default is True else "false" if key.default is False else str(key.default)
    return f"`{value}`" if key.default == AUTO or key.kind in ("choice", "text") else value


def _model(model: ModelSpec) -> Iterator[str]:
    yield f"### `{model.name}`: {model.title}"
    yield ""
    takes = ", ".join(model.takes)
    at_once = f" Sees {model.sequence_length:,} tokens at once." if model.sequence_length else ""
    yield f"{model.help} Takes {takes}.{at_once}"
    yield ""
    yield "| option | default | range | what it is |"
    yield "| --- | --- | --- | --- |"
    for option in model.options:
        yield f"| `{option.name}` | {option.default} | {option.minimum:,g} to {option.maximum:,g} | {option.help} |"


def main(arguments: list[str]) -> int:
    made = page()
    if "--check" in arguments:
        current = PAGE.read_text("utf-8") if PAGE.exists() else ""
        if current != made:
            print("docs/job-file.md is not what the schema says: python tools/make_reference.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(made, "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
