"""What is known of a family of models before anything is measured: its kind of work and its usual size.

Used to fill in what a workload leaves open, and to choose the terms of the step-time model (`terms`). A family that
is not named here is taken for something between a dense transformer and a convolution net, with a wide range.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """One family of models.

    Attributes:
        kind: dense (matrix products), moe (experts), convolution, diffusion, unknown.
        unit: What its throughput is counted in.
        params: Weights of a typical member.
        tokens: Positions a unit is made of when `sequence_length` is not told (1 for a unit that is a token).
        image_size: Usual side of a picture, 0 where there is none.
        stride: Such that 6 · weights · pixels / stride² is the work of one picture, convolution only: it is the
            pixels one application of a weight stands for, averaged over the layers.
        activations: Memory traffic of activations per unit of work, ResNet-50 being 1.
        batch: Units a chip works on in one step when the batch is not told.
        pictures: Whether the host must decode a picture for each unit.
    """

    name: str
    kind: str
    unit: str
    params: float
    tokens: int = 1
    image_size: int = 0
    stride: float = 16.0
    activations: float = 1.0
    batch: float = 128.0
    pictures: bool = False


# stride: from published multiply-adds: ResNet-50 4.1 G at 224 px (He et al. 2016); EfficientNet-B0 0.39 G at 224 px
# (Tan and Le 2019); Mask R-CNN R50-FPN about 260 G at 800 × 1333 px, RetinaNet R50 97 G at 640 px, SSD-ResNet34 216 G
# at 1200 px (the model zoos of torchvision, the TensorFlow model garden and MLPerf inference).
# activations: output elements of all convolutions per multiply-add, EfficientNet-B0 6.7 M at 0.39 G against ResNet-50's
# 11.1 M at 4.1 G (Radosavovic et al. 2020, Designing network design spaces). All recalled, not looked up.
FAMILIES = {
    family.name: family
    for family in (
        Family("llm-dense", "dense", "token", 8e9, batch=16_384),
        Family("llm-moe", "moe", "token", 1e11, batch=32_768),
        Family("bert", "dense", "sequence", 3.35e8, tokens=512, batch=24),
        Family("t5", "dense", "sequence", 1.1e10, tokens=512, batch=4),
        Family("transformer-mt", "dense", "token", 2.1e8, batch=16_384),
        Family("vit", "dense", "image", 8.6e7, tokens=196, image_size=224, batch=64, pictures=True),
        Family("resnet", "convolution", "image", 2.56e7, image_size=224, stride=17.7, batch=128, pictures=True),
        Family(
            "efficientnet", "convolution", "image", 5.3e6, image_size=224, stride=26.0, activations=6.2, pictures=True
        ),
        Family("detection", "convolution", "image", 4e7, image_size=640, stride=12.6, batch=8, pictures=True),
        Family("cnn", "convolution", "image", 1e6, image_size=64, stride=10.0, activations=2.0, pictures=True),
        Family("mlp", "dense", "example", 1e6, batch=1024),
        Family("diffusion", "diffusion", "image", 8.65e8, tokens=4096, image_size=512, batch=4),
    )
}
UNKNOWN = Family("", "unknown", "unit", 1e9, tokens=1, batch=128)

# Names people write for the families above.
ALIASES = {
    "llm": "llm-dense",
    "gpt": "llm-dense",
    "gpt2": "llm-dense",
    "gpt-2": "llm-dense",
    "llama": "llm-dense",
    "transformer": "llm-dense",
    "moe": "llm-moe",
    "resnet50": "resnet",
    "resnet-50": "resnet",
    "small-cnn": "cnn",
    "vision-transformer": "vit",
    "text-classifier": "bert",
    "mixer": "vit",
    "unet": "diffusion",
    "object-detection": "detection",
    "translation": "transformer-mt",
}


def family_of(name: str | None) -> Family:
    """The family called *name*, or `UNKNOWN`."""
    key = (name or "").strip().lower()
    return FAMILIES.get(ALIASES.get(key, key), UNKNOWN)
