"""How a script trains and measures: batches, loss, optimizer, schedule and what it prints at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tpu_studio.trainer import recipe
from tpu_studio.trainer.schedule import FLOOR, Schedule
from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason

_PLAIN_LOSS = "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"


@dataclass(frozen=True)
class Fitting:
    """Attributes:
    schedule: Of the run's steps as they were planned.
    steps: That the run made, where it was stopped; else as many as planned.
    frozen: Steps in which the last layer learns alone, on features that were made once; 0: none.
    mirrors: Pictures may be flipped when they are varied; None: they are not varied.
    """

    plan: Plan
    card: Mapping[str, Any]
    schedule: Schedule
    steps: int
    frozen: int
    mirrors: bool | None

    @property
    def recipe(self) -> recipe.Recipe:
        return recipe.from_plan(self.plan)

    @property
    def has_second_stage(self) -> bool:
        return 0 < self.frozen < self.steps


def steps_of(plan: Plan, card: Mapping[str, Any]) -> int:
    """A run that a person stopped goes as far; one that stopped by itself decides so again."""
    trained = card["trained"]
    return int(trained["steps"]) if trained["ended"] == Reason.STOPPED_BY_USER.value else plan.steps


def fitting(how: Fitting) -> Part:
    """``batches``, ``compile_model``, ``train``, ``measure`` and ``main``."""
    learns = how.recipe.learns
    code = _VARIED if how.mirrors is not None else ""
    if how.mirrors is False:
        code = code.replace(_MIRROR_LINES, "")
    code += _batches(how) + _compiling(how) + _training(how)
    code += _MEASURED_NUMBER if learns.has_number else _MEASURED_TOKENS if learns.has_tokens else _MEASURED_CLASSES
    return Part(_constants(how), code + _main(how), differs=_differs(how))


def _constants(how: Fitting) -> tuple[Constant, ...]:
    training, made = how.plan.job.training, how.recipe
    stopped = how.steps != how.plan.steps and not how.frozen
    found = [
        Constant("BATCH", training.global_batch, "examples in a step"),
        Constant("STEPS", how.steps, "updates of the weights"),
        Constant("CHECK_EVERY", training.evaluate_every, "steps: so often it is tested on what was kept aside"),
        Constant("LEARNING_RATE", float(training.learning_rate), "its peak"),
        *([Constant("PLANNED_STEPS", how.plan.steps, "over which the learning rate was to fall")] if stopped else []),
        *([Constant("WARMUP", how.schedule.warmup, "share of the steps")] if how.schedule.warmup else []),
        Constant("WEIGHT_DECAY", made.weight_decay, "of kernels only"),
    ]
    if made.optimizer == "adamw":
        found.append(
            Constant("BETAS", (made.beta1, made.beta2), "how long AdamW remembers gradients, and their squares")
        )
    if made.clip_norm:
        found.append(Constant("CLIP_NORM", made.clip_norm, "a longer gradient is shortened to this"))
    if made.label_smoothing:
        found.append(Constant("LABEL_SMOOTHING", made.label_smoothing))
    if made.class_weights:
        found.append(Constant("CLASS_WEIGHTS", list(made.class_weights), "rare classes count more while it learns"))
    if training.early_stopping:
        about = "stop after so many checks without a better result"
        found.append(Constant("PATIENCE", training.early_stopping, about))
    if how.frozen:
        found.append(Constant("FROZEN_STEPS", min(how.frozen, how.steps), "in which the last layer alone learns"))
    return tuple(found)


def _differs(how: Fitting) -> tuple[str, ...]:
    training, found = how.plan.job.training, []
    found.append("the initial weights of layers that begin from nothing are drawn by Keras, not by TPU Studio;")
    found.append("the examples come in another order, though each pass goes through all of them as well;")
    if how.mirrors is not None:
        found.append("pictures are varied as much, by other random numbers;")
    if training.accumulate > 1:
        found.append("a step goes through its batch at once, where the run took it in parts to save memory;")
    if training.on_nan == "rollback":
        found.append("a loss that is no number ends it, where the run would have gone back to a checkpoint;")
    if training.early_stopping:
        found.append("it may stop at another check, as it goes by its own results;")
    if how.plan.devices > 1:
        found.append("it uses one device, where the run cut each batch over several;")
    if training.optimizer == "sgd":
        found.append("Keras keeps the learning rate in SGD's momentum, which matters a little where the rate changes;")
    return tuple(found)


# ----------------------------------------------------------------------------------------------------- batches


def _batches(how: Fitting) -> str:
    if how.recipe.learns.has_tokens:
        return _WINDOWS
    vary = how.mirrors is not None
    code = _BATCHES
    if vary:
        code = code.replace(
            "def batches(x, y):", "def batches(x, y, vary=True):" if how.frozen else "def batches(x, y):"
        )
        given = "varied(x[chosen], dice) if vary else x[chosen]" if how.frozen else "varied(x[chosen], dice)"
        code = code.replace("yield x[chosen], y[chosen]", f"yield {given}, y[chosen]")
    if how.recipe.class_weights:
        code = code.replace(", y[chosen]\n", ", y[chosen], np.array(CLASS_WEIGHTS, np.float32)[y[chosen]]\n")
    return code


_BATCHES = '''
def batches(x, y):
    """Batches without end: each pass in a new order, what is too little for a batch at its end left out."""
    dice = np.random.default_rng(SEED)
    while True:
        order = dice.permutation(len(x))
        if len(x) < BATCH:
            order = np.resize(order, BATCH)  # fewer examples than a batch has: some stand in it more than once
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            yield x[chosen], y[chosen]

'''

_WINDOWS = '''
def batches(text):
    """Batches without end: windows of the text, each with the token after each place as its answer.

    Each pass goes through all windows that lie side by side, moved by some places each time.
    """
    dice = np.random.default_rng(SEED)
    while True:
        order = dice.permutation(max(1, (len(text) - 1) // LENGTH))
        if len(order) < BATCH:
            order = np.resize(order, BATCH)
        for start in range(0, len(order) - BATCH + 1, BATCH):
            begins = order[start : start + BATCH] * LENGTH + dice.integers(0, LENGTH, BATCH)
            windows = text[(begins % (len(text) - LENGTH))[:, None] + np.arange(LENGTH + 1)].astype(np.int32)
            yield windows[:, :-1], windows[:, 1:]

'''

_MIRROR_LINES = """    flipped = dice.random(count) < 0.5
    columns[flipped] = columns[flipped, ::-1]
