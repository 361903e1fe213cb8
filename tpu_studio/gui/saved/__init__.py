"""A run that was saved as one page, opened again."""
