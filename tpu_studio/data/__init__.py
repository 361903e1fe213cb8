"""Looks into, splits, reads and converts data sets: images, tables, text, digits, and TFRecord that we wrote.

The same code serves the window (before a run) and the trainer (during it). It imports ``wire``, numpy, Pillow and
google-crc32c; no framework, no pandas. Doors: ``look.look``, ``sources.open_data``, ``convert.convert``,
``guess.guess``, ``predicting.encode_inputs``; everything else serves these.
"""
