"""A causal language model as a Hugging Face folder describes it: sizes, what its blocks have, and names of its tensors.

The `config.json` of `transformers` (5.24, read beside its own networks): GPT-2, Llama (SmolLM too), Mistral, Qwen2,
Qwen3 and Gemma 3 of text alone differ in a dozen traits, which `Decoder` has; what changes the answer and is not among
them is refused, never left out. No framework here: `trainer.models.causal` builds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_MOST = 1_000_000  # of a size: rows of a table of tokens
_LAYERS = 400
_LONGEST_WORD = 60  # letters of a name of a trait, or of what it is
_LEAST_NUMBER, _MOST_NUMBER = 1e-12, 1e12  # of others: what is worked out of them is finite
_KINDS = ("gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma3_text")
_WIDEST = 8, 65_536  # numbers of all heads: times the width (Qwen3 has twice as much), or however small that is
_HEADS = {"qwen3": 128, "gemma3_text": 256}  # numbers a head, where a description does not say it
_WINDOW = 4096  # where a description does not say it
_LOOKS = ("sliding_attention", "full_attention")  # of a block: back over a window, or over all
ACTIVATIONS = {"silu": "silu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}


@dataclass(frozen=True)
class Rope:
    """Rotary positions (Su et al. 2021). *stretch*: factor, low and high frequency factor and the length before, as
    Llama 3.1 has them; *factor*: of plain stretching (Chen et al. 2023)."""

    theta: float
    factor: float = 1.0
    stretch: tuple[float, float, float, float] | None = None

    def frequencies(self, size: int) -> list[float]:
        """Radians a place, of each pair of *size* numbers."""
        plain = [self.theta ** -(pair / size) for pair in range(0, size, 2)]
        if self.stretch is None:
            return [one / self.factor for one in plain]
        factor, low, high, before = self.stretch
        return [_stretched(one, factor, low, high, before) for one in plain]


def _stretched(frequency: float, factor: float, low: float, high: float, before: float) -> float:
    wave = 2 * math.pi / frequency
    if wave < before / high:
        return frequency
    if wave > before / low:
        return frequency / factor
    share = (before / wave - low) / (high - low)
    return (1 - share) * frequency / factor + share * frequency


@dataclass(frozen=True)
class Tensor:
    """*path*: of the weight here; *name*: in the folder; *shape*: there. *turned*: output × input there. *rows*: part
    of the last axis, from and to. *plus*: what is added to each number."""

    path: str
    name: str
    shape: tuple[int, ...]
    turned: bool = False
    part: tuple[int, int] | None = None
    plus: float = 0.0


@dataclass(frozen=True)
class Decoder:
    """Attributes:
    width, heads, kv_heads, head_size, inner: Numbers a token, heads of queries, of keys and values, numbers a head, and
        of the layer between.
    longest: Tokens that it has learned to read at once.
    rope: None: learned places. *local_rope*: of the blocks that look back *window* tokens alone (*local*).
    rms: Norms divide by the root of the mean square; else mean and variance (LayerNorm, with a bias).
    gated: The layer between is a product of two (Shazeer 2020).
    head_norms, post_norms: Norms of queries and keys; norms behind attention and behind the layers, too.
    scale: Of the scores before softmax.
    embedding_scale: What the table's rows are multiplied with.
    norm_plus: Added to each weight of a norm.
    prefix: Of the names of tensors, up to blocks.
    """

    kind: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_size: int
    inner: int
    vocabulary: int
    longest: int
    epsilon: float
    activation: str
    rope: Rope | None
    local_rope: Rope | None = None
    window: int = 0
    local: tuple[bool, ...] = ()
    rms: bool = True
    gated: bool = True
    tied: bool = False
    qkv_bias: bool = False
    out_bias: bool = False
    inner_bias: bool = False
    head_norms: bool = False
    post_norms: bool = False
    scale: float = 1.0
    embedding_scale: float = 1.0
    norm_plus: float = 0.0

    @property
    def is_gpt2(self) -> bool:
        return self.kind == "gpt2"

    @property
    def numbers(self) -> int:
        """Of all its tensors; of GPT-2 three weights are parts of one."""
        return sum(math.prod(shape) for shape in {one.name: one.shape for one in self.tensors()}.values())

    def tensors(self) -> Iterator[Tensor]:
        """Of all weights, by what GPT-2's file and the others' call them."""
        yield from _of_gpt2(self) if self.is_gpt2 else _of_llama(self)


class Unknown(ValueError):
    """A trait that is not known here: one sentence."""


def describe(config: Mapping[str, object]) -> Decoder:
    """The network of a `config.json`.

    Raises:
        Unknown: It has traits that are not known here, or sizes that no network has.
    """
    kind = str(config.get("model_type"))
    if kind not in _KINDS:
        raise Unknown(f"“{kind[:40]}” is not known here.")
    found = _gpt2(config) if kind == "gpt2" else _llama(kind, config)
    if found.heads % found.kv_heads or found.head_size % 2:
        raise Unknown("Its heads do not go together.")
    if found.heads * found.head_size > max(_WIDEST[0] * found.width, _WIDEST[1]):
        raise Unknown(f"Its {found.heads:,} heads have far more numbers than its width, {found.width:,}.")
    if found.rope is None and found.width != found.heads * found.head_size:
        raise Unknown("Its heads do not make up its width.")
    return found


def traits(config: Mapping[str, object]) -> dict[str, object]:
    """What of *config* says the network, and no more of it: others write names and paths into theirs.

    Raises:
        Unknown: as `describe`.
    """
    told = _Asked(config)
    describe(told)
    return {name: value for name, value in _plain(config).items() if name in told.asked}


def _plain(table: Mapping[str, object], levels: int = 3) -> dict[str, object]:
    """What any JSON can hold, of no odd size; what was read of a description is all of that."""
    found: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict) and levels > 1:
            found[name] = _plain(value, levels - 1)
        elif _is_plain(value) or (isinstance(value, list) and len(value) <= _LAYERS and all(map(_is_plain, value))):
            found[name] = value
    return {name: value for name, value in found.items() if _is_plain(name)}


def _is_plain(value: object) -> bool:
    if isinstance(value, str):
        return value.isascii() and len(value) <= _LONGEST_WORD
    return value is None or (isinstance(value, bool | int | float) and -_MOST_NUMBER <= value <= _MOST_NUMBER)


class _Asked(dict[str, object]):
    """Knows what was asked of it."""

    def __init__(self, config: Mapping[str, object]) -> None:
        super().__init__(config)
        self.asked: set[str] = set()

    def get(self, name: str, usual: object = None) -> object:
        self.asked.add(name)
        return super().get(name, usual)


def _gpt2(config: Mapping[str, object]) -> Decoder:
    width, heads = _size(config, "n_embd"), _size(config, "n_head")
    _refuse(config, "scale_attn_by_inverse_layer_idx", "add_cross_attention")
    if not _flag(config, "scale_attn_weights", True):
        raise Unknown("“scale_attn_weights” is not known here.")
    return Decoder(
        "gpt2",
        _layers(config, "n_layer"),
        width,
        heads,
        heads,
        max(1, width // heads),
        _size(config, "n_inner", 4 * width),
        _size(config, "vocab_size"),
        _size(config, "n_positions"),
        _number(config, "layer_norm_epsilon", 1e-5),
        _activation(config, "activation_function", "gelu_new"),
        None,
        rms=False,
        gated=False,
        tied=_flag(config, "tie_word_embeddings", True),
        qkv_bias=True,
        out_bias=True,
        inner_bias=True,
        scale=1 / math.sqrt(max(1, width // heads)),
    )


def _llama(kind: str, config: Mapping[str, object]) -> Decoder:
    gemma = kind == "gemma3_text"
    width, heads, layers = _size(config, "hidden_size"), _size(config, "num_attention_heads"), _layers(config)
    head = _size(config, "head_dim", _HEADS.get(kind, max(1, width // heads)))
    _refuse(config, "attn_logit_softcapping", "final_logit_softcapping", "use_bidirectional_attention")
    bias = kind in ("llama", "qwen3", "gemma3_text") and _flag(config, "attention_bias", False)
    window, local = _windows(kind, config, layers)
    rope, local_rope = _ropes(config, gemma)
    return Decoder(
        kind,
        layers,
        width,
        heads,
        _size(config, "num_key_value_heads", heads),
        head,
        _size(config, "intermediate_size"),
        _size(config, "vocab_size"),
        _size(config, "max_position_embeddings"),
        _number(config, "rms_norm_eps", 1e-6),
        _activation(config, "hidden_activation" if gemma else "hidden_act", "gelu_pytorch_tanh" if gemma else "silu"),
        rope,
        local_rope,
        window,
        local,
        tied=_flag(config, "tie_word_embeddings", gemma),
        qkv_bias=bias or kind == "qwen2",
        out_bias=bias,
        inner_bias=kind == "llama" and _flag(config, "mlp_bias", False),
        head_norms=gemma or kind == "qwen3",
        post_norms=gemma,
        scale=1 / math.sqrt(_number(config, "query_pre_attn_scalar", 256) if gemma else head),
        embedding_scale=math.sqrt(width) if gemma else 1.0,
        norm_plus=1.0 if gemma else 0.0,
    )


def _windows(kind: str, config: Mapping[str, object], layers: int) -> tuple[int, tuple[bool, ...]]:
    """How far back blocks look, 0: to the begin, and which of them do not."""
    if kind == "llama":
        _refuse(config, "sliding_window")
    window = None if kind == "llama" else config.get("sliding_window", _WINDOW)
    if kind in ("qwen2", "qwen3") and not _flag(config, "use_sliding_window", False):
        window = None
    if window is None and kind != "gemma3_text":
        return 0, ()
    types = config.get("layer_types")
    if isinstance(types, list) and len(types) == layers and all(one in _LOOKS for one in types):
        local = tuple(one == _LOOKS[0] for one in types)
    elif types is not None:
        raise Unknown("Its “layer_types” are not known here.")
    elif kind == "gemma3_text":
        every = _size(config, "sliding_window_pattern", 6)
        local = tuple(bool((number + 1) % every) for number in range(layers))
    elif kind == "mistral":
        local = (True,) * layers
    else:
        first = _size(config, "max_window_layers", 28)
        local = tuple(number >= first for number in range(layers))
    if kind == "mistral" and not all(local):  # Transformers does not look at them there
        raise Unknown("Its “layer_types” are not known here.")
    return (_size({"sliding_window": window}, "sliding_window"), local) if any(local) else (0, ())


def _ropes(config: Mapping[str, object], gemma: bool) -> tuple[Rope, Rope | None]:
    """Of the blocks that see all, and of those that do not; as version 5 writes them, and as those before."""
    new, old = _table(config, "rope_parameters"), _table(config, "rope_scaling")
    if new and old:
        raise Unknown("Its rotary positions are described twice.")
    beside = _given(config, "rope_theta", "partial_rotary_factor")
    over = _given(config, "original_max_position_embeddings")  # counts before what the table says
    if not gemma:
        return _rope({**beside, **(new or old), **over}, 1e4), None
    wide, near = (_table(new, f"{one}_attention") for one in ("full", "sliding"))
    if new and not wide:
        raise Unknown("Its rotary positions are not known here.")
    theta = {"rope_theta": config.get("rope_local_base_freq")}
    return _rope({**beside, **(wide or old), **over}, 1e6), _rope({**theta, **near}, 1e4)


def _given(config: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: config[name] for name in names if config.get(name) is not None}


def _table(config: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Empty where there is none."""
    value = config.get(name)
    if not isinstance(value, dict | None):
        raise Unknown(f"“{name}” is {str(value)[:40]}, which is no table.")
    return value or {}


