"""A run as a short Keras script of its own ("copy as code"), which needs nothing of TPU Studio.

writing.py    puts the script together
pictures.py tables.py texts.py splitting.py    how it reads the data, and keeps the same examples aside
networks/     how it builds the model: a module for each builder of a family
fitting.py    how it trains and measures
parts.py refusing.py    constants by `repr`, and what cannot be said plainly yet
checking.py    whether the script is the run's: in the engine
"""
