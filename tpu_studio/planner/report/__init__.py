"""A plan as one self-contained HTML page: ``page`` the words, ``plot`` time against money, ``frame`` its look."""
