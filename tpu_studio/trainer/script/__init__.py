"""A run as a short Keras script of its own ("copy as code"), which needs nothing of TPU Studio.

writing.py    puts the script together
pictures.py tables.py texts.py splitting.py    how it reads the data, and keeps the same examples aside
networks.py starters.py    how it builds the model
fitting.py    how it trains and measures
parts.py refusing.py    constants by `repr`, and what cannot be said plainly yet
checking.py    whether the script is the run's: in the engine
"""
