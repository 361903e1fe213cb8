"""ResNet-50 as Keras has it, with nothing that it has learned before."""

from typing import Any

import keras


def build_model(job: Any) -> keras.Model:
    """A keras.Model for pictures of any size, with a score for each class."""
    inputs = keras.Input(job.input_shape)
    scaled = keras.layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    network = keras.applications.ResNet50(
        weights=None, input_shape=job.input_shape, classes=job.outputs, classifier_activation=None
    )
    return keras.Model(inputs, network(scaled))
