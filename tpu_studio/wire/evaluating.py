"""How many examples are evaluated at once: one rule for the trainer, which does it, and the plan, which counts it.

A training step of that many examples on a device is known to fit, and evaluation, which keeps nothing for a backward
pass, needs less; it may take more where the widest thing that it makes stays small beside any memory.
"""

from __future__ import annotations

NUMBERS = 4_000_000  # of the widest array, on one device: 16 MB of float32, and some of them are alive at a time
MOST = 1024  # examples on one device: more a call gains nothing


def batch_of(part: int, widest: int | None, devices: int, examples: int) -> int:
    """Examples of one call of the evaluation, over all devices: a multiple of *devices*.

    As many calls as are needed share the examples out evenly, so fewer than *devices* places a call stay empty.

    Args:
        part: Examples whose gradients are worked out at once in training, over all devices.
        widest: Numbers of one example in the widest array that the model makes; None: its inside cannot be seen.
        examples: Unseen examples there are.
    """
    share = -(-part // devices)
    if widest is not None:
        share = max(share, min(MOST, NUMBERS // max(1, widest)))
    calls = max(1, -(-examples // (share * devices)))
    return max(1, -(-examples // (calls * devices))) * devices