def _rope(given: Mapping[str, object], usual: float) -> Rope:
    kind = given.get("rope_type", given.get("type", "default"))
    if kind not in ("default", "linear", "llama3"):
        raise Unknown(f"Its rotary positions (“{str(kind)[:40]}”) are not known here.")
    if any(isinstance(value, (dict, list)) for value in given.values()):
        raise Unknown("Its rotary positions are not known here.")
    if _number(given, "partial_rotary_factor", 1.0) != 1.0:
        raise Unknown("“partial_rotary_factor” is not known here.")
    theta = _number(given, "rope_theta", usual)
    if kind == "default":
        return Rope(theta)
    if kind == "linear":
        return Rope(theta, _number(given, "factor", None))
    names = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    factor, low, high, before = (_number(given, name, None) for name in names)
    if not low < high:
        raise Unknown("Its rotary positions are not known here.")
    return Rope(theta, stretch=(factor, low, high, before))


def _activation(config: Mapping[str, object], name: str, usual: str) -> str:
    value = config.get(name)
    value = usual if value is None else value
    if not isinstance(value, str) or value not in ACTIVATIONS:
        raise Unknown(f"Its activation “{str(value)[:40]}” is not known here.")
    return ACTIVATIONS[value]


def _layers(config: Mapping[str, object], name: str = "num_hidden_layers") -> int:
    if (found := _size(config, name)) > _LAYERS:
        raise Unknown(f"It has more than {_LAYERS} layers.")
    return found