"""
_VARIED = '''
def varied(pictures, dice):
    """Each picture moved, zoomed and lit a little otherwise (data augmentation): more of few pictures."""
    count, height, width, _ = pictures.shape
    zoom = np.exp(dice.uniform(-0.1, 0.1, count))

    def places(size):
        """Of each picture the row (or column) that each is taken from; beyond its edge the edge is repeated."""
        shift, middle = dice.uniform(-0.1, 0.1, count) * size, (size - 1) / 2
        grid = (np.arange(size) - middle)[None, :] / zoom[:, None] + middle - shift[:, None]
        return np.clip(np.rint(grid), 0, size - 1).astype(int)

    rows, columns = places(height), places(width)
    flipped = dice.random(count) < 0.5
    columns[flipped] = columns[flipped, ::-1]
    moved = pictures[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]
    contrast = 1 + dice.uniform(-0.25, 0.25, (count, 1, 1, 1))
    brightness = dice.uniform(-0.2, 0.2, (count, 1, 1, 1)) * WHITE / 2
    return np.clip(np.rint((moved - WHITE / 2) * contrast + WHITE / 2 + brightness), 0, WHITE).astype(np.uint8)

'''


# --------------------------------------------------------------------------------------------------- optimizer


def _compiling(how: Fitting) -> str:
    """``compile_model(model, peak, steps)``."""
    made, cosine = how.recipe, how.schedule.shape == "cosine"
    alpha = FLOOR if cosine else 1.0
    lines = ["def compile_model(model, peak, steps):"]
    lines.append(
        f'    """The learning rate {"falls along a cosine to a hundredth" if cosine else "stays"} over *steps*."""'
    )
    if how.schedule.warmup:
        lines += [
            "    warmup = round(WARMUP * steps)  # in which it grows at first",
            "    rate = keras.optimizers.schedules.CosineDecay(",
            "        peak / (warmup + 1), max(1, steps - warmup),",
            f"        alpha={alpha}, warmup_target=peak, warmup_steps=warmup,",
            "    )",
        ]
    else:
        rate = f"keras.optimizers.schedules.CosineDecay(peak, steps, alpha={alpha})" if cosine else "peak"
        lines.append(f"    rate = {rate}")
    clip = ", global_clipnorm=CLIP_NORM" if made.clip_norm else ""
    kind = "AdamW" if made.optimizer == "adamw" else "SGD"
    how_far = (
        "beta_1=BETAS[0], beta_2=BETAS[1], epsilon=1e-8"
        if kind == "AdamW"
        else f"momentum={made.momentum}, nesterov=True"
    )
    lines += [
        f"    optimizer = keras.optimizers.{kind}(",
        f"        rate, weight_decay=WEIGHT_DECAY, {how_far}{clip}",
        "    )",
        '    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta", "embeddings"])',
        f"    model.compile(optimizer, {_loss(how)})",
    ]
    smoothed = _SMOOTHED if made.label_smoothing and not made.learns.has_number else ""
    if made.learns.has_tokens:
        smoothed = smoothed.replace("OUTPUTS", "VOCABULARY")
    return smoothed + "\n" + "\n".join(lines) + "\n\n"


def _loss(how: Fitting) -> str:
    made = how.recipe
    if made.learns.has_number:
        return '"mean_squared_error"'
    loss = "smoothed_cross_entropy" if made.label_smoothing else _PLAIN_LOSS
    kind = "weighted_metrics" if made.learns.has_tokens else "metrics"
    return f"loss={loss}, {kind}=[\n{_METRICS}    ]"


_METRICS = """        keras.metrics.SparseCategoricalAccuracy(name="accuracy"),
        keras.metrics.SparseCategoricalCrossentropy(name="cross_entropy", from_logits=True),
