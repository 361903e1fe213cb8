"""A model with an operation that no TPU has: the chapter "Three broken jobs to mend" of TPU Studio's Learn finds it.

Each picture is made symmetric, and described by its eigenvalues as well as by its points. `eig` works for any matrix
and exists on processors and GPUs only; `eigh` is for symmetric ones, which these are, and exists on a TPU too.
"""

import keras


class Eigenvalues(keras.layers.Layer):
    """Of each picture [batch, 8, 8, 1]: 8 real numbers."""

    def __init__(self, solver):
        super().__init__()
        self.solver = solver

    def call(self, pictures):
        squares = keras.ops.cast(pictures[..., 0], "float32")  # eigenvalues need more digits than bfloat16 has
        squares = squares + keras.ops.transpose(squares, (0, 2, 1))
        if self.solver == "eig":
            values = keras.ops.eig(squares)[0]
        else:
            values = keras.ops.eigh(squares)[0]
        return keras.ops.cast(keras.ops.abs(values), self.compute_dtype)


def build_model(job):
    inputs = keras.Input(job.input_shape, dtype=job.input_dtype)
    pictures = keras.layers.Rescaling(1 / job.input_max)(inputs)
    described = keras.layers.Concatenate()(
        [keras.layers.Flatten()(pictures), Eigenvalues(job.options["solver"])(pictures)]
    )
    hidden = keras.layers.Dense(64, activation="relu")(described)
    return keras.Model(inputs, keras.layers.Dense(job.outputs)(hidden))
