"""Compare: runs beside each other."""
