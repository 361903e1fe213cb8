"""Words for models of the Hugging Face Hub by their names, and for whatever goes wrong in asking the Hub."""

from __future__ import annotations

from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence

_KEPT = f"What has arrived is kept for the next try. {NOTHING_CHARGED}"
_BY_HAND = "Or download the folder by a browser, and name it under Pretrained weights (model.preset)."
_DATA_BY_HAND = "Or download its files by a browser, and choose their folder."

CHECKS: dict[str, Entry] = {
    "preset-too-large": lambda f: Sentence(
        f"The model {_preset(f)} has {f.bytes('size')} of weights, and at most {f.bytes('most')} are read",
        f"In this version no more comes to a machine. {NOTHING_CHARGED}",
        "Choose a smaller one of the same kind.",
    ),
    "preset-not-looked-up": lambda f: Sentence(
        f"The model {_preset(f)} was not looked up on Hugging Face yet",
        f"{_from_here(f)} {NOTHING_CHARGED}",
        f"Press Look up, or: tpu-studio models --look-up {_preset(f)}.",
    ),
    "preset-not-downloaded": lambda f: Sentence(
        f"The weights of {_preset(f)} are not downloaded yet: {f.bytes('size', 'some')}",
        f"{_licence(f)} All else of this plan is as it will be. {NOTHING_CHARGED}",
        f"Press Download, or: tpu-studio models --download {_preset(f)}.",
    ),
}

ERRORS: dict[str, Entry] = {
    **CHECKS,
    "hub-name": lambda f: Sentence(
        f"“{f.text('value', 'This')}” is no name of a model on Hugging Face",
        f"It was not asked for. {NOTHING_CHARGED}",
        "Write hf: and the owner and the name as the model's page has them at its top, as in hf:Qwen/Qwen2.5-0.5B.",
    ),
    "hub-not-looked-up": lambda f: Sentence(
        f"The model {_preset(f)} was not looked up yet",
        NOTHING_CHARGED,
        f"First: tpu-studio models --look-up {_preset(f)}.",
    ),
    "hub-not-found": lambda f: Sentence(
        f"Hugging Face has no {_kind(f)} {_name(f)}, or shows it to nobody without a token",
        f"{'Your token does not show it either. ' if f.raw('token') else ''}{NOTHING_CHARGED}",
        f"Look for a typing error. If it is a private {_kind(f)} of yours, give an access token that may read it.",
    ),
    "hub-gated": lambda f: Sentence(
        f"The {_kind(f)} {_name(f)} wants to be asked before it is given",
        f"{_asked(f)} {NOTHING_CHARGED}",
        f"Sign in on {f.text('page', 'its page')}, read and accept its terms there, make an access token that may read "
        "(Settings, Access Tokens) and give it here; with the command line, in the environment variable HF_TOKEN.",
    ),
    "hub-token-refused": lambda f: Sentence(
        "Hugging Face does not take this access token",
        f"It may have ended, or may not read {_name(f)}. {NOTHING_CHARGED}",
        f"Make a new one that may read (huggingface.co, Settings, Access Tokens). A public {_kind(f)} wants none.",
    ),
    "hub-no-model": lambda f: Sentence(
        f"The model {_name(f)} has no {f.text('lacking', 'weights that are read')}",
        f"{_what_it_has(f)} {NOTHING_CHARGED}",
        "Choose a language model that has config.json, tokenizer.json and its weights as safetensors: most have.",
    ),
    "hub-unreachable": lambda f: Sentence(
        "Hugging Face does not answer",
        f"{f.text('host', 'huggingface.co')} was not reached, or broke off. {_KEPT}",
        f"Look at the network, and try again. {_by_hand(f)}",
    ),
    "hub-refused": lambda f: Sentence(
        f"Hugging Face answers otherwise than it should about {_name(f)}",
        f"{f.text('raw', 'It did not say why.')} {_KEPT}",
        f"Try again later. {_by_hand(f)}",
    ),
    "hub-too-often": lambda f: Sentence(
        "Hugging Face was asked too often from here",
        _KEPT,
        "Wait five minutes and try again; who gives an access token may ask more often.",
    ),
    "hub-differs": lambda f: Sentence(
        f"{f.text('file', 'A file')} of {_name(f)} arrived otherwise than Hugging Face lists it",
        f"It was thrown away, and what was there before is as it was. {NOTHING_CHARGED}",
        "Try again. If it happens twice, something on the way changes what you download.",
    ),
    "hub-not-https": lambda f: Sentence(
        f"HF_ENDPOINT is {f.text('address', 'no address')}, which is not asked",
        f"Others could read and change what comes from there. {NOTHING_CHARGED}",
        "Leave HF_ENDPOINT out, or name an address that begins with https://.",
    ),
    "hub-no-disk": lambda f: Sentence(
        "There is not enough room on the disk for what is to be fetched",
        f"They need {f.bytes('needed_bytes')}, and {f.bytes('free_bytes', 'less')} are free. {_KEPT}",
        "Free some space, or choose something smaller.",
    ),
    "hub-folder": lambda f: Sentence(
        f"The folder {f.text('folder', 'of what was fetched')} cannot be written",
        " ".join(one for one in (f.text("raw"), _KEPT) if one),
        "Let this folder be yours to write, and try again.",
    ),
    "hub-busy": lambda f: Sentence(
        f"Another window or command is fetching {_name(f)}",
        f"Two at once would harm it. {NOTHING_CHARGED}",
        "Wait until it is done, then try again.",
    ),
    "hub-cancelled": lambda f: Sentence(
        "Fetching from Hugging Face was stopped", _KEPT, "Start it again when you like."
    ),
}


def _kind(f: Facts) -> str:
    return "data set" if f.raw("data") else "model"


def _by_hand(f: Facts) -> str:
    return _DATA_BY_HAND if f.raw("data") else _BY_HAND


def _name(f: Facts) -> str:
    return f.text("name", "OWNER/NAME")


def _preset(f: Facts) -> str:
    return f.text("preset", "hf:OWNER/NAME")


def _from_here(f: Facts) -> str:
    if "size" in f:
        return (
            "This plan is made by what is publicly known of it. Its own description and tokenizer, a few MB, come first, and "
            f"before it starts its weights, {f.bytes('size')}."
        )
    return "Its description and its tokenizer, a few MB, are enough for memory, time and price."


def _licence(f: Facts) -> str:
    licence = f.text("licence")
    return (
        f"Its card states the licence “{licence}”; whether it lets you do what you plan is for you to read."
        if licence
        else ("Its card states no licence: whether you may do what you plan is not known here.")
    )


def _asked(f: Facts) -> str:
    if f.raw("token"):
        return "Your account was not given access yet: its terms are not accepted, or its owner has to agree first."
    return "Its owner wants an account that has accepted its terms."


def _what_it_has(f: Facts) -> str:
    if f.raw("pickled"):
        return "Its weights are in files that can run code when they are opened (pickles), or of another program, so they are not read."
    return "It may be of another kind, or for another program."