def _size(config: Mapping[str, object], name: str, usual: int | None = None) -> int:
    value = config.get(name)
    value = usual if value is None else value
    if type(value) is not int or not 0 < value <= _MOST:
        raise Unknown(f"“{name}” is {str(value)[:40]}, which is no size.")
    return value


def _number(config: Mapping[str, object], name: str, usual: float | None) -> float:
    value = config.get(name)
    value = usual if value is None else value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _LEAST_NUMBER <= value <= _MOST_NUMBER:
        raise Unknown(f"“{name}” is {str(value)[:40]}, which is no such number.")
    return float(value)


def _flag(config: Mapping[str, object], name: str, usual: bool) -> bool:
    value = config.get(name)
    if not isinstance(value, bool | None):
        raise Unknown(f"“{name}” is {str(value)[:40]}, which is neither true nor false.")
    return usual if value is None else value


def _refuse(config: Mapping[str, object], *names: str) -> None:
    for name in names:
        if config.get(name) is not None and config[name] is not False:
            raise Unknown(f"“{name}” is not known here.")


def _of_llama(d: Decoder) -> Iterator[Tensor]:
    yield Tensor("tokens/embeddings", "model.embed_tokens.weight", (d.vocabulary, d.width))
    if not d.tied:
        yield Tensor("answer/kernel", "lm_head.weight", (d.vocabulary, d.width), turned=True)
    yield _norm(d, "norm", "model.norm", d.width)
    after = "pre_feedforward_layernorm" if d.post_norms else "post_attention_layernorm"
    dense = (
        ("query", "self_attn.q_proj", d.width, d.heads * d.head_size, d.qkv_bias),
        ("key", "self_attn.k_proj", d.width, d.kv_heads * d.head_size, d.qkv_bias),
        ("value", "self_attn.v_proj", d.width, d.kv_heads * d.head_size, d.qkv_bias),
        ("attention_out", "self_attn.o_proj", d.heads * d.head_size, d.width, d.out_bias),
        ("gate", "mlp.gate_proj", d.width, d.inner, d.inner_bias),
        ("mlp_in", "mlp.up_proj", d.width, d.inner, d.inner_bias),
        ("mlp_out", "mlp.down_proj", d.inner, d.width, d.inner_bias),
    )
    for number in range(d.layers):
        here, there = f"block_{number}", f"model.layers.{number}"
        yield _norm(d, f"{here}_attention_norm", f"{there}.input_layernorm", d.width)
        yield _norm(d, f"{here}_mlp_norm", f"{there}.{after}", d.width)
        if d.head_norms:
            yield _norm(d, f"{here}_query_norm", f"{there}.self_attn.q_norm", d.head_size)
            yield _norm(d, f"{here}_key_norm", f"{there}.self_attn.k_norm", d.head_size)
        if d.post_norms:
            yield _norm(d, f"{here}_attention_post_norm", f"{there}.post_attention_layernorm", d.width)
            yield _norm(d, f"{here}_mlp_post_norm", f"{there}.post_feedforward_layernorm", d.width)
        for mine, theirs, inputs, outputs, bias in dense:
            yield Tensor(f"{here}_{mine}/kernel", f"{there}.{theirs}.weight", (outputs, inputs), turned=True)
            if bias:
                yield Tensor(f"{here}_{mine}/bias", f"{there}.{theirs}.bias", (outputs,))


