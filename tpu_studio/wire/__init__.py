"""Records that cross machines: job, plan, events, phases, reasons, errors, names in a run folder.

Standard library only, Python 3.10 and newer: the same files run in the window, in the training engine, and
beside the chip. Nothing here opens a network connection or knows a framework.
"""
