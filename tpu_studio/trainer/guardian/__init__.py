"""The guardian of one attempt: starts the trainer, writes its events, keeps its limits, and names its end.

It runs detached, so the app may close or die. Standard library and ``wire`` only, Python 3.10 and newer: the same files
run on this computer and, as ``guardian.pyz``, on a machine where nothing is installed.

    claim.. ▶ turnstile ▶ trainer (child.py) ▶ events file (appending.py) ▶ end (ending.py)
                 keeper.py ties them together; it obeys wire.limits and wire.controls
"""
