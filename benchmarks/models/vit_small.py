"""ViT-S/16 (Beyer et al., 2022): 12 blocks of width 384, 6 heads, patches of 16 pixels, the mean over the patches."""

from typing import Any

import keras
from keras import layers

PATCH, WIDTH, DEPTH, HEADS = 16, 384, 12, 6


def block(x: Any) -> Any:
    """One block of a transformer, normalised before each half."""
    inside = layers.LayerNormalization(epsilon=1e-6)(x)
    x = x + layers.MultiHeadAttention(HEADS, WIDTH // HEADS)(inside, inside)
    inside = layers.LayerNormalization(epsilon=1e-6)(x)
    inside = layers.Dense(4 * WIDTH, activation="gelu")(inside)
    return x + layers.Dense(WIDTH)(inside)


def build_model(job: Any) -> keras.Model:
    """A keras.Model for pictures whose sides 16 divides, with a score for each class."""
    inputs = keras.Input(job.input_shape)
    x = layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    x = layers.Conv2D(WIDTH, PATCH, strides=PATCH)(x)
    x = layers.Reshape((-1, WIDTH))(x)
    place = keras.ops.cumsum(keras.ops.ones_like(x[:, :, 0], dtype="int32"), axis=1) - 1
    x = x + layers.Embedding(x.shape[1], WIDTH)(place)
    for _ in range(DEPTH):
        x = block(x)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    return keras.Model(inputs, layers.Dense(job.outputs)(layers.GlobalAveragePooling1D()(x)))
