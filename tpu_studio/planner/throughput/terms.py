"""The step time as a sum of terms, each a physical quantity times one coefficient.

Everything is measured in units of "the time the floating-point work would take at the bf16 peak", so a sum of 1 would
be a perfect chip and 1 / sum is the model FLOP utilisation (MFU). A term is ``coefficient × size``: sizes come from the
workload and the catalogue here; the coefficients are fitted (`fit`), starting from the physical values in `TERMS`.

Legend: F flops a unit, U units a step, N chips, P weights, peak FLOP/s of a chip, ridge = peak / memory rate (FLOP a
byte), one second of a step = peak · N / (F · U).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.domain.generations import Generation
from tpu_studio.planner.throughput.families import Family, family_of
from tpu_studio.planner.throughput.workload import Workload, precision_of, stack_of

COMPUTE, MEMORY, NETWORK, INPUT, OVERHEAD = "compute", "memory", "network", "input", "overhead"
LIMITS = (COMPUTE, MEMORY, NETWORK, INPUT, OVERHEAD)
_ATTENTION_OF_VIDEO = 0.38  # of a video transformer's work at 75,600 positions, by the formulas below
UNPUBLISHED_ICI = 400e9  # bytes/s a chip both ways, for v2 only: half of v3's links, not published

FITS_AS_IT_IS = 3e9  # weights of a model about which half keep all activations
STEP_BY_STEP = ("flax", "bigvision", "jax", "pytorch")

# Kinds of work: how much of each family's activations travel as a transformer's, a convolution net's, a UNet's.
_MIX = {
    "dense": (1.0, 0.0, 0.0),
    "moe": (1.0, 0.0, 0.0),
    "convolution": (0.0, 1.0, 0.0),
    "diffusion": (0.0, 0.0, 1.0),
    "unknown": (0.5, 0.2, 0.2),
}


@dataclass(frozen=True)
class Term:
    """Attributes:
    limit: What the person is told when this term is the largest.
    expected: The coefficient that physics suggests before any fit; `spread` its standard deviation as a logarithm.
    """

    name: str
    limit: str
    expected: float
    spread: float


TERMS = (
    # Matrix products: a v6e reached 785 to 827 of 918 TFLOP/s on large ones.
    Term("products", COMPUTE, 1.14, 0.12),
    # Part of the forward pass done again (rematerialisation), a third of the work at most; for models of some billions.
    Term("recomputing", COMPUTE, 0.2, 0.5),
    # Attention scores: softmax between two products, causal masks; flash kernels reach about 40 % of peak.
    Term("attention", COMPUTE, 2.5, 0.4),
    # Several passes of the matrix unit for one product of float32 numbers.
    Term("float32", COMPUTE, 4.0, 0.6),
    # Activations of a transformer, the share that does not shrink with width (normalisation, residuals, gathers).
    Term("streaming", MEMORY, 2.0, 0.5),
    # 34 bytes a token, layer and unit of width (Korthikanti et al. 2022), three passes, against 72 · width² operations.
    Term("narrow", MEMORY, 0.35, 0.7),
    # ResNet-50: 11.1 M activations of 2 bytes, 24.6 GFLOP. Eight passes, normalisation fused into its neighbours:
    # forward write, read for the statistics, read by the next layer; backward five. 139 FLOP a byte.
    Term("convolutions", MEMORY, 7.2, 0.4),
    # As many passes as a convolution net, of fewer activations for each operation; nothing better is published.
    Term("unet", MEMORY, 6.0, 0.7),
    # Scales and rounding of int8 training (AQT) pass through memory; fp8 of TPU7x is native and needs none.
    Term("quantising", MEMORY, 1.5, 0.6),
    # Weights, gradients and two moments read and written once a step: 24 bytes a weight.
    Term("optimizer", MEMORY, 1.0, 0.3),
    # Weights gathered twice and gradients scattered once a step, partly hidden behind the products.
    Term("gradients", NETWORK, 0.4, 0.6),
    # Experts: tokens sent to 8 experts and back, forward and backward.
    Term("routing", NETWORK, 1.0, 0.6),
    # Experts: small uneven products, by the share of weights that a token uses.
    Term("experts", COMPUTE, 0.5, 0.8),
    # Several slices over the data-centre network.
    Term("slices", NETWORK, 0.3, 0.7),
    # Convolutions on few pictures: a batch below 8 a device pads the tiles of 8 × 128; the compiler avoids about half.
    Term("padding", COMPUTE, 0.5, 0.5),
    # Sums over the whole slice that are small but many (a gradient and a statistic for each layer): about 1 µs for each
    # hop across a torus of √N × √N chips, some hundred times a step; here in milliseconds a hop.
    Term("latency", NETWORK, 0.1, 1.0),
    # Start of a step, in milliseconds.
    Term("launch", OVERHEAD, 2.0, 1.0),
    # More where Python on each of several hosts starts every step: all wait for the slowest. On one host the next step
    # is started while the last one runs, and nothing is lost.
    Term("dispatch", OVERHEAD, 20.0, 0.7),
    # Processor time of the host for one picture of 224 pixels, in milliseconds: 100 to 200 files a second and vCPU.
    # It runs beside the device, so only the slower of the two counts (`model.evaluate`); this term must stay the last.
    Term("decoding", INPUT, 7.0, 0.3),
)


@dataclass(frozen=True)
class Sized:
    """A workload with everything filled in, and the sizes of its terms.

    Attributes:
        flops: Work of one unit; `flops_known` is false when it had to be estimated.
        sizes: In the order of `TERMS`.
        family, generation, stack: Names of the groups that share a correction; "" for none.
        chips: As told, or the smallest slice.
    """

    flops: float
    flops_known: bool
    params_known: bool
    batch_known: bool
    chips: int
    peak: float
    fastest: float
    sizes: tuple[float, ...]
    family: str
    kind: str
    generation: str
    stack: str
    unit: str

    def units_per_s(self, mfu: float) -> float:
        return mfu * self.peak * self.chips / self.flops

    def mfu(self, units_per_s: float) -> float:
        return units_per_s * self.flops / (self.peak * self.chips)


def size(workload: Workload, catalogue: Catalogue) -> Sized:
    """Raises BadInput ``generation-unknown`` unless the workload's generation is one of the catalogue's."""
    generation = catalogue.generation(workload.generation or "")
    family = family_of(workload.family)
    family = replace(family, unit=workload.unit) if workload.unit else family
    chips = workload.chips or generation.slices[0].chips
    params = workload.params or family.params
    positions = _positions(workload, family)
    flops = workload.flops_per_unit_train or estimated_flops(family, params, positions, workload)
    width = _width(flops / (6 * positions) if family.kind == "moe" else params)
    attention = _attention_share(workload, family, flops, params, positions)
    share = min(1.0, max(0.002, flops * (1 - attention) / (6 * params * positions)))
    peak = generation.peak_bf16_flops
    hbm = (generation.value("hbm_rate") or 1.0) * 1e9
    ici = (generation.value("ici_rate") or 0.0) * 1e9 or UNPUBLISHED_ICI
    ridge = peak / hbm / 1000
    units = _units_per_step(workload, family, chips, positions)
    second = peak * chips / (flops * units)
    precision = precision_of(workload.precision) or "bf16"
    faster = peak / generation.peak_flops(precision)
    wide = 2.0 if precision == "fp32" else 1.0
    dense, convolution, unet = _MIX[family.kind]
    moe = family.kind == "moe"
    replicated = params * 16 < hbm_bytes(generation) / 4  # small models are copied to every chip, larger ones sharded
    slices = max(1.0, chips / generation.max_chips)
    stepped = stack_of(workload.framework) in STEP_BY_STEP
    exchanged = params * 6 / (ici / 2) * (1 - 1 / chips)
    sizes = {
        "products": (1 - attention) * faster,
        "recomputing": (1 - attention) * faster * params / (params + FITS_AS_IT_IS)
        if family.kind in ("dense", "moe")
        else 0.0,
        "attention": attention,
        "float32": 1.0 if precision == "fp32" else 0.0,
        "streaming": dense * ridge * wide,
        "narrow": dense * ridge * wide * 4096 / width,
        "convolutions": convolution * ridge * wide * family.activations,
        "unet": unet * ridge * wide,
        "quantising": ridge if precision == "int8" and faster < 1 else 0.0,
        "optimizer": 24 * params / hbm * (1 if replicated else 1 / chips) * second,
        "gradients": exchanged * second,
        "routing": 8 / (6 * width) * peak / (ici / 2) if moe else 0.0,
        "experts": 0.1 / share if moe else 0.0,
        "slices": math.log2(slices) / 10 if slices > 1 else 0.0,
        "padding": _padding(workload, family, generation, chips) - 1,
        "latency": math.sqrt(chips) * second / 1000 if chips > 1 else 0.0,
        "launch": second / 1000,
        "dispatch": second / 1000 if stepped and generation.vms_for(chips) > 1 else 0.0,
        "decoding": _pictures(workload, family) * peak * chips / flops / generation.vcpus_for(chips) / 1000,
    }
    return Sized(
        flops,
        workload.flops_per_unit_train is not None,
        workload.params is not None,
        workload.global_batch is not None,
        chips,
        peak,
        1 / faster,
        tuple(sizes[term.name] for term in TERMS),
        family.name,
        family.kind,
        generation.id,
        stack_of(workload.framework),
        family.unit,
    )


def hbm_bytes(generation: Generation) -> float:
    return (generation.value("hbm") or 16) * 2**30


def estimated_flops(family: Family, params: float, positions: float, workload: Workload) -> float:
    """6 operations a weight and position (Kaplan et al. 2020), attention by a transformer of the usual shape."""
    if family.kind in ("convolution",):
        side = workload.image_size or family.image_size
        return 6 * params * side * side / family.stride**2
    active = params * (0.15 if family.kind == "moe" else 1.0)
    length = workload.sequence_length or 0
    return (6 * active + _attention_flops(active, length)) * positions


def _attention_flops(params: float, length: float) -> float:
    """A token's causal attention: 6 · layers · width · length, with layers · width = weights / (12 · width)."""
    return 6 * params / (12 * _width(params)) * length


