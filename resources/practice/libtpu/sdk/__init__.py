"""Practice: the part of libtpu that tells of the chips."""
