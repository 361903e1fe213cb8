"""Words for the training engine: creating, repairing and starting it."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.sentences.sentence import Entry, Facts, Sentence

_SAFE = "Nothing was charged. Your runs and models are untouched."
_NAMES = {"tpu-compiler": "TPU compiler", "tf-tpu-compiler": "TPU compiler for TensorFlow"}
_NAMES |= {"starter-weights": "folder of starter weights", "onnx-exporter": "ONNX exporter"}


def _needed(f: Facts) -> str:
    for name in ("needed_bytes", "need_bytes", "needed"):
        if isinstance(f.raw(name), (int, float)):
            return f"About {figures.size(float(f.raw(name)))} are needed. "
    return "About 3 GB are needed. "


_INSTALL = {
    "venv": "Python could not make a folder of its own for it",
    "damaged-file": "A package arrived damaged, so it was not used",
    "missing-file": "A package is not where it was looked for",
}

_ENGINE: dict[str, Entry] = {
    "engine-not-ready": Sentence(
        "The training engine is not ready",
        f"Training needs TensorFlow, JAX and Keras in a folder of their own. {_SAFE}",
        "Create or repair it; the app shows how far it is.",
    ),
    "engine-no-python": lambda f: Sentence(
        "No suitable Python was found on this computer",
        f"The training engine needs Python {f.text('versions', '3.11 to 3.13')}. {_SAFE}",
        "Install one of these (on Debian and Ubuntu: sudo apt install python3 python3-venv), then try again.",
    ),
    "engine-no-venv": lambda f: Sentence(
        "Python here lacks a part that the training engine needs",
        f"It cannot make environments (venv). {_SAFE}",
        f"Install it (on Debian and Ubuntu: sudo apt install {f.text('package', 'python3-venv')}), then try again.",
    ),
    "engine-no-wheels": lambda f: Sentence(
        "There is no training engine for this kind of computer",
        f"TensorFlow and JAX have no ready packages for {f.text('system', 'this system')} on {f.text('machine', 'this processor')}. {_SAFE}",
        "Train on another computer. Watching and opening runs works here.",
    ),
    "engine-no-disk": lambda f: Sentence(
        "There is not enough room on the disk for the training engine",
        f"{_needed(f)}{_SAFE}",
        "Free some space, or choose another folder in Settings.",
    ),
    "engine-offline": lambda f: Sentence(
        "The training engine could not be downloaded",
        f"The network does not answer. What has arrived is kept for the next try. {_SAFE}",
        "Check the connection and try again. Without a network, a folder with the packages will do:"
        " tpu-studio engine --install --wheels FOLDER.",
    ),
    "engine-busy": Sentence(
        "Another program is working on the training engine",
        f"Two at once would harm it. {_SAFE}",
        "Wait until it is done, then try again.",
    ),
    "engine-in-use": lambda f: Sentence(
        "The training engine is in use",
        f"{f.count('processes', 'run', 'runs')} would lose it. {_SAFE}"
        if isinstance(f.raw("processes"), int)
        else f"A run is training with it. {_SAFE}",
        "Wait until the runs are over, or stop them first.",
    ),
    "engine-folder-unwritable": lambda f: Sentence(
        f"{f.file('folder', 'The engine folder')} cannot be written",
        f"The system says: {f.text('raw', 'no reason')}. {_SAFE}",
        "Choose another folder in Settings, or make this one writable.",
    ),
    "engine-install-failed": lambda f: Sentence(
        "The training engine could not be created",
        f"{_INSTALL.get(f.text('problem'), 'Installing a package failed')}"
        f"{' (' + f.text('package') + ')' if f.raw('package') else ''}. {_SAFE}",
        "Try again; if it stays, the details help whoever looks into it.",
    ),
    "engine-self-test-failed": lambda f: Sentence(
        "The training engine does not work on this computer",
        f"Its own test failed{' in ' + f.text('part') if 'part' in f else ''}, so it was not taken into use. {_SAFE}",
        "Repair it; if it stays, the details help whoever looks into it.",
    ),
    "engine-cancelled": Sentence(
        "Creating the training engine was stopped",
        f"What was downloaded is kept for the next try. {_SAFE}",
        "Start it again when you like.",
    ),
    "tpu-compiler-not-ready": Sentence(
        "The TPU compiler is not ready",
        f"It checks a training for a TPU on this computer before anything is rented. {_SAFE}",
        "Install it with: tpu-studio engine --install --with tpu-compiler --accept-licence.",
    ),
    "tf-tpu-compiler-not-ready": Sentence(
        "The TPU compiler for TensorFlow is not ready",
        f"It checks a TensorFlow training for a TPU on this computer before anything is rented. {_SAFE}",
        "Install it with: tpu-studio engine --install --with tf-tpu-compiler --accept-licence.",
    ),
    "onnx-exporter-not-ready": Sentence(
        "The ONNX exporter is not ready",
        f"It writes a finished model in that format, and checks it beside Keras. {_SAFE}",
        "Install it with: tpu-studio engine --install --with onnx-exporter.",
    ),
    "tpu-compiler-licence": lambda f: Sentence(
        "The TPU compiler is Google's, and its licence has not been accepted",
        f"libtpu comes under the {f.text('licence', 'Google Cloud Platform Terms of Service')}. With all it needs it takes"
        f" {f.bytes('needed_bytes') if 'needed_bytes' in f else '1.4 GB'}. Nothing was downloaded. {_SAFE}",
        "Read them; to accept them and install it, add --accept-licence.",
    ),
    "place-not-available": lambda f: Sentence(
        f"“{f.text('place', 'This place')}” comes with a later version",
        f"This version trains on this computer. {_SAFE}",
        "Choose this computer.",
    ),
}


def _about(entry: Entry) -> Entry:
    """The same words for another environment, where the facts name one (``what``)."""

    def told(f: Facts) -> Sentence:
        said = entry if isinstance(entry, Sentence) else entry(f)
        name = _NAMES.get(f.text("what"))
        if name is None:
            return said
        return Sentence(*(words.replace("training engine", name) for words in (said.title, said.meaning, said.action)))

    return told


ERRORS: dict[str, Entry] = {id: _about(entry) for id, entry in _ENGINE.items()}
