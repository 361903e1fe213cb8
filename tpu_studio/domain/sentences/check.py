"""Words for what `check` finds before anything is rented: shapes, operations, memory by the TPU compiler."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import title_of
from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence


def _in_line(f: Facts) -> str:
    """“model.py”, line 12"""
    if "file" not in f:
        return ""
    return f" ({f.file()}, line {f.text('line')})" if "line" in f else f" ({f.file()})"


def _layer(f: Facts) -> str:
    return f"the layer “{f.text('layer')}”" if "layer" in f else "a layer"


def _padding(f: Facts) -> str:
    """`91% of a TPU's work would be padding (10.7×)`"""
    waste = f.raw("waste")
    if not isinstance(waste, (int, float)) or waste <= 1:
        return "Much of a TPU's work would be padding"
    return f"{figures.share(1 - 1 / waste, 0)} of a TPU's work would be padding ({figures.figure(waste)}×)"


def _product(f: Facts) -> str:
    """`32 × 128 × 10`"""
    sizes = f.raw("sizes")
    return " × ".join(map(str, sizes)) if isinstance(sizes, (list, tuple)) and sizes else "a small one"


def _times(f: Facts) -> str:
    count = f.raw("count")
    return f" {count} times" if isinstance(count, int) and count > 1 else ""


def _of_type(f: Facts) -> str:
    return f" in {f.text('dtype')}" if "dtype" in f else ""


def _used_by(f: Facts) -> str:
    """Where the layer is known: , and the layer “x” uses it 3 times"""
    return f", and the layer “{f.text('layer')}” uses it{_times(f)}" if "layer" in f else ""


def _instead(f: Facts, otherwise: str) -> str:
    return f.text("instead") if "instead" in f else otherwise


_UNCOUNTED = {
    "while": "a loop that goes on until a value says stop (one round of it counts)",
    "scan": "a loop whose length no number tells (one round of it counts)",
    "tpu_custom_call": "a part written for TPUs alone",
    "ffi_call": "a part in another language",
    **dict.fromkeys(
        ("pure_callback", "io_callback", "PyFunc", "PyFuncStateless", "EagerPyFunc"),
        "a part that calls back into Python",
    ),
}


def _and_cost_more(f: Facts) -> str:
    """What remains of “it may take longer”."""
    if not f.raw("charges"):
        return f" than this estimate says. {NOTHING_CHARGED}"
    limit = f" of {figures.money(float(f.raw('limit_usd')))}" if "limit_usd" in f else ""
    return (
        f" and cost more than this estimate says, up to your limit{limit}: there it is ended. Nothing was charged yet."
    )


def _uncounted(f: Facts) -> str:
    names = f.raw("what")
    told = [_UNCOUNTED.get(str(one), f"“{one}”") for one in names] if isinstance(names, list) else []
    return "; ".join(dict.fromkeys(told)) or "some operations"


_STATES = {"broken": "is damaged", "outdated": "is of an older version", "installing": "is being installed"}


def _state(f: Facts) -> str:
    return _STATES.get(f.text("status"), "is not installed")


def _getting_ready(f: Facts) -> str:
    names = f.raw("missing")
    known = [str(name) for name in names] if isinstance(names, list) and names else ["tpu-compiler"]
    if f.text("status") == "installing":
        return "Check again when it is done"
    verb, what = ("--repair", "Repair") if f.text("status") == "broken" else ("--install", "Install")
    commands = ", and ".join(f"tpu-studio engine {verb} --with {name} --accept-licence" for name in known)
    return f"{what} it with: {commands}"


def _damage(f: Facts) -> str:
    """What is wrong in the compiler's environment, where it is known."""
    detail = f.text("detail")
    known = {
        "package-other": f"There is {detail}, so it was not used. ",
        "package-gone": f"Its package {detail} has gone. ",
        "library-changed": f"Its library {detail} has gone or was replaced, so it was not used. ",
    }
    return known.get(f.text("problem"), "") if detail else ""


def _repair(f: Facts) -> str:
    """How to mend what broke: the compiler's environment where the check ran there, else the training engine."""
    if "missing" not in f:
        return "repair the training engine: tpu-studio engine --repair"
    ready = _getting_ready(f)
    return f"repair the TPU compiler: {ready.partition(': ')[2]}"


def _last_words(f: Facts) -> str:
    """The last line of what a program said: of a traceback, the error itself."""
    lines = [line.strip() for line in str(f.raw("raw") or "").splitlines() if line.strip()]
    return lines[-1][:200].rstrip(".") if lines else "nothing"


def _file(f: Facts) -> str:
    return f.file(default="The model")


def _raw(f: Facts, name: str = "raw") -> str:
    return f.text(name, "nothing more").rstrip(".")


