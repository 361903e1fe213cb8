"""The models: Keras 3 definitions that are the same in every framework.

``build`` turns a plan into a model whose outputs are plain numbers: logits for classes and tokens, one standardised
value for a regression. Layers are Keras's own and nothing else, so the finished file opens anywhere Keras does, in
safe mode, without TPU Studio. Initial weights come from numpy and are the same in TensorFlow and JAX. The loop, the
losses and the optimizer are elsewhere in ``trainer``.
"""

from __future__ import annotations

from tpu_studio.trainer.models.build import build, count_params, for_result
from tpu_studio.trainer.models.shapes import Shapes, shapes

__all__ = ["Shapes", "build", "count_params", "for_result", "shapes"]
