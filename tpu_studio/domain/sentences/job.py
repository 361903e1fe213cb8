"""Words for job files, settings and the checks of a plan."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence
from tpu_studio.wire import places, starters
from tpu_studio.wire.numerals import spelled
from tpu_studio.wire.schema import BY_PATH

_KEPT = "Nothing was charged, and nothing was changed."


def _where(f: Facts) -> str:
    """`digits.tpujob, line 7: ` or nothing, in front of what is wrong."""
    if "file" not in f:
        return ""
    line = f", line {f.text('line')}" if "line" in f else ""
    return f"{f.file(plain=True)}{line}: "


def _name(f: Facts) -> str:
    """The key as the screen calls it and, since a file may be meant, as it is written."""
    path = f.text("key", "a setting")
    key = BY_PATH.get(path)
    return f"“{key.title}” ({path})" if key and key.title else f"“{path}”"


def _usd(f: Facts, name: str) -> str:
    value = f.raw(name)
    if not isinstance(value, (int, float)):
        return "a few cents"
    return figures.money(value) if value >= 0.01 else f"${value:g}"


def _plainly(f: Facts, name: str) -> str:
    """A number without any mark of thousands, which is what shall be typed: 2.5, 2500, 1.1250."""
    value = f.raw(name)
    return spelled(value).replace("\u202f", "") if isinstance(value, (int, float)) else "the number"


def _begin(text: str) -> str:
    return text[:1].upper() + text[1:]


def _preset(f: Facts) -> str:
    """What may stand there: a folder of one's own, which is known by its slash, or the weights that come with it."""
    value, known = f.text("value"), [str(one) for one in f.raw("allowed", []) if one != starters.NONE]
    if ":" in value:
        return (
            "Names on the web are not fetched. Download the folder of KerasHub weights, choose the model “Pretrained network "
            "of yours” (kerashub-backbone), and name the folder with a slash: model.preset=./FOLDER."
        )
    name = value if value and value == value.strip("/\\~. ") else "FOLDER"
    besides = f" Or one of: {', '.join(known)}." if known else ""
    besides += " What a run of yours has learned is written with its id: model.preset=run:ID."
    return (
        "If it is a folder of KerasHub weights on this disk, choose the model “Pretrained network of yours” "
        f"(kerashub-backbone) and write it with a slash: model.preset=./{name}.{besides}"
    )


def _nearest(f: Facts) -> str:
    if "nearest" in f:
        return f"Did you mean “{f.text('nearest')}”?"
    if "allowed" in f:
        return _preset(f) if f.text("key") == "model.preset" else f"It can be one of: {f.text('allowed')}."
    return "Look it up in the list of settings, or take it out."


def _range(f: Facts) -> Sentence:
    low, high = f.raw("minimum"), f.raw("maximum")
    above = "more than " if f.raw("above") else ""
    if low is not None and high is not None:
        bounds = (
            f"{above}{f.text('minimum')} to {f.text('maximum')}"
            if not above
            else f"more than {f.text('minimum')}, and at most {f.text('maximum')}"
        )
    elif low is not None:
        bounds = f"{above}{f.text('minimum')}" if above else f"{f.text('minimum')} or more"
    else:
        bounds = f"at most {f.text('maximum', 'a certain size')}"
    return Sentence(
        f"{_where(f)}{_name(f)} cannot be {f.text('value', 'that')}",
        f"It may be {bounds}. {NOTHING_CHARGED}",
        "Change it, or take it out for the recommended value.",
    )


