"""The nouns of the window and the command line: job file, run as seen on screen, sentences, observable state.

No Qt, no network, no clock of its own. Imports ``wire`` only (and tomlkit, numpy).
"""
