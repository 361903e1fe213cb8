"""What a causal language model takes by its description alone, before the engine has counted it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tpu_studio.planner.work import Work
from tpu_studio.wire.pretrained import decoder

_NUMBER = 2  # bytes, in bfloat16
_SCORES = 12  # bytes a score over the vocabulary: in float32 with its gradient and what softmax leaves


def guess(config: Mapping[str, object], tokens: int, rank: int, guessed: Work) -> Work:
    """*guessed*, with the weights of that `config.json`, and what they work on *tokens*.

    Forward and backward each weight is multiplied with and added (2 + 4 operations a token), of one that stays as it is
    the gradient is not worked out (2 + 2). What a block leaves behind: 34 numbers of its width a token and 5 a pair of
    tokens and head, as bytes of bfloat16 (Korthikanti et al. 2022, equation 2).

    Args:
        rank: Of the matrices that learn beside the weights; 0: all of these learn.
    """
    network = decoder.describe(config)
    every = network.numbers
    kernels = [one.shape for one in network.tensors() if one.path.startswith("block_") and len(one.shape) == 2]
    learns = rank * sum(map(sum, kernels)) if rank else every
    block = tokens * (34 * network.width + 5 * network.heads * tokens) * _NUMBER // 2
    return replace(
        guessed,
        params=learns,
        frozen=every if rank else 0,
        flops=float((4 if rank else 6) * every * tokens),
        activation_bytes=network.layers * block + tokens * network.vocabulary * _SCORES,
    )
