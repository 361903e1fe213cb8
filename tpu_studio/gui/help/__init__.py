"""Help: what an error text means."""
