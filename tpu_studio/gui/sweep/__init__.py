"""Everything that may cost money."""