ERRORS: dict[str, Entry] = {
    "job-format": lambda f: Sentence(
        f"{_where(f)}this job file has format {f.text('value', 'of its own')}",
        f"This version of TPU Studio reads format {f.text('known', '1')}. {_KEPT}",
        "Open it with a newer version, or write format = 1.",
    ),
    "job-unknown-table": lambda f: Sentence(
        f"{_where(f)}there is no part called [{f.text('key')}]", _KEPT, _nearest(f)
    ),
    "job-unknown-key": lambda f: Sentence(
        f"{_where(f)}there is no setting called “{f.text('key')}”", _KEPT, _nearest(f)
    ),
    "job-wrong-type": lambda f: Sentence(
        f"{_where(f)}{_name(f)} needs {f.text('wanted', 'another kind of value')}, not {f.text('value', 'that')}",
        _KEPT,
        "Change the value, or take it out for the recommended one.",
    ),
    "job-two-readings": lambda f: Sentence(
        f"{_where(f)}{_name(f)} cannot be “{f.text('value')}”: that can mean {_plainly(f, 'small')} or "
        f"{_plainly(f, 'large')}",
        f"Some write a comma or a point before decimals, some before thousands. {_KEPT}",
        f"Write {_plainly(f, 'small')} or {_plainly(f, 'large')}, whichever you mean.",
    ),
    "job-out-of-range": _range,
    "job-not-a-choice": lambda f: Sentence(f"{_where(f)}{_name(f)} cannot be “{f.text('value')}”", _KEPT, _nearest(f)),
    "job-preset-of-another": lambda f: Sentence(
        f"{_where(f)}“{f.text('value')}” belongs to another model",
        f"It is what {f.text('of', 'the other')} has learned; {f.text('model', 'this model')} cannot use it. {_KEPT}",
        'Leave model.preset "auto", or choose the model that it belongs to. Of a result of yours name the file in it: '
        "FOLDER/model.keras.",
    ),
    "job-lora-unfit": lambda f: Sentence(
        f"{_where(f)}{f.text('model', 'This model')} has nothing for LoRA to learn beside",
        f"LoRA's small matrices learn beside the weights of a pretrained language model. {_KEPT}",
        "Leave model.lora_rank “auto”, or choose “Pretrained language model of yours” (pretrained-lm) and its folder.",
    ),
    "job-tokenizer-unfit": lambda f: Sentence(
        f"{_where(f)}This model's text cannot be cut up as “{f.text('value')}”",
        "Starter weights know the pieces that they were trained on, and no others know those; text that is continued is "
        f"read letter by letter. {_KEPT}",
        f"Possible here: {f.text('allowed')}. Leave data.tokenizer “auto”.",
    ),
    "job-template-unknown": lambda f: Sentence(
        f"{_where(f)}The chat template of “{f.text('path', 'the folder')}” is none that is known here",
        "It is a program, which may be a stranger's, and is not run; other templates would not be what the model has "
        f"learned to answer in. {_KEPT}",
        "Choose another folder, or agree to plain headings: data.chat_template = “plain”."
        if f.raw("plain")
        else "Choose another folder: its tokenizer has no token that ends a text, which plain headings would need.",
    ),
    "job-template-unfit": lambda f: Sentence(
        f"{_where(f)}These weights have no chat template “{f.text('value')}”",
        f"They know their own, and plain headings where their tokenizer has a token that ends a text. {_KEPT}",
        f"Possible here: {f.text('allowed', 'none')}. Leave data.chat_template “auto”, or choose another folder.",
    ),
    "job-not-auto": lambda f: Sentence(
        f"{_where(f)}{_name(f)} cannot be chosen automatically",
        _KEPT,
        "Give it a value, or take it out for its default.",
    ),
    "job-empty-text": lambda f: Sentence(f"{_where(f)}{_name(f)} is empty", _KEPT, "Fill it in, or take it out."),
    "job-missing": lambda f: Sentence(
        f"{_where(f)}{_name(f)} is not given",
        "A job needs a model and data; everything else has a default. " + NOTHING_CHARGED,
        "Choose it on the Plan page, or add it to the file.",
    ),
    "job-contradiction": lambda f: Sentence(
        f"{_where(f)}“{f.text('key')}” and “{f.text('other')}” are both given",
        f"Only one of them can count. {_KEPT}",
        "Take one of the two out.",
    ),
    "job-heads": lambda f: Sentence(
        f"The width ({f.text('value', 'as given')}) cannot be shared out over {f.text('heads', 'the')} attention heads",
        _KEPT,
        "Choose a width that the number of heads divides.",
    ),
    "job-setting": lambda f: Sentence(
        f"“{f.text('key')}” is not a setting of the form table.key=value",
        _KEPT,
        "Write, for example, training.epochs=3.",
    ),
    "job-file-missing": lambda f: Sentence(
        f"{f.file(default='The job file')} is not there", _KEPT, "Check the name, or choose the file again."
    ),
    "job-file-is-data": lambda f: Sentence(
        f"{f.file(default='This')} is data, not a job file",
        f"A job file is a page of text that says what to train on such data, and how. {_KEPT}",
        "Start the window with “tpu-studio”, drop the data there, and press “Save as a file...”: that writes its job file.",
    ),
    "job-file-unreadable": lambda f: Sentence(
        f"{f.file(default='The job file')} cannot be read",
        f"The system says: {f.text('raw', 'no reason')}. {_KEPT}",
        "Check who may read the file, or copy it to your own folder.",
    ),
    "job-file-empty": lambda f: Sentence(
        f"{f.file(default='The job file')} is empty",
        _KEPT,
        "Start from an example, or choose model and data on the Plan page.",
    ),
    "job-file-not-text": lambda f: Sentence(
        f"{f.file(default='The file')} is not a job file",
        f"It holds something other than UTF-8 text. {_KEPT}",
        "Choose another job file, or save it again as UTF-8 if it is text.",
    ),
    "job-file-too-large": lambda f: Sentence(
        f"{f.file(default='The file')} is too large for a job file",
        f"A job file is a page of text. {_KEPT}",
        "Choose another job file, or start from an example.",
    ),
    "job-file-syntax": lambda f: Sentence(
        f"{_where(f)}this line cannot be understood" if "line" in f else f"{_where(f)}the file cannot be understood",
        f"{_begin(f.text('raw', 'It is not written as a job file'))}. {_KEPT}",
        "Correct the line; texts stand in quotation marks.",
    ),
    "job-file-twice": lambda f: Sentence(
        f"{_where(f)}“{f.text('key', 'a setting')}” is there twice", f"Only one can count. {_KEPT}", "Take one out."
    ),
    "job-file-unwritable": lambda f: Sentence(
        f"{f.file(default='The job file')} could not be saved",
        f"The system says: {f.text('raw', 'no reason')}. Your settings are still on the page.",
        "Save it in another folder.",
    ),
}


