"""TPU Studio: train on this computer, rehearse on a practice cloud, then rent a Cloud TPU with the bill capped."""

__version__ = "0.1.0"
