"""``models``: the models that come with TPU Studio, what each learns from, its options, and what it can begin from."""

from __future__ import annotations

import textwrap
from dataclasses import asdict

from tpu_studio.cli import hub as fetching
from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.wire import hub, presets, starters
from tpu_studio.wire.families import ModelSpec
from tpu_studio.wire.models import MODELS, begins_others
from tpu_studio.wire.pretrained.known import all_known


def models(arguments: Arguments, output: Output) -> int:
    if (exit_code := fetching.of_hub(arguments, output)) is not None:
        return exit_code
    chosen = [model for model in MODELS if arguments.kind in (None, *model.takes)]
    if arguments.kind:
        output.answer({"models": list(map(as_json, chosen))}, "\n\n".join(map(_words, chosen)))
        return 0
    fetched, known = hub.entries(), all_known()
    answer = {
        "models": list(map(as_json, chosen)),
        "hub": list(map(fetching.as_json, fetched)),
        "known": list(map(fetching.known_as_json, known)),
    }
    text = [*map(_words, chosen), fetching.known_words(known), *map(fetching.words, fetched)]
    output.answer(answer, "\n\n".join(text))
    return 0


def as_json(model: ModelSpec) -> dict[str, object]:
    return {
        "name": model.name,
        "title": model.title,
        "family": model.family,
        "help": model.help,
        "takes": list(model.takes),
        "tasks": list(model.tasks),
        "options": [asdict(option) for option in model.options],
        "starter": _starter(model),
        "begins_from": _networks(model) if model.from_folder else [],
        "measured": [asdict(one) for one in model.measured],
        "begins_from_runs": begins_others(model.name),
    }


def _starter(model: ModelSpec) -> dict[str, object] | None:
    one = model.starter
    if one is None:
        return None
    return {
        "preset": starters.PREFIX + model.name,
        "installed": not one.problem(),
        "problem": one.problem(),
        "size_bytes": one.size_bytes,
        "learned_from": one.learned_from,
        "licence": one.licence,
        "owner": one.owner,
        "upstream": one.upstream,
    }


def _networks(model: ModelSpec) -> list[str]:
    """What KerasHub, or Hugging Face, calls the networks, a folder of which `model.preset` may name."""
    return [name for name, network in presets.NETWORKS.items() if network.reads in model.examples]


def _words(model: ModelSpec) -> str:
    lines = [f"{model.name}: {model.title}", *textwrap.wrap(model.help, 100)]
    lines.append(f"Learns from {', '.join(model.takes)}; options: {', '.join(one.name for one in model.options)}.")
    if model.starter is not None:
        begin = "installed" if not model.starter.problem() else "tpu-studio engine --install --with starter-weights"
        lines.append(f"Begins from {model.starter.learned_from}, {model.starter.licence} ({begin}).")
    lines += [f"Measured on unseen examples: {one.words}." for one in model.measured]
    if model.from_folder:
        lines.append(f"Begins from a folder, named by model.preset: {', '.join(_networks(model))}.")
    if begins_others(model.name):
        lines.append("Begins from a run of yours, named by model.preset: run:ID.")
    return "\n    ".join(lines)
