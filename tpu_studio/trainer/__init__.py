"""What runs beside the chip, in the training engine's Python: the training program, its checks, and the guardian.

Imports ``wire`` and ``data`` only. This file stays empty: the guardian imports it where nothing is installed.
"""
