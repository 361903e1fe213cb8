"""All runs: the table (also used by Home), the Runs page, and what can be done to a run from there."""
