"""Words for what a running run tells: slow data, a restart, a copy that could not be saved."""

from __future__ import annotations

from tpu_studio.domain.sentences.data import broken_words
from tpu_studio.domain.sentences.sentence import Entry, Facts, Sentence
from tpu_studio.wire import places


def _computes(f: Facts) -> str:
    """The TPU's own word, where it bears out that it waits."""
    busy = None if places.by_id(f.raw("place")).rehearses else f.raw("duty_cycle")  # there is no TPU in practice
    waits = isinstance(busy, (int, float)) and not isinstance(busy, bool) and 0.0 <= busy < 0.9
    return f" The TPU itself computed {f.share('duty_cycle')} of the time." if waits else ""


_NO_SAVED_MODEL = {
    "time": "It took longer than ten minutes and was given up.",
    "disk": "The disk was full.",
}


def _saved_model(f: Facts) -> Sentence:
    why = _NO_SAVED_MODEL.get(f.text("why")) or (f.said().strip() if "raw" in f else "TensorFlow failed.")
    return Sentence(
        "TensorFlow's SavedModel could not be written",
        f"{why} Nothing is lost: model.keras holds the same model, and trying it here works with that. Only what reads "
        "a SavedModel, TensorFlow Serving for instance, lacks its file.",
        "Where you need one: the report has the line that makes it from model.keras.",
    )


def _compiled_before(f: Facts) -> Sentence:
    saved = f.raw("saved_s")
    less = f", which saved {saved:,.0f} s" if isinstance(saved, (int, float)) and 1.0 <= saved < 1e6 else ""
    return Sentence("Compiled already by an earlier machine", f"Its program was taken from the bucket{less}.")


NOTICES: dict[str, Entry] = {
    "compiled-before": _compiled_before,
    "compiled-carried": Sentence(
        "The compiled program is kept in the bucket",
        "A machine that goes on after a preemption, and the next run of the same plan, need not compile it again.",
    ),
    "compiled-unused": lambda f: Sentence(
        "What an earlier machine compiled is not used",
        f"It is compiled again, which takes some minutes at most; the run goes on as ever.{f.said()}",
    ),
    "compiled-not-carried": lambda f: Sentence(
        "The compiled program could not be kept",
        f"The next machine compiles it again, which takes some minutes at most.{f.said()}",
    ),
    "savedmodel-failed": _saved_model,
    "input-bound": lambda f: Sentence(
        f"Training waits for data {f.share('share', 'part')} of the time",
        "The computer makes the next examples ready more slowly than the model takes them." + _computes(f),
        "Use smaller pictures, or switch off the small random changes.",
    ),
    "events-lost": lambda f: Sentence(
        f"{f.count('lines', 'line', 'lines')} of the record could not be written",
        "The disk was full or not writable. The curve has a gap; the model is not affected.",
        "Free some space.",
    ),
    "trainer-restarted": lambda f: Sentence(
        "Training was started again from the last checkpoint",
        "Something had ended the program. Nothing was charged.",
        "",
    ),
    "recompiling": lambda f: Sentence(
        f"The training step was compiled {f.text('compiles', 'several')} times",
        "Each time takes a while. It happens when the shape of a batch changes.",
        "Give your own model fixed shapes.",
    ),
    "broken-items": lambda f: Sentence(
        f"{f.count('count', 'broken item is', 'broken items are')} left out",
        f"{broken_words(f)}Your data is untouched.",
        "Fix them before the next run if they matter.",
    ),
    "rolled-back": lambda f: Sentence(
        f"The loss stopped being a number; training went back to step {f.text('to_step', 'of the last copy')}",
        f"It goes on with half the learning rate{', ' + f.text('learning_rate') if 'learning_rate' in f else ''}.",
        "Start the next run with a smaller learning rate.",
    ),
    "extended": lambda f: Sentence(f"Training goes on to step {f.text('steps', 'a later one')}", "As you asked.", ""),
    "profile-under-way": Sentence(
        "A profile is being made already", "The second request gets the same one. Training goes on meanwhile.", ""
    ),
    "checkpoint-damaged": lambda f: Sentence(
        "A checkpoint is damaged and was not used",
        f"The copy of step {f.text('step', 'one step')} does not match its checksum. It goes on from an older one, or "
        "from the beginning where there is none.",
        "Check the disk if this happens again.",
    ),
}
