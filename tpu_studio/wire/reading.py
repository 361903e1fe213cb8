"""How many processes of a machine decode pictures while it trains: the trainer starts them, the plan counts on them."""

from __future__ import annotations

FEW = 4  # cores: no more than these, and decoding shares them with training
LEFT = 2  # of more cores, for training itself
MOST = 96  # each takes some 150 MB


def decoding_processes(cores: int) -> int:
    return max(1, cores) if cores <= FEW else min(MOST, cores - LEFT)
