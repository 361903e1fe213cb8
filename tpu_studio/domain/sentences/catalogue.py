"""Words for what the catalogue does not have, and for a described workload that cannot be read."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence

_KEYS = {
    "generation": "the TPU generation",
    "chips": "the number of chips",
    "family": "the family of the model",
    "params": "the number of weights",
    "flops_per_unit_train": "the work of one unit",
    "precision": "the number format",
    "unit": "what is counted",
    "sequence_length": "the length of a sequence",
    "image_size": "the side of a picture",
    "global_batch": "the batch",
    "framework": "the training program",
}


_EXAMPLE = "Write what you know of generation, chips, family, params and global_batch, as docs/estimate.md shows."


def _key(f: Facts) -> str:
    name = f.text("key")
    return f"{_KEYS.get(name, 'a value')} ({name})" if name else "a value"


def _number(f: Facts) -> Sentence:
    whole = "a whole number" if f.raw("whole") else "a number"
    return Sentence(
        f"{_key(f)} cannot be {f.text('value', 'that')}",
        f"It must be {whole} from {f.text('least', 'the least')} to {f.text('most', 'the most')}. {NOTHING_CHARGED}",
        "Correct it, or leave it out: what is left out is taken for unknown.",
    )


ERRORS: dict[str, Entry] = {
    "catalogue-cancelled": lambda f: Sentence(
        "Not asked: you cancelled",
        f"What was known of it before still counts. {NOTHING_CHARGED}",
        "Refresh the catalogue again when you like.",
    ),
    "generation-unknown": lambda f: Sentence(
        f"There is no TPU generation called “{f.text('generation', 'that')}”",
        NOTHING_CHARGED,
        f"Choose one of {f.text('known', 'the generations in the list')}.",
    ),
    "slice-unknown": lambda f: Sentence(
        f"There is no slice called “{f.text('accelerator', 'that')}”",
        f"TPU chips are lent in fixed groups. {NOTHING_CHARGED}",
        f"Did you mean {f.text('nearest', 'one of the list')}? There are {f.text('known', 'several sizes')}.",
    ),
    "workload-file-missing": lambda f: Sentence(
        f"{f.file()} is not there", NOTHING_CHARGED, "Check the name and the folder."
    ),
    "workload-file-unreadable": lambda f: Sentence(
        f"{f.file()} could not be read",
        f"It may be a folder, or not yours to read. {NOTHING_CHARGED}",
        "Give a file that you can open.",
    ),
    "workload-file-too-large": lambda f: Sentence(
        f"{f.file()} is too large to describe a workload",
        f"A workload is a dozen lines; this is more than {f.bytes('most', 'a megabyte')}. {NOTHING_CHARGED}",
        "Give the file that describes the workload.",
    ),
    "workload-file-broken": lambda f: Sentence(
        f"{f.file()} is {'empty' if f.raw('empty') else 'not a JSON file'}",
        NOTHING_CHARGED,
        _EXAMPLE,
    ),
    "workload-not-an-object": lambda f: Sentence(
        "A workload is one JSON object with names and values",
        f"What was given is something else. {NOTHING_CHARGED}",
        _EXAMPLE,
    ),
    "workload-number": _number,
    "workload-word": lambda f: Sentence(
        f"{_key(f)} must be a word in quotation marks, not {f.text('value', 'that')}",
        NOTHING_CHARGED,
        "Correct it, or leave it out: what is left out is taken for unknown.",
    ),
}

NOTICES: dict[str, Entry] = {
    "workload-values-absent": lambda f: Sentence(
        f"Not told: {f.text('keys', 'some values')}", "Usual values stand in, and the ranges are wider.", ""
    ),
    "workload-keys-ignored": lambda f: Sentence(
        f"Not used: {f.text('keys', 'some names')}", "A workload has no such values.", ""
    ),
    "workload-value-unknown": lambda f: Sentence(
        f"Unknown and left open: {f.text('key', 'a value')} “{f.text('value', 'as given')}”",
        "A usual value stands in, and the range is wider.",
        "",
    ),
    "workload-generation-unknown": lambda f: Sentence(
        f"There is no TPU generation “{f.text('value', 'as given')}” to plan for",
        f"The range spans all of {f.text('known', 'the known ones')}.",
        "",
    ),
    "workload-generation-absent": lambda f: Sentence(
        "“generation” is not told: which TPU it is for",
        f"The range spans all of {f.text('known', 'the known ones')}; name one of them.",
        "",
    ),
    "workload-chips-assumed": lambda f: Sentence(
        f"The number of chips is not told; {f.text('chips', 'the fewest')} assumed",
        "The rate grows about as the number of chips does.",
        "",
    ),
    "workload-not-a-slice": lambda f: Sentence(
        f"{f.text('chips', 'That many')} chips of {f.text('generation', 'this generation')} make no slice",
        f"It is lent as {f.text('sizes', 'fixed groups')}. The figure shows what so many chips would do.",
        "",
    ),
    "workload-size-assumed": lambda f: Sentence(
        f"The size of the model is not told; {f.text('params', 'a usual number of')} weights assumed",
        "The rate is good for the order of magnitude only.",
        "",
    ),
    "workload-unit-assumed": lambda f: Sentence(
        "What one unit is was not told", "The rate counts examples of an unknown kind.", ""
    ),
    "workload-precision-not-faster": lambda f: Sentence(
        f"{f.text('generation', 'This chip')} computes {f.text('precision', 'this format')} no faster than bfloat16",
        "The figure counts on no gain from it.",
        "",
    ),
}