def _tight(f: Facts) -> str:
    """What that means on a computer, on a TPU as estimated, and by the TPU compiler's word."""
    known = {
        "estimate": "The estimate may be off by a seventh; the TPU compiler knows it exactly.",
        "tpu-compiler": "The TPU compiler confirms that it fits.",
    }
    return known.get(f.text("by"), "Other programs may slow down.")


CHECKS: dict[str, Entry] = {
    "model-data-mismatch": lambda f: Sentence(
        "This model cannot learn from this data",
        f"It takes {f.text('takes', 'other data')}. {NOTHING_CHARGED}",
        "Choose a model that fits the data.",
    ),
    "model-task-mismatch": Sentence(
        "This model does not give that kind of answer",
        NOTHING_CHARGED,
        "Choose a model that fits, or change what to learn.",
    ),
    "data-too-small": Sentence(
        "There is too little data",
        "Some of it must be kept aside to see how well the model does on unseen data. " + NOTHING_CHARGED,
        "Add more, at least two of each class.",
    ),
    "data-few": lambda f: Sentence(
        "There is little data to learn from",
        f"About {f.text('usual', '100')} or more are usual. The model may memorise them (overfit).",
        "Add more if you can, and judge it by its figures on unseen data only.",
    ),
    "data-few-of-a-kind": lambda f: Sentence(
        "One class has very few examples",
        f"With fewer than {f.text('usual', '10')}, the model rarely learns to see it.",
        "Add more of that class if you can.",
    ),
    "batch-above-data": lambda f: Sentence(
        "A step takes more than there is",
        f"{f.text('batch', 'The batch')} at once, but only {f.text('train', 'fewer')} to learn from. {NOTHING_CHARGED}",
        "Take fewer per step.",
    ),
    "batch-not-divisible": lambda f: Sentence(
        "The examples of a step cannot be shared out evenly",
        f"Each of the {f.text('parts', 'several')} parts (chips, times parts of a step) must get the same number. "
        f"{NOTHING_CHARGED}",
        f"Take {_either(f)} examples a step.",
    ),
    "jax-convolutions-slow": Sentence(
        "JAX is slow with pictures on a processor",
        "Its compiler does convolutions about three times slower than TensorFlow here. The result is the same.",
        "Use TensorFlow on this computer.",
    ),
    "bfloat16-on-processor": Sentence(
        "bfloat16 does not speed up a processor",
        "It pays on a TPU. Here it only makes the numbers coarser.",
        "Use float32.",
    ),
    "learning-rate-high": lambda f: Sentence(
        "The learning rate is unusually high",
        "The loss may jump, or stop being a number.",
        f"Use about {f.text('recommended', 'the recommended value')}.",
    ),
    "early-stopping-without-checks": Sentence(
        "The run has too few checks to stop early",
        "Stopping early compares several checks on unseen data.",
        "Check more often.",
    ),
    "accelerator-unused": Sentence(
        "The accelerator is not used on this computer",
        "The job names one for later. " + NOTHING_CHARGED,
        "Leave it for a Cloud TPU, or take it out.",
    ),
    "time-limit-short": Sentence(
        "The time limit may end the run before it is done",
        "The model so far is kept when that happens.",
        "Give it more time, or take the recommended limit.",
    ),
    "time-limit-longest": Sentence(
        "The run takes longer than a run may last",
        "It is stopped at the limit, and the model so far is kept.",
        "Choose a smaller model, or fewer steps.",
    ),
    "money-limit-short": lambda f: Sentence(
        "The cost limit may end the run before it is done",
        f"{'' if places.by_id(f.raw('place')).charges else 'The price is simulated: nothing is charged. '}"
        "The model so far is kept.",
        "Raise the limit, or take the recommended one.",
    ),
    "money-limit-large": lambda f: Sentence(
        "The cost limit is far above what the run should cost",
        f"{'' if places.by_id(f.raw('place')).charges else 'The price is simulated: nothing is charged. '}"
        f"About {_usd(f, 'expected_usd')} are expected, and up to {_usd(f, 'money_usd')} may be spent before it is stopped. "
        "A job file that somebody sent may hold such a limit.",
        "Let the limit be set by the estimate, unless you want this one.",
    ),
    "money-limit-too-small": lambda f: Sentence(
        f"The cost limit of {_usd(f, 'money_usd')} would be used up before training begins",
        f"Getting ready alone costs something, so do storage and traffic, and a model needs a minute at least. {NOTHING_CHARGED}",
        f"Set “Cost limit” (limits.money_usd) to {_usd(f, 'least_usd')} or more, or to “auto”.",
    ),
    "price-below-list": lambda f: Sentence(
        "The list price counts, not the lower one in the job",
        f"The job has a simulated price of {_usd(f, 'given_usd')} an hour, for rehearsals. By it the cost limit would "
        f"come too late: limit and cost are counted by {_usd(f, 'counts_usd')} an hour.",
        "Leave it out.",
    ),
    "price-of-elsewhere": lambda f: Sentence(
        "The list has no price for one of the zones: that of another counts",
        f"Cost and limit are counted by {_usd(f, 'counts_usd')} an hour, the dearest that is known "
        f"({f.text('region', 'another zone')}, {f.text('tier', 'another tier')}). If the machine is dearer where it comes, the "
        "cost limit comes too late, and more than that is charged.",
        "Choose zones whose price is known, or give the price that you know (where.usd_per_hour).",
    ),
    "price-not-listed": lambda f: Sentence(
        "No list has the price: only the job says it",
        f"The plan counts its {_usd(f, 'given_usd')} an hour. If the machine is dearer, the cost limit comes too late, "
        "and more than that is charged.",
        "Compare it with Google's price list, or choose another size, zone or tier.",
    ),
    "bucket-elsewhere": lambda f: Sentence(
        f"The bucket is in {f.text('bucket', 'one region')}, and the machine may come in {f.text('regions', 'another')}",
        "Data, copies of the model and results then cross between regions, which Google charges. The plan counts it in "
        "the cap, at the dearest of these zones; no other zone is asked.",
        "Choose zones in the bucket's region, or start it as it is.",
    ),
    "bucket-too-far": lambda f: Sentence(
        f"The bucket is in {f.text('bucket', 'another region')}, and what it costs to reach it from "
        f"{f.text('regions', 'the machine')} is not known",
        f"Data, copies of the model and results would cross between regions, without a limit that holds. "
        f"{NOTHING_CHARGED}",
        "Choose zones near the bucket, or set up a bucket in the machine's region on the Account page.",
    ),
    "money-limit-unused": Sentence(
        "The cost limit does nothing here",
        "Training on this computer costs nothing.",
        "Pretend a price to rehearse it, or take the limit out.",
    ),
    "very-long": Sentence(
        "This is a lot of work for this computer",
        "It would take many hours or days. You can stop at any time and keep the model.",
        "Choose a smaller model, or fewer epochs.",
    ),
    "disk-nearly-full": lambda f: _disk(f),
    "memory-does-not-fit": lambda f: Sentence(
        "This does not fit into the computer's memory",
        f"It needs about {f.bytes('needs_bytes')}; there are {f.bytes('limit_bytes', 'fewer')}. {NOTHING_CHARGED}",
        "Take fewer per step, or a smaller model.",
    ),
    "memory-tight": lambda f: Sentence(
        "Memory is tight",
        f"It needs about {f.bytes('needs_bytes')} of {f.bytes('limit_bytes', 'what there is')}. {_tight(f)}",
        "Close what you do not need, or take fewer per step." if "by" not in f else "Take fewer per step to be safe.",
    ),
}


def _disk(f: Facts) -> Sentence:
    need, free = f.bytes("need_bytes", "more than there is"), f.bytes("free_bytes", "too little")
    if f.raw("here") is False:
        meaning = (
            "The machine is not on it, but the model and the curves come here. Nothing is lost by a full disk there."
        )
    elif f.raw("free_bytes", 0) < f.raw("least_bytes", 0):
        meaning = "There is no room for one checkpoint and the model, so it does not begin as things are."
    else:
        meaning = "A run that finds the disk full ends, and what it had not copied until then is lost."
    return Sentence(
        "This computer's disk is nearly full",
        f"The run needs about {need} for its checkpoints, its model and its curves; {free} are free. {meaning} "
        f"{NOTHING_CHARGED}",
        "Free some space first.",
    )


def _either(f: Facts) -> str:
    return " or ".join(f"{one:,}" for one in f.raw("nearest", [])) or "the next smaller number of"
