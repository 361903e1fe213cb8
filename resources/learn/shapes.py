"""A model with a mistake in its sizes: the chapter "Three broken jobs to mend" of TPU Studio's Learn finds it.

Pictures of 8 × 8 points are laid out flat, which makes 64 numbers; the layer after that is made for `takes` of them.
"""

import keras


class Product(keras.layers.Layer):
    """Inputs times weights: *takes* numbers in, *gives* numbers out."""

    def __init__(self, takes, gives):
        super().__init__()
        self.kernel = self.add_weight(shape=(takes, gives), initializer="he_normal")

    def call(self, inputs):
        return keras.ops.matmul(inputs, self.kernel)


def build_model(job):
    takes = int(job.options["takes"])
    return keras.Sequential(
        [
            keras.Input(job.input_shape, dtype=job.input_dtype),
            keras.layers.Rescaling(1 / job.input_max),
            keras.layers.Flatten(),
            Product(takes, 64),
            keras.layers.ReLU(),
            keras.layers.Dense(job.outputs),
        ]
    )
