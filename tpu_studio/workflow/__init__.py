"""The life of a run: launch, stop, extend, resume, delete, take over after a crash. No Qt, no Google, no SQLite.

``runs.Runs`` is what the window and the command line call; ``ports`` is what it needs of others; ``decide`` holds its
decisions, pure; ``background`` is the one asyncio loop.
"""
