"""Loss, metrics and optimizer of a training step, once, for every framework.

Pure functions over lists of tensors, written with `keras.ops`; `step_jax` and `step_tf` only add differentiation, the
loop over steps and the devices. Nothing here keeps state. Shapes: B examples, C classes, L labels, T tokens,
V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from keras import ops

from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.varying import before, own_share

Tensor = Any
OF_EACH_EXAMPLE = ("predicted", "wanted")
"""What `evaluation` tells of each example, and not as a sum over them."""


def loss_terms(
    recipe: Recipe,
    outputs: Tensor,
    y: Tensor,
    weight: Tensor | None,
    *,
    training: bool,
    mix: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum of the losses, sum of the weights, and sum of right answers (0 for regression and labels), all float32.

    Args:
        outputs: BxC, BxL or BxTxV logits, or Bx1 standardised numbers, in any float type.
        y: B or BxT whole labels, BxL of 1 and 0, or B standardised numbers.
        weight: B or the shape of *y*; None counts every element once. Of labels each example counts once.
        mix: How pictures were mixed (`augment.mixes`): the loss is that of both classes, each by its share, and right
            is who names the larger one.
    """
    outputs = ops.cast(outputs, "float32")
    if recipe.learns.has_number:
        loss = ops.square(ops.reshape(outputs, ops.shape(y)) - ops.cast(y, "float32"))
        right = None
    else:
        entropy = _binary_cross_entropy if recipe.learns.has_labels else _cross_entropy
        loss = entropy(recipe, outputs, y, training=training)
        if mix is not None:
            share = own_share(mix)
            loss = share * loss + (1.0 - share) * entropy(recipe, outputs, before(y), training=training)
        right = None
    if recipe.learns.has_classes or recipe.learns.has_tokens:
        right = ops.cast(ops.equal(ops.argmax(outputs, axis=-1), ops.cast(y, "int32")), "float32")
    if weight is None:
        count = ops.cast(ops.prod(ops.array(loss.shape, dtype="int32")), "float32")
        return ops.sum(loss), count, ops.sum(right) if right is not None else ops.zeros(())
    weight = ops.cast(weight, "float32")
    while len(weight.shape) < len(loss.shape):
        weight = ops.expand_dims(weight, -1)
    weight = weight * ops.ones_like(loss)
    return ops.sum(loss * weight), ops.sum(weight), ops.sum(right * weight) if right is not None else ops.zeros(())


def _cross_entropy(recipe: Recipe, outputs: Tensor, y: Tensor, *, training: bool) -> Tensor:
    """Of each label, in the shape of *y*."""
    smoothing = recipe.label_smoothing if training else 0.0
    log_sum = ops.logsumexp(outputs, axis=-1)
    # One-hot instead of a gather: the gradient of a gather is a scatter, which XLA runs one by one.
    asked = ops.one_hot(y, outputs.shape[-1], dtype="float32")
    loss = log_sum - ops.sum(outputs * asked, axis=-1)
    if smoothing:
        loss = (1.0 - smoothing) * loss + smoothing * (log_sum - ops.mean(outputs, axis=-1))
    if training and recipe.class_weights:  # 1 in the mean: sums of examples stay what they are
        loss = loss * ops.sum(asked * ops.array(recipe.class_weights, dtype="float32"), axis=-1)
    return loss


def _binary_cross_entropy(recipe: Recipe, outputs: Tensor, y: Tensor, *, training: bool) -> Tensor:
    """Of each example, the mean over its labels, each of which is a yes or no by itself. Smoothed as Keras does it: for
    1 and 0 the model is asked for 1 − s/2 and s/2."""
    has = ops.cast(y, "float32")
    smoothing = recipe.label_smoothing if training else 0.0
    asked = has * (1.0 - smoothing) + 0.5 * smoothing if smoothing else has
    loss = ops.softplus(outputs) - outputs * asked
    if training and recipe.class_weights:
        present, absent = (ops.array(one, dtype="float32") for one in (recipe.class_weights, recipe.absent_weights))
        loss = loss * (has * present + (1.0 - has) * absent)
    return ops.mean(loss, axis=-1)


def evaluation(recipe: Recipe, outputs: object, batch: Mapping[str, Tensor]) -> dict[str, Any]:
    """Sums over a padded batch; for regression each prediction, so that the host measures in real units; for labels how
    many examples are said to have each and do, are said to, and do (L; said from a probability of a half on)."""
    loss, total, right = loss_terms(recipe, outputs, batch["y"], batch["weight"], training=False)
    told = {"loss": loss, "total": total}
    if recipe.learns.has_number:
        told["predicted"] = ops.reshape(ops.cast(outputs, "float32"), (-1,))
        told["wanted"] = ops.reshape(ops.cast(batch["y"], "float32"), (-1,))  # of several machines' examples, all
    elif recipe.learns.has_labels:
        counted = ops.cast(ops.reshape(batch["weight"], (-1, 1)), "float32")
        has = ops.cast(batch["y"], "float32")
        said = ops.cast(ops.greater_equal(ops.cast(outputs, "float32"), 0.0), "float32")
        told |= {
            name: ops.sum(one * counted, axis=0) for name, one in (("hits", has * said), ("said", said), ("has", has))
        }
    else:
        told["right"] = right
    return told


