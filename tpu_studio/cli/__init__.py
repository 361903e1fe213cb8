"""The command line: the same services as the window, for scripts, tests and people who like a terminal. Never Qt.

main.py      entry and the one place where errors become words and exit codes
parser.py    verbs, options and an example each
output.py    one JSON object on stdout, words and a progress bar on stderr
studio.py    the services, built on first need
planning.py running.py keeping.py importing.py exporting.py engine.py converting.py predicting.py  …  the verbs
"""
