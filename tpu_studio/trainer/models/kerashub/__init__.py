"""The networks of KerasHub's picture backbones in plain Keras layers, and where their weights stand in its files.

One module a backbone, which `wire.presets` names:

    body(x, config)                  pictures, scaled → what the network sees in them, by a layer called "features"
    weights(model, config, read)     of each weight of that body: its path here, and its value from the file

KerasHub is not needed, neither to train nor to open a result. What is read of its files is its `save_to_preset` of
version 0.32: a group a layer, in the order of the model's layers, each with its variables by number.
"""
