"""What is kept of runs beside their folders: the journal of intents, and an index that can be thrown away.

    journal.py      journal.db: intents, committed before each act; a damaged one is put aside
    index.py        rows for the list of runs, and `follow`: implements workflow's RunIndex
    follower.py     reads a run's events files as they grow; the fold and the columns come from it
    reading.py      lines to points and events, fast
    columns.py      the points of a metric on disk, with the levels of their min/max pyramid
    curve.py        looking at a part of them
    database.py     index.db; viewcodec.py: the fold as JSON

Delete ``index.db`` and ``columns/`` and nothing is lost: all is rebuilt from the run folders.
"""