"""

_SMOOTHED = '''
def smoothed_cross_entropy(y, logits):
    """Cross-entropy with label smoothing: it need not be entirely sure (Szegedy et al. 2016)."""
    wanted = keras.ops.one_hot(keras.ops.cast(y, "int32"), OUTPUTS)
    return keras.losses.categorical_crossentropy(wanted, logits, from_logits=True, label_smoothing=LABEL_SMOOTHING)

'''


# ---------------------------------------------------------------------------------------------------- training


def _training(how: Fitting) -> str:
    if not how.plan.job.training.early_stopping:
        return _TRAIN
    learns = how.recipe.learns
    watched, way = ("accuracy", "max") if learns.has_classes else ("loss", "min")
    watched = "cross_entropy" if learns.has_tokens else watched
    return _TRAIN_PATIENTLY.replace("WATCHED", watched).replace("WAY", way)


_TRAIN = '''
def train(model, stream, unseen, steps):
    """*steps* steps. What Keras calls an epoch is here the steps between two checks on unseen data."""
    rounds, rest = divmod(steps, CHECK_EVERY)
    for count, epochs in ((CHECK_EVERY, rounds), (rest, 1)):
        if count and epochs and not model.stop_training:
            model.fit(
                stream, steps_per_epoch=count, epochs=epochs, validation_data=unseen, validation_batch_size=BATCH,
                callbacks=[keras.callbacks.TerminateOnNaN()], shuffle=False,
            )

'''

_TRAIN_PATIENTLY = '''
def train(model, stream, unseen, steps):
    """At most about *steps* steps; the best model is kept. Keras' epochs are the steps between two checks here."""
    patient = keras.callbacks.EarlyStopping("val_WATCHED", mode="WAY", patience=PATIENCE, restore_best_weights=True)
    model.fit(
        stream, steps_per_epoch=min(CHECK_EVERY, steps), epochs=-(-steps // CHECK_EVERY),
        validation_data=unseen, validation_batch_size=BATCH, callbacks=[keras.callbacks.TerminateOnNaN(), patient],
        shuffle=False,
    )

'''

_MEASURED_CLASSES = '''
def measure(model, x, y):
    """Accuracy and cross-entropy (without label smoothing) on what it never learned from."""
    found = model.evaluate(x, y, batch_size=BATCH, verbose=0, return_dict=True)
    return {"val_accuracy": found["accuracy"], "val_loss": found["cross_entropy"]}

'''

_MEASURED_TOKENS = '''
def measure(model, x, y, weight):
    """Accuracy and cross-entropy of each next token (in nats) on text that it never learned from."""
    found = model.evaluate(x, y, sample_weight=weight, batch_size=BATCH, verbose=0, return_dict=True)
    return {"val_nats_per_token": found["cross_entropy"], "val_accuracy": found["accuracy"]}

'''

_MEASURED_NUMBER = '''
def measure(model, x, y):
    """R² (1 is perfect, 0 as good as the mean) and mean absolute error, on rows that it never learned from."""
    answers = model.predict(x, batch_size=BATCH, verbose=0)[:, 0]
    predicted, wanted = in_units(answers), in_units(y)
    residual, spread = np.sum((wanted - predicted) ** 2), np.sum((wanted - wanted.mean()) ** 2)
    loss = np.mean((answers - y) ** 2)
    return {"val_r2": 1 - residual / spread, "val_mae": np.mean(np.abs(wanted - predicted)), "val_loss": loss}

'''


def _main(how: Fitting) -> str:
    tokens = how.recipe.learns.has_tokens
    lines = ["def main():", "    keras.utils.set_random_seed(SEED)"]
    given = "text" if tokens else "x, y"
    lines.append(f"    {given if tokens else f'({given})'}, unseen = load_data()")
    count = "len(text):,} tokens" if tokens else "len(x):,} examples"
    lines.append(f'    print(f"{{{count} to learn from, {{len(unseen[0]):,}} kept aside")')
    lines.append("    model = build_model()")
    if how.plan.job.model.starts_from:
        lines.append("    load_starter_weights(model)")
    lines.append('    print(f"{model.count_params():,} weights")')
    lines += _stages(how, given)
    lines += [
        "    for name, value in measure(model, *unseen).items():",
        '        print(f"{name} = {value:.6g}   the run reached {REACHED.get(name)}")',
    ]
    return "\n" + "\n".join(lines) + '\n\n\nif __name__ == "__main__":\n    main()\n'


def _stages(how: Fitting, given: str) -> list[str]:
    cycles = how.schedule.cycles
    if not how.frozen:
        planned = "STEPS" if cycles[0] == how.steps else "PLANNED_STEPS"
        return [
            f"    compile_model(model, LEARNING_RATE, {planned})",
            f"    train(model, batches({given}), unseen, STEPS)",
        ]
    vary = ", vary=False" if how.mirrors is not None else ""
    lines = [
        "    # First the last layer alone: what stands before it stays, so each example goes through that once.",
        '    features = model.get_layer("features").output',
        "    backbone, head = keras.Model(model.inputs, features), keras.Model(features, model.outputs[0])",
        "    seen, unseen_seen = (backbone.predict(one, batch_size=32, verbose=0) for one in (x, unseen[0]))",
        f"    compile_model(head, LEARNING_RATE, {cycles[0]})",
        f"    train(head, batches(seen, y{vary}), (unseen_seen, unseen[1]), FROZEN_STEPS)",
    ]
    if not how.has_second_stage:
        return [*lines, "    compile_model(model, LEARNING_RATE, STEPS)  # to measure it"]
    return [
        *lines,
        "    # Then all of it learns, at a lower rate, so that what it knew before is not undone.",
        f"    compile_model(model, LEARNING_RATE * {how.schedule.after!r}, {cycles[1]})",
        "    train(model, batches(x, y), unseen, STEPS - FROZEN_STEPS)",
    ]
