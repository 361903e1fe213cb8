"""Reads the folder that a model begins from: what `wire.presets` knows by name is looked at here.

    reading.read(folder)    its `Preset`, or the reason why it is not taken

A package of its own, for the guardian on a rented machine has `wire`'s plain modules only, in 150 KB.
"""