def told_names(recipe: Recipe) -> tuple[str, ...]:
    """Of `step_metrics`."""
    return ("loss", "grad_norm", "accuracy") if recipe.learns.has_classes else ("loss", "grad_norm")


def step_metrics(recipe: Recipe, loss: Tensor, total: Tensor, right: Tensor, norm: Tensor) -> dict[str, Tensor]:
    """What one step of training measures, of sums over its batch and the norm of its gradient (`update`)."""
    told = {"loss": loss / total, "grad_norm": norm}
    if recipe.learns.has_classes:
        told["accuracy"] = right / total
    return told


def global_norm(tensors: Sequence[Tensor]) -> Tensor:
    """Euclidean norm of all numbers in *tensors* together, float32."""
    total = ops.zeros((), "float32")
    for tensor in tensors:
        total = total + ops.sum(ops.square(ops.cast(tensor, "float32")))
    return ops.sqrt(total)


def update(
    recipe: Recipe,
    decays: Sequence[bool],
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    total: Tensor,
    slots: Sequence[Sequence[Tensor]],
    rate: Tensor,
    step: Tensor,
) -> tuple[list[Tensor], list[list[Tensor]], Tensor]:
    """One optimizer step.

    Args:
        gradients: Of the sum of the losses; *total*, the sum of the weights of the examples, makes a mean of it.
        decays: For each weight whether weight decay falls on it.
        slots: One list per name in ``recipe.slots``, each as long as *weights*.
        rate: Learning rate of this step, float32 scalar.
        step: Number of this step, counted from 1, float32 scalar.

    Returns:
        The new weights, the new slots, and the norm of the gradient before clipping.
    """
    norm = global_norm(gradients) / total
    scale = 1.0 / total  # one factor for the mean and for clipping: gradients are gone through once
    if recipe.clip_norm:
        scale = scale * ops.minimum(1.0, recipe.clip_norm / (norm + 1e-6))
    gradients = [gradient * scale for gradient in gradients]
    if recipe.optimizer == "adamw":
        new_weights, new_slots = _adamw(recipe, decays, weights, gradients, slots, rate, step)
    else:
        new_weights, new_slots = _sgd(recipe, decays, weights, gradients, slots, rate)
    return new_weights, new_slots, norm


def _adamw(
    recipe: Recipe,
    decays: Sequence[bool],
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    slots: Sequence[Sequence[Tensor]],
    rate: Tensor,
    step: Tensor,
) -> tuple[list[Tensor], list[list[Tensor]]]:
    """Loshchilov and Hutter 2019, algorithm 2, with the two bias corrections folded into scalars."""
    b1, b2 = recipe.beta1, recipe.beta2
    bias1 = 1.0 - ops.exp(step * math.log(b1))
    root_bias2 = ops.sqrt(1.0 - ops.exp(step * math.log(b2)))
    size = rate * root_bias2 / bias1
    epsilon = recipe.epsilon * root_bias2
    new_weights, first, second = [], [], []
    for decay, weight, gradient, m, v in zip(decays, weights, gradients, slots[0], slots[1], strict=True):
        m = b1 * m + (1.0 - b1) * gradient
        v = b2 * v + (1.0 - b2) * gradient * gradient
        kept = weight * (1.0 - rate * recipe.weight_decay) if decay and recipe.weight_decay else weight
        new_weights.append(kept - size * m / (ops.sqrt(v) + epsilon))
        first.append(m)
        second.append(v)
    return new_weights, [first, second]


def _sgd(
    recipe: Recipe,
    decays: Sequence[bool],
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    slots: Sequence[Sequence[Tensor]],
    rate: Tensor,
) -> tuple[list[Tensor], list[list[Tensor]]]:
    """Nesterov momentum as Sutskever et al. 2013 reformulated it for gradients at the current point."""
    new_weights, velocities = [], []
    for decay, weight, gradient, velocity in zip(decays, weights, gradients, slots[0], strict=True):
        velocity = recipe.momentum * velocity + gradient
        direction = gradient + recipe.momentum * velocity
        kept = weight * (1.0 - rate * recipe.weight_decay) if decay and recipe.weight_decay else weight
        new_weights.append(kept - rate * direction)
        velocities.append(velocity)
    return new_weights, [velocities]
