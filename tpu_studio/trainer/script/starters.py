"""How a script gives a model its starter weights: the published names of tensors beside the names of layers here."""

from __future__ import annotations

_LOAD = '''
def load_starter_weights(model):
    """Give every weight but the answer's what the published file has: (name here, name there, order of the axes)."""
    tensors, weights = load_file(STARTER_WEIGHTS), {weight.path: weight for weight in model.weights}
    for here, there, axes in starter_names():
        weights[here].assign(np.transpose(tensors[there], axes))

'''

PICTURE_WEIGHTS = (
    '''
def starter_names():
    """Of a PyTorch file, whose kernels are output × input × height × width."""
    layers = [("stem", "_conv_stem", "_bn0"), ("top", "_conv_head", "_bn1")]
    number = 0
    for blocks, _, _, expand, _ in STAGES:
        for _ in range(blocks):
            here, there = f"block_{number}", f"_blocks.{number}"
            if expand != 1:
                layers.append((f"{here}_expand", f"{there}._expand_conv", f"{there}._bn0"))
            layers.append((f"{here}_depthwise", f"{there}._depthwise_conv", f"{there}._bn1"))
            layers.append((f"{here}_project", f"{there}._project_conv", f"{there}._bn2"))
            number += 1
    norms = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}
    for here, convolution, norm in layers:
        axes = (2, 3, 0, 1) if here.endswith("_depthwise") else (2, 3, 1, 0)
        yield f"{here}_convolution/kernel", f"{convolution}.weight", axes
        for mine, theirs in norms.items():
            yield f"{here}_norm/{mine}", f"{norm}.{theirs}", (0,)

'''
    + _LOAD
)

ENCODER_WEIGHTS = (
    '''
def starter_names():
    """Of a Hugging Face file, whose kernels are output × input."""
    for here, there in (("tokens", "word"), ("places", "position"), ("parts", "token_type")):
        yield f"{here}/embeddings", f"embeddings.{there}_embeddings.weight", (0, 1)
    dense, norms = [], [("embedding_norm", "embeddings.LayerNorm")]
    for number in range(LAYERS):
        here, there = f"block_{number}", f"encoder.layer.{number}"
        dense += [(f"{here}_{part}", f"{there}.attention.self.{part}") for part in ("query", "key", "value")]
        dense += [(f"{here}_attention_out", f"{there}.attention.output.dense")]
        dense += [(f"{here}_mlp_in", f"{there}.intermediate.dense"), (f"{here}_mlp_out", f"{there}.output.dense")]
        norms += [(f"{here}_attention_norm", f"{there}.attention.output.LayerNorm")]
        norms += [(f"{here}_mlp_norm", f"{there}.output.LayerNorm")]
    for here, there in dense:
        yield f"{here}/kernel", f"{there}.weight", (1, 0)
        yield f"{here}/bias", f"{there}.bias", (0,)
    for here, there in norms:
        yield f"{here}/gamma", f"{there}.weight", (0,)
        yield f"{here}/beta", f"{there}.bias", (0,)

'''
    + _LOAD
)
