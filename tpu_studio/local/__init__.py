"""This computer as a place where a plan runs, and the installer of the training engine."""