def _norm(d: Decoder, path: str, name: str, size: int) -> Tensor:
    return Tensor(f"{path}/scale", f"{name}.weight", (size,), plus=d.norm_plus)


def _of_gpt2(d: Decoder) -> Iterator[Tensor]:
    yield Tensor("tokens/embeddings", "wte.weight", (d.vocabulary, d.width))
    yield Tensor("places/embeddings", "wpe.weight", (d.longest, d.width))
    if not d.tied:
        yield Tensor("answer/kernel", "lm_head.weight", (d.vocabulary, d.width), turned=True)
    norms = [("norm", "ln_f")]
    for number in range(d.layers):
        here, there = f"block_{number}", f"h.{number}"
        norms += [(f"{here}_attention_norm", f"{there}.ln_1"), (f"{here}_mlp_norm", f"{there}.ln_2")]
        for place, mine in enumerate(("query", "key", "value")):  # one table there, input × output
            part = (place * d.width, (place + 1) * d.width)
            name, shape = f"{there}.attn.c_attn", (d.width, 3 * d.width)
            yield Tensor(f"{here}_{mine}/kernel", f"{name}.weight", shape, part=part)
            yield Tensor(f"{here}_{mine}/bias", f"{name}.bias", shape[1:], part=part)
        for mine, theirs, inputs, outputs in (
            ("attention_out", "attn.c_proj", d.width, d.width),
            ("mlp_in", "mlp.c_fc", d.width, d.inner),
            ("mlp_out", "mlp.c_proj", d.inner, d.width),
        ):
            yield Tensor(f"{here}_{mine}/kernel", f"{there}.{theirs}.weight", (inputs, outputs))
            yield Tensor(f"{here}_{mine}/bias", f"{there}.{theirs}.bias", (outputs,))
    for mine, theirs in norms:
        yield Tensor(f"{mine}/gamma", f"{theirs}.weight", (d.width,))
        yield Tensor(f"{mine}/beta", f"{theirs}.bias", (d.width,))
