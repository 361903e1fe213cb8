"""Words for TensorFlow where a TPU is meant: why it does not train there, and that nobody has seen it there yet."""

from __future__ import annotations

from collections.abc import Callable

from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence

_USE_JAX = "Use JAX: model, data and saved copies stay the same."


def _needs_jax(f: Facts) -> Sentence:
    return _WHY.get(f.text("why", ""), _here)(f)


def _here(f: Facts) -> Sentence:
    """Of a plan that says no more."""
    return Sentence("This TPU is driven by JAX", f"TensorFlow does not train on it here. {NOTHING_CHARGED}", _USE_JAX)


def _notebook(f: Facts) -> Sentence:
    return Sentence(
        "On a TPU of Colab, TPU Studio trains with JAX",
        f"Colab no longer pre-installs TensorFlow for its TPUs (googlecolab/colabtools#5164, #5419). {NOTHING_CHARGED}",
        f"{_USE_JAX} On this computer TensorFlow trains.",
    )


def _generation(f: Facts) -> Sentence:
    said = f.text("said", "Google documents it for v2 to v5p.")
    return Sentence(
        f"TensorFlow does not train on {f.text('accelerator', 'this TPU')}",
        f"{said} {NOTHING_CHARGED}",
        f"{_USE_JAX} TensorFlow may go to v2, v3, v4, v5e or v5p.",
    )


def _machines(f: Facts) -> Sentence:
    return Sentence(
        "TensorFlow trains on a TPU of one machine",
        f"{f.text('accelerator', 'This TPU')} is several machines, and only JAX joins them here. {NOTHING_CHARGED}",
        f"{_USE_JAX} Or take a smaller TPU.",
    )


def _lender(f: Facts) -> Sentence:
    return Sentence(
        "On a TPU of Compute Engine, TPU Studio trains with JAX",
        f"TensorFlow's recipe is for machines of the Cloud TPU API. {NOTHING_CHARGED}",
        f"{_USE_JAX} Or leave where.backend away.",
    )


_WHY: dict[str, Callable[[Facts], Sentence]] = {
    "notebook": _notebook,
    "generation": _generation,
    "machines": _machines,
    "lender": _lender,
}

CHECKS: dict[str, Entry] = {
    "place-needs-jax": _needs_jax,
    "tensorflow-by-recipe": Sentence(
        "TensorFlow on a TPU: by Google's recipe, not yet seen on a TPU",
        "The chips are started and shared as TensorFlow documents it. The same code was tested on processors; TPU Studio "
        "has not seen it on a chip. Where they do not open, the run ends before its first step, and the machine's minutes "
        "until then are charged.",
        "Use JAX, which leads on TPUs: model, data and saved copies stay the same.",
    ),
}
