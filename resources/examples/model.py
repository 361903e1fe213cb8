"""A model of one's own: TPU Studio calls build_model(job) and trains what it returns.

Change it as you like. The rules: the input has the shape of one example, the output one number for each class
(plain scores; TPU Studio adds the softmax itself).
"""

import keras


def build_model(job):
    """A keras.Model for pictures of 8 × 8 gray values, with scores for ten digits."""
    width = int(job["model.options"].get("width", 64))
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            keras.layers.Flatten(),
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dense(width, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