def _shapes(f: Facts) -> Sentence:
    came, wanted = f.text("got", "another shape"), f.text("wanted", "what it was made for")
    if "axis" in f:
        wanted = f"{wanted} in its last place" if f.text("axis") == "-1" else f"{wanted} in place {f.text('axis')}"
    where = f"line {f.text('line')} of {f.file()}" if "line" in f else "the model"
    return Sentence(
        f"The shapes do not meet in {_layer(f)}{_in_line(f)}",
        f"What came: {came}; what was expected: {wanted}. {NOTHING_CHARGED}",
        f"Correct {where}: the layer before it, or its own size.",
    )


CHECKS: dict[str, Entry] = {
    "work-unclear": lambda f: Sentence(
        "Some of this model's work shows only while it runs",
        f"Not counted beforehand: {_uncounted(f)}. So it may take longer{_and_cost_more(f)}",
        "Set a small limit for the first run: it measures the true speed, and later plans go by that."
        if f.raw("charges")
        else "Train it for a minute: what is measured goes into later plans.",
    ),
    "shapes-meet": Sentence("The model takes the first real examples", "Every layer got the shape it expects.", ""),
    "model-shapes": _shapes,
    "model-memory": lambda f: Sentence(
        f"{_file(f)} used more memory than it may",
        f"At {f.bytes('bytes')} it was ended; {f.bytes('limit_bytes')} are allowed. {NOTHING_CHARGED}",
        "Let build_model only build the model: no data, no large arrays.",
    ),
    "model-forks": lambda f: Sentence(
        f"{_file(f)} started too many programs",
        f"{f.count('count', 'program', 'programs')} were running and were ended. {NOTHING_CHARGED}",
        "Let build_model only build and return the model.",
    ),
    "op-host-callback": lambda f: Sentence(
        f"The model calls back into Python at each step{_in_line(f)}",
        f"“{f.text('operation')}”{_times(f)}: a TPU would wait for the computer beside it, or cannot do it at all. {NOTHING_CHARGED}",
        "Write it in jax.numpy or keras.ops, or do it to the data before training; take jax.debug.print out.",
    ),
    "op-not-on-tpu": lambda f: Sentence(
        f"A TPU cannot do “{f.text('operation')}”{_of_type(f)}{_in_line(f)}",
        f"Only processors have it{_used_by(f)}. {NOTHING_CHARGED}",
        _instead(f, "Use eigh for symmetric matrices, svd or qr, or work it out before training."),
    ),
    "op-slow-on-tpu": lambda f: Sentence(
        f"“{f.text('operation')}” is slow on a TPU{_in_line(f)}",
        f"How much it gives depends on the values, so that the TPU works on the largest size{_used_by(f)}. {NOTHING_CHARGED}",
        _instead(f, "Use what keeps its size, with a mask."),
    ),
    "op-array-grows": lambda f: Sentence(
        f"A TensorArray that grows loses its values on a TPU{_in_line(f)}",
        f"The TPU compiler takes it, and leaves out what is beyond its first size{_used_by(f)}. {NOTHING_CHARGED}",
        "Give tf.TensorArray its size, and dynamic_size=False.",
    ),
    "op-refused": lambda f: Sentence(
        f"The TPU compiler cannot do “{f.text('operation', 'this step')}”{_in_line(f)}",
        f"It says: {_raw(f)}{_used_by(f)}. {NOTHING_CHARGED}",
        _instead(f, "Write this part of the model in other operations."),
    ),
    "op-float64": lambda f: Sentence(
        f"The model computes in {f.text('dtype', 'float64')}{_in_line(f)}",
        f"“{f.text('operation')}”{_times(f)}: a TPU only imitates such wide numbers, many times slower. {NOTHING_CHARGED}",
        _instead(f, "Use float32, and leave jax_enable_x64 off."),
    ),
    "op-dynamic-shape": lambda f: Sentence(
        f"A size in the model depends on the values of the data{_in_line(f)}",
        f"A TPU program has fixed sizes{_used_by(f)}. {f.text('framework', 'JAX')} says: {_raw(f)}. {NOTHING_CHARGED}",
        _instead(
            f,
            "Use jnp.where(condition, x, 0) instead of x[condition], unique and nonzero with size=, and sizes known beforehand.",
        ),
    ),
    "op-python-branch": lambda f: Sentence(
        f"A Python “if” or “while” looks at values of the data{_in_line(f)}",
        f"A TPU program is made before the values are known. {NOTHING_CHARGED}",
        "Use jnp.where, jax.lax.cond or jax.lax.while_loop (keras.ops.where, keras.ops.cond).",
    ),
    "op-numpy-inside": lambda f: Sentence(
        f"numpy is used inside the model{_in_line(f)}",
        f"numpy works on this computer only, not on a TPU. {NOTHING_CHARGED}",
        "Use keras.ops or jax.numpy: the functions have the same names.",
    ),
    "op-padding": lambda f: Sentence(
        f"{_padding(f)}{_in_line(f)}",
        f"Its matrix units are {f.text('unit', '128')} wide, and what does not fill them is filled with zeros; the worst product is {_product(f)}. {NOTHING_CHARGED}",
        f"Choose widths that are multiples of {f.text('unit', '128')}, and a larger batch.",
    ),
    "batch-can-grow": lambda f: Sentence(
        f"A batch of {f.text('largest_batch', 'more')} fits as well",
        "A larger batch fills the TPU better; the TPU compiler confirms that it fits.",
        "Take it; the learning rate may have to rise with it.",
    ),
    "fit-rematerialize": Sentence(
        "Recomputing would need less memory",
        "Inner values are worked out again instead of remembered: a third more work.",
        "Set rematerialize = true.",
    ),
    "fit-bfloat16": Sentence(
        "Computing in bfloat16 would need less memory",
        "Inner values take half the room, and a TPU computes them faster; weights stay float32.",
        'Set precision = "bfloat16".',
    ),
    "fit-accumulate": lambda f: Sentence(
        f"The same batch in {f.text('parts', 'several')} parts would need less memory",
        "Each step works on the parts one after another and learns the same.",
        f"Set accumulate = {f.text('parts', '2')}.",
    ),
    "fit-larger-slice": lambda f: Sentence(
        f"It should fit on {title_of(f.text('accelerator', 'a larger TPU'))}",
        "Each chip holds the weights and its share of the batch. This is an estimate.",
        "Choose it and check again.",
    ),
    "compiled-replica": lambda f: Sentence(
        "Compiled is the program of one chip, without the sums over all of them",
        f"TensorFlow gives each of the {f.text('devices', 'chips')} chips this program with its share of the batch, and adds up the"
        " gradients between them: what that takes is not counted here. That the strategy takes the step is tested, without chips.",
        "",
    ),
    "estimate-no-compiler": lambda f: Sentence(
        f"The memory is an estimate: the TPU compiler {_state(f)}",
        f"{_damage(f)}It is rough: without recomputing it may be twice what is needed. {NOTHING_CHARGED}",
        f"{_getting_ready(f)}.",
    ),
    "estimate-tensorflow": lambda f: Sentence(
        f"The memory is an estimate: the TPU compiler for TensorFlow {_state(f)}",
        f"{_damage(f)}It is rough: without recomputing it may be twice what is needed. Operations were looked up in a"
        " list of what"
        f" the compiler has. {NOTHING_CHARGED}",
        f"{_getting_ready(f)}.",
    ),
    "compiler-refused": lambda f: Sentence(
        "The TPU compiler could not compile this",
        f"It says: {_raw(f)}. The memory shown is an estimate. {NOTHING_CHARGED}",
        "Try another slice; its words are in the details.",
    ),
    "compiler-damaged": lambda f: Sentence(
        "The TPU compiler is damaged: its library cannot be loaded",
        f"The memory shown is an estimate. The system says: {_raw(f)}. {NOTHING_CHARGED}",
        f"{_getting_ready(f)}.",
    ),
    "check-compiler-crashed": lambda f: Sentence(
        "The TPU compiler broke down",
        f"Nothing else was harmed. The memory shown is an estimate. {NOTHING_CHARGED}",
        f"Try another batch or slice; if it stays, {_repair(f)}.",
    ),
    "check-compiler-slow": lambda f: Sentence(
        "The TPU compiler did not get ready",
        f"After {f.text('seconds', 'many')} seconds it was ended. The memory shown is an estimate. {NOTHING_CHARGED}",
        "Convolution nets take longest; try a smaller batch, or rely on the estimate.",
    ),
    "check-compiler-memory": lambda f: Sentence(
        "The TPU compiler needs more memory than this computer can spare",
        f"At {f.bytes('bytes')} it was ended. The memory shown is an estimate. {NOTHING_CHARGED}",
        "Close other programs and check again.",
    ),
}

ERRORS: dict[str, Entry] = {
    "model-shapes": _shapes,
    "check-cancelled": Sentence("The check was stopped", NOTHING_CHARGED, "Start it again when you like."),
    "check-slow": lambda f: Sentence(
        "The check did not get ready",
        f"After {f.text('seconds', 'many')} seconds it was ended; this computer may be busy. {NOTHING_CHARGED}",
        "Try again when other programs are done.",
    ),
    "check-failed": lambda f: Sentence(
        "The check ended without an answer",
        f"Its last words: {_last_words(f)}. The memory shown is an estimate. {NOTHING_CHARGED}",
        f"Try again; if it stays, {_repair(f)}.",
    ),
}
