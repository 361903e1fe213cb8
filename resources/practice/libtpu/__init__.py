"""Practice: stands on a practice machine where libtpu would, and knows nothing of a TPU. See `sdk.tpumonitoring`."""


def get_library_path() -> str:
    """JAX asks for it; there is no such library, and on a practice machine JAX computes on processors."""
    return ""