def _attention_share(workload: Workload, family: Family, flops: float, params: float, positions: float) -> float:
    """Share of the work that is attention: what the weights do not explain; by shape where experts hide it."""
    if family.kind in ("convolution", "unknown") or not positions:
        return 0.0
    token = flops / positions
    length = workload.sequence_length or (family.tokens if family.tokens > 1 else 0)
    if family.kind == "moe":
        return min(0.5, _attention_flops(token / 6, length) / token)
    if family.unit == "video sample" and not workload.sequence_length:
        return _ATTENTION_OF_VIDEO
    if workload.params is None or workload.flops_per_unit_train is None:
        return min(0.9, _attention_flops(params, length) / token)
    return min(0.9, max(0.0, 1 - 6 * params / token))


def _width(params: float) -> float:
    """Width of a transformer with that many weights in its blocks, 100 times as wide as deep: 12 · width² · layers."""
    return min(24_576.0, max(64.0, math.cbrt(params * 100 / 12)))


def _positions(workload: Workload, family: Family) -> float:
    """Tokens or patches in one unit."""
    if family.unit in ("token", "example"):
        return 1.0
    if family.unit == "image" and family.kind == "dense":
        side = workload.image_size or family.image_size or 224
        return max(1.0, (side / 16) ** 2)
    if family.unit in ("sequence", "video sample"):
        return float(workload.sequence_length or max(2, family.tokens))
    if family.kind == "diffusion":
        return float((workload.image_size or family.image_size) / 8) ** 2
    return float(workload.sequence_length or 1)


def _units_per_step(workload: Workload, family: Family, chips: int, positions: float) -> float:
    if workload.global_batch is None:
        return family.batch * chips
    if family.unit == "token":
        return workload.global_batch * float(workload.sequence_length or 2048)
    return float(workload.global_batch)


def _padding(workload: Workload, family: Family, generation: Generation, chips: int) -> float:
    """Padded against real pictures of a device's part of the batch, rows of 8; less than one is one picture cut up."""
    if family.kind not in ("convolution", "diffusion") or family.unit != "image":
        return 1.0
    part = max(1.0, (workload.global_batch or family.batch * chips) / (chips * generation.devices_per_chip))
    return math.ceil(part / 8) * 8 / part


def _pictures(workload: Workload, family: Family) -> float:
    """Pictures to decode for a unit, in pictures of 224 pixels; files are larger than what is cut out of them."""
    if not family.pictures:
        return 0.0
    side = workload.image_size or family.image_size
    return max(0.25, side / 224)
