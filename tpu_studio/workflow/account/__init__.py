"""What Google Cloud needs before it can lend a TPU: the checklist, its repairs, and the map of quota.

checks.py   the list in the order in which things depend on each other, and what each result means (pure)
ports.py    what the Account page and ``doctor`` need; ``cloud`` implements it
"""
