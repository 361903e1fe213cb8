"""What a language model's `config.json` says of its network, as versions 4 and 5 of Transformers write it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fakes.presets import decoder, decoders
from tpu_studio.wire.pretrained.decoder import ACTIVATIONS, Decoder, Rope, Unknown, describe, traits

Config = dict[str, Any]
LLAMA: Config = {
    "model_type": "llama",
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "intermediate_size": 48,
    "vocab_size": 320,
    "max_position_embeddings": 64,
}
GPT2: Config = {
    "model_type": "gpt2",
    "n_embd": 32,
    "n_head": 4,
    "n_layer": 2,
    "vocab_size": 320,
    "n_positions": 64,
}
MISTRAL, QWEN2, QWEN3, GEMMA = (LLAMA | {"model_type": kind} for kind in ("mistral", "qwen2", "qwen3", "gemma3_text"))
STRETCHED: Config = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
SLIDING, FULL = "sliding_attention", "full_attention"


def unknown(config: Config) -> str:
    with pytest.raises(Unknown) as error:
        describe(config)
    return str(error.value)


def config_of(name: str, to: Path) -> Config:
    found: Config = json.loads((decoder(name, to) / "config.json").read_text())
    return found


# ----------------------------------------------------------------------------------------------- what they write


def test_gpt2_is_described(tmp_path: Path) -> None:
    found = describe(config_of("gpt2", tmp_path))
    assert (found.layers, found.width, found.heads, found.kv_heads, found.head_size) == (2, 32, 4, 4, 8)
    assert (found.inner, found.vocabulary, found.longest, found.activation) == (128, 320, 64, "gelu_tanh")
    assert found.is_gpt2 and found.rope is None and found.tied and not found.rms and not found.gated
    assert found.qkv_bias and found.out_bias and found.inner_bias and found.scale == 1 / math.sqrt(8)


def test_llama_is_described(tmp_path: Path) -> None:
    found = describe(config_of("llama", tmp_path))
    assert (found.layers, found.width, found.heads, found.kv_heads, found.head_size) == (2, 32, 4, 2, 8)
    assert found.rope == Rope(10_000.0, stretch=(8.0, 1.0, 4.0, 16.0)) and found.local_rope is None
    assert (found.inner, found.activation, found.tied, found.window) == (48, "silu", False, 0)
    assert not (found.qkv_bias or found.out_bias or found.inner_bias or found.head_norms or found.post_norms)
    assert describe(config_of("smollm", tmp_path)).tied


def test_mistral_looks_back_so_far_in_every_block(tmp_path: Path) -> None:
    found = describe(config_of("mistral", tmp_path))
    assert (found.window, found.local, found.head_size) == (6, (True, True), 12)


def test_qwen_s_have_biases_or_norms_of_heads(tmp_path: Path) -> None:
    two, three = (describe(config_of(name, tmp_path)) for name in ("qwen2", "qwen3"))
    assert (two.qkv_bias, two.out_bias, two.head_norms, two.head_size) == (True, False, False, 8)
    assert (three.qkv_bias, three.out_bias, three.head_norms, three.head_size) == (False, False, True, 16)
    assert (two.window, three.window) == (0, 0)


def test_gemma3_is_described(tmp_path: Path) -> None:
    found = describe(config_of("gemma3", tmp_path))
    assert (found.window, found.local) == (5, (True,) * 5 + (False,))
    assert (found.rope, found.local_rope) == (Rope(1e6), Rope(1e4))
    assert (found.scale, found.embedding_scale, found.norm_plus) == (1 / math.sqrt(12), math.sqrt(32), 1.0)
    assert found.tied and found.head_norms and found.post_norms and found.activation == "gelu_tanh"


@pytest.mark.parametrize("name", decoders())
def test_no_two_weights_have_one_path_and_each_has_a_size(tmp_path: Path, name: str) -> None:
    found = list(describe(config_of(name, tmp_path)).tensors())
    assert len({one.path for one in found}) == len(found)
    assert all(size > 0 for one in found for size in one.shape)


# ------------------------------------------------------------------------------------------------ rotary positions


@pytest.mark.parametrize(
    ("rope", "found"),
    [
        ({}, Rope(10_000.0)),
        ({"rope_theta": 5e5}, Rope(5e5)),
        ({"rope_theta": 500_000, "rope_scaling": None}, Rope(5e5)),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, Rope(5e5)),
        ({"rope_parameters": {"rope_type": "default"}, "rope_theta": 5e5}, Rope(5e5)),
        ({"rope_parameters": {"rope_theta": 5e5}, "rope_theta": 7}, Rope(5e5)),
        ({"rope_parameters": None, "rope_scaling": {}}, Rope(10_000.0)),
        ({"rope_scaling": {"type": "linear", "factor": 4}}, Rope(10_000.0, 4.0)),
        ({"rope_scaling": {"rope_type": "linear", "factor": 4, "rope_theta": 5e5}, "rope_theta": 7}, Rope(5e5, 4.0)),
        ({"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5}}, Rope(5e5, 4.0)),
        ({"rope_scaling": STRETCHED, "rope_theta": 5e5}, Rope(5e5, stretch=(8.0, 1.0, 4.0, 16.0))),
        ({"rope_parameters": {**STRETCHED, "rope_theta": 5e5}}, Rope(5e5, stretch=(8.0, 1.0, 4.0, 16.0))),
        (
            {"rope_scaling": STRETCHED, "original_max_position_embeddings": 32},
            Rope(10_000.0, stretch=(8.0, 1.0, 4.0, 32.0)),
        ),
        ({"partial_rotary_factor": 1.0}, Rope(10_000.0)),
    ],
    ids=str,
)
def test_rotary_positions_in_both_spellings(rope: Config, found: Rope) -> None:
    assert describe(LLAMA | rope).rope == found


@pytest.mark.parametrize(
    ("rope", "wide", "near"),
    [
        ({}, Rope(1e6), Rope(1e4)),
        ({"rope_theta": 2e6, "rope_local_base_freq": 3e4}, Rope(2e6), Rope(3e4)),
        ({"rope_scaling": {"rope_type": "linear", "factor": 8.0}}, Rope(1e6, 8.0), Rope(1e4)),
        (
            {"rope_parameters": {FULL: {"rope_type": "linear", "factor": 8.0, "rope_theta": 2e6}, SLIDING: None}},
            Rope(2e6, 8.0),
            Rope(1e4),
        ),
        (
            {"rope_parameters": {FULL: {"rope_theta": 2e6}, SLIDING: {"rope_theta": 3e4, "rope_type": "default"}}},
            Rope(2e6),
            Rope(3e4),
        ),
        ({"rope_parameters": {FULL: {"rope_type": "default"}}, "rope_theta": 2e6}, Rope(2e6), Rope(1e4)),
    ],
    ids=str,
)
def test_gemma_s_two_in_both_spellings(rope: Config, wide: Rope, near: Rope) -> None:
    found = describe(GEMMA | rope)
    assert (found.rope, found.local_rope) == (wide, near)


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_theta": 0},
        {"rope_theta": -1},
        {"rope_theta": 1e-300},
        {"rope_theta": math.inf},
        {"rope_theta": math.nan},
        {"rope_theta": "10000"},
        {"rope_theta": True},
        {"rope_theta": [1e4]},
        {"rope_scaling": "linear"},
        {"rope_scaling": [1]},
        {"rope_parameters": 7},
        {"rope_scaling": {"type": "dynamic", "factor": 2}},
        {"rope_scaling": {"type": "yarn", "factor": 2}},
        {"rope_parameters": {"rope_type": "longrope", "long_factor": [1.0]}},
        {"rope_parameters": {"rope_type": ["default"]}},
        {"rope_parameters": {"rope_type": None}},
        {"rope_scaling": {"type": "linear"}},
        {"rope_scaling": {"type": "linear", "factor": 0}},
        {"rope_scaling": {"type": "linear", "factor": 1e-320}},
        {"rope_scaling": STRETCHED | {"high_freq_factor": 1.0}},
        {"rope_scaling": STRETCHED | {"original_max_position_embeddings": None}},
        {"rope_scaling": STRETCHED, "rope_parameters": STRETCHED},
        {"rope_parameters": {FULL: {"rope_theta": 5e5}}},
        {"partial_rotary_factor": 0.5},
        {"rope_parameters": {"partial_rotary_factor": 0.5}},
    ],
    ids=str,
)
def test_rotary_positions_that_are_not_known(rope: Config) -> None:
    assert unknown(LLAMA | rope).endswith(".")


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
        {"rope_parameters": {FULL: "default", SLIDING: {}}},
        {"rope_parameters": {FULL: {"rope_theta": 1e6}, SLIDING: {"rope_type": "yarn"}}},
        {"rope_local_base_freq": 0},
    ],
    ids=str,
)
def test_gemma_s_that_are_not_known(rope: Config) -> None:
    assert unknown(GEMMA | rope).endswith(".")


def test_frequencies_are_those_of_the_formulas() -> None:
    assert Rope(100.0).frequencies(4) == [1.0, 0.1]
    assert Rope(100.0, 4.0).frequencies(4) == [0.25, 0.025]
    # Waves of 2π and 20π places. Of 16 before: 16/4 = 4 < 6.3 < 16/1, so between; 62.8 > 16, so an eighth.
    first, second = Rope(100.0, stretch=(8.0, 1.0, 4.0, 16.0)).frequencies(4)
    share = (16 / (2 * math.pi) - 1) / (4 - 1)
    assert first == pytest.approx((1 - share) / 8 + share) and second == pytest.approx(0.1 / 8)


# ---------------------------------------------------------------------------------------------------------- windows


@pytest.mark.parametrize(
    ("config", "window", "local"),
    [
        (LLAMA | {"sliding_window": None}, 0, ()),
        (MISTRAL | {"sliding_window": None}, 0, ()),
        (MISTRAL | {"sliding_window": 8}, 8, (True,) * 3),
        (MISTRAL, 4096, (True,) * 3),  # what `MistralConfig` has where nothing is said
        (MISTRAL | {"sliding_window": 8, "layer_types": [SLIDING] * 3}, 8, (True,) * 3),
        (QWEN2 | {"sliding_window": 8}, 0, ()),
        (QWEN2 | {"sliding_window": 8, "use_sliding_window": False, "layer_types": [SLIDING] * 3}, 0, ()),
        (QWEN2 | {"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 1}, 8, (False, True, True)),
        (QWEN2 | {"sliding_window": 8, "use_sliding_window": True}, 0, ()),  # from the 28th block on
        (
            QWEN3 | {"sliding_window": 8, "use_sliding_window": True, "layer_types": [FULL, SLIDING, FULL]},
            8,
            (False, True, False),
        ),
        (GEMMA, 4096, (True,) * 3),
        (GEMMA | {"sliding_window": 8, "sliding_window_pattern": 2}, 8, (True, False, True)),
        (GEMMA | {"sliding_window": 8, "sliding_window_pattern": 1}, 0, ()),
        (GEMMA | {"sliding_window": 8, "layer_types": [FULL] * 3}, 0, ()),
        (GEMMA | {"sliding_window": None, "layer_types": [FULL] * 3}, 0, ()),
    ],
    ids=lambda value: str({n: v for n, v in value.items() if n not in LLAMA}) if isinstance(value, dict) else None,
)
def test_how_far_back_blocks_look(config: Config, window: int, local: tuple[bool, ...]) -> None:
    found = describe(config)
    assert (found.window, found.local) == (window, local)


@pytest.mark.parametrize(
    "config",
    [
        LLAMA | {"sliding_window": 8},
        LLAMA | {"sliding_window": 8, "layer_types": [SLIDING] * 3},
        MISTRAL | {"sliding_window": 0},
        MISTRAL | {"sliding_window": "8"},
        MISTRAL | {"sliding_window": 8, "layer_types": [SLIDING, FULL, SLIDING]},  # not looked at by its network
        QWEN2 | {"use_sliding_window": "yes"},
        QWEN2 | {"use_sliding_window": True, "layer_types": [SLIDING] * 2},
        QWEN2 | {"use_sliding_window": True, "layer_types": ["chunked_attention"] * 3},
        QWEN2 | {"use_sliding_window": True, "layer_types": [[], {}, 7]},
        QWEN2 | {"use_sliding_window": True, "layer_types": "full"},
        QWEN2 | {"use_sliding_window": True, "max_window_layers": -1},
        GEMMA | {"sliding_window": None},
        GEMMA | {"sliding_window_pattern": 0},
        GEMMA | {"sliding_window_pattern": 1.5},
    ],
    ids=lambda config: str({n: v for n, v in config.items() if n not in LLAMA}),
)
def test_windows_that_are_not_known(config: Config) -> None:
    assert unknown(config).endswith(".")


# ---------------------------------------------------------------------------------------------------- other traits


@pytest.mark.parametrize(
    ("config", "known"),
    [
        (LLAMA, (False, False, False)),
        (LLAMA | {"attention_bias": True, "mlp_bias": True}, (True, True, True)),
        (QWEN2 | {"attention_bias": True, "mlp_bias": True}, (True, False, False)),  # its network looks at neither
        (MISTRAL | {"attention_bias": True}, (False, False, False)),
        (QWEN3 | {"attention_bias": True}, (True, True, False)),
        (GEMMA | {"attention_bias": True}, (True, True, False)),
    ],
)
def test_biases_are_where_its_network_has_them(config: Config, known: tuple[bool, ...]) -> None:
    found = describe(config)
    assert (found.qkv_bias, found.out_bias, found.inner_bias) == known


def test_what_a_description_leaves_out_is_as_transformers_has_it() -> None:
    assert [describe(one).head_size for one in (LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA)] == [8, 8, 8, 128, 256]
    assert [describe(one).tied for one in (LLAMA, GEMMA, GPT2)] == [False, True, True]
    assert [describe(one).epsilon for one in (LLAMA, GPT2)] == [1e-6, 1e-5]
    assert describe(LLAMA).kv_heads == 4 and describe(GEMMA).scale == 1 / 16
    assert describe(LLAMA | dict.fromkeys(("head_dim", "num_key_value_heads", "hidden_act"))) == describe(LLAMA)


@pytest.mark.parametrize("written", ACTIVATIONS)
def test_activations_that_are_known(written: str) -> None:
    assert describe(LLAMA | {"hidden_act": written}).activation == ACTIVATIONS[written]


@pytest.mark.parametrize("odd", ["relu", "", 7, True, ["silu"], {"silu": 1}, "../silu"], ids=str)
@pytest.mark.parametrize(
    ("config", "name"), [(LLAMA, "hidden_act"), (GPT2, "activation_function"), (GEMMA, "hidden_activation")]
)
def test_an_activation_that_is_not_known(config: Config, name: str, odd: object) -> None:
    assert "activation" in unknown(config | {name: odd})


@pytest.mark.parametrize(
    ("config", "change"),
    [
        (GEMMA, {"attn_logit_softcapping": 50.0}),
        (GEMMA, {"final_logit_softcapping": 30.0}),
        (GEMMA, {"final_logit_softcapping": 0.0}),
        (GEMMA, {"use_bidirectional_attention": True}),
        (GPT2, {"scale_attn_by_inverse_layer_idx": True}),
        (GPT2, {"add_cross_attention": True}),
        (GPT2, {"scale_attn_weights": False}),
    ],
    ids=str,
)
def test_what_changes_the_answer_and_is_not_known(config: Config, change: Config) -> None:
    assert unknown(config | change) == f"“{next(iter(change))}” is not known here."
    describe(config | dict.fromkeys(change))


@pytest.mark.parametrize("odd", ["false", 0, 1, [], "yes"], ids=str)
@pytest.mark.parametrize("name", ["tie_word_embeddings", "attention_bias", "mlp_bias"])
def test_what_is_neither_true_nor_false(name: str, odd: object) -> None:
    assert unknown(LLAMA | {name: odd}) == f"“{name}” is {odd}, which is neither true nor false."


@pytest.mark.parametrize("kind", ["gemma2", "", None, 7, [], "Llama", "ResNetBackbone"], ids=str)
def test_a_kind_that_is_not_known(kind: object) -> None:
    assert unknown(LLAMA | {"model_type": kind}) == f"“{kind}” is not known here."


def sizes_of(config: Config, *more: str) -> list[tuple[Config, str]]:
    return [(config, name) for name in (*config, *more) if name != "model_type"]


@pytest.mark.parametrize(
    "odd", [0, -1, 10**9, 10**4000, "8", True, False, 8.0, math.inf, [8], {}], ids=lambda v: str(v)[:9]
)
@pytest.mark.parametrize(
    ("config", "name"), [*sizes_of(LLAMA, "head_dim", "num_key_value_heads"), *sizes_of(GPT2, "n_inner")]
)
def test_a_size_that_no_network_has(config: Config, name: str, odd: object) -> None:
    said = unknown(config | {name: odd})
    assert said.startswith(f"“{name}” is {str(odd)[:9]}") and said.endswith("no size.") and len(said) < 120


@pytest.mark.parametrize("config", [LLAMA, GPT2])
def test_sizes_are_asked_for(config: Config) -> None:
    for name in [*config]:
        assert unknown({one: value for one, value in config.items() if one != name}).endswith(".")


def test_layers_are_counted() -> None:
    assert unknown(LLAMA | {"num_hidden_layers": 401}) == "It has more than 400 layers."
    assert describe(LLAMA | {"num_hidden_layers": 400}).layers == 400


@pytest.mark.parametrize("odd", [0, -1, 1e-300, 1e400, math.nan, "1e-5", True, []], ids=str)
@pytest.mark.parametrize(
    ("config", "name"), [(LLAMA, "rms_norm_eps"), (GPT2, "layer_norm_epsilon"), (GEMMA, "query_pre_attn_scalar")]
)
def test_a_number_that_no_network_has(config: Config, name: str, odd: object) -> None:
    assert unknown(config | {name: odd}) == f"“{name}” is {odd}, which is no such number."


@pytest.mark.parametrize(
    "config",
    [
        LLAMA | {"num_key_value_heads": 3},
        LLAMA | {"num_key_value_heads": 8},
        LLAMA | {"head_dim": 7},
        LLAMA | {"num_attention_heads": 500_000, "num_key_value_heads": 500_000, "head_dim": 2},
        LLAMA | {"num_attention_heads": 64},  # one number a head
        GPT2 | {"n_head": 5},
        GPT2 | {"n_head": 64},
        GPT2 | {"n_embd": 10**6, "n_head": 10},  # four times as many within
    ],
    ids=lambda config: str({n: v for n, v in config.items() if (LLAMA | GPT2).get(n) != v}),
)
def test_sizes_that_do_not_go_together(config: Config) -> None:
    assert unknown(config).endswith(".")


# ---------------------------------------------------------------------------------------------- whatever stands there

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-2, 3000) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ROPE = ("rope_type", "type", "rope_theta", "factor", "low_freq_factor", "high_freq_factor")
ropes = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(ROPE[2:], st.floats(0, 1e12) | anything),
        "rope_type": st.sampled_from(["default", "linear", "llama3"]) | anything,
        "original_max_position_embeddings": st.integers(1, 4096) | anything,
        FULL: anything,
        SLIDING: anything,
    },
)
NAMES = {
    *(*LLAMA, *GPT2, "head_dim", "num_key_value_heads", "n_inner", "sliding_window", "sliding_window_pattern"),
    *("layer_types", "use_sliding_window", "max_window_layers", "hidden_act", "hidden_activation", "rms_norm_eps"),
    *("activation_function", "layer_norm_epsilon", "query_pre_attn_scalar", "tie_word_embeddings", "mlp_bias"),
    *("attention_bias", "final_logit_softcapping", "rope_theta", "rope_local_base_freq", "scale_attn_weights"),
    *("partial_rotary_factor", "original_max_position_embeddings"),
}
changes = st.dictionaries(st.sampled_from(sorted(NAMES - {"model_type"})), anything, max_size=3)
positions = st.dictionaries(st.sampled_from(["rope_parameters", "rope_scaling"]), ropes | anything, max_size=1)
wholes = st.sampled_from([LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA, GPT2])


@given(config=st.dictionaries(st.sampled_from(sorted(NAMES)) | st.text(), anything) | st.just({}))
def test_whatever_a_description_says(config: Config) -> None:
    check(config)


@given(whole=wholes, change=changes, rope=positions)
@example(whole=LLAMA, change={"rope_theta": 1e-12}, rope={"rope_scaling": {"type": "linear", "factor": 1e-12}})
def test_whatever_one_that_is_whole_says_besides(whole: Config, change: Config, rope: Config) -> None:
    check({**whole, **change, **rope})


def check(config: Config) -> None:
    """It is refused in a sentence, or it is a network: sizes in bounds, all numbers finite."""
    try:
        found = describe(config)
    except Unknown as error:
        assert str(error).endswith(".") and len(str(error)) < 200
        return
    sizes = (found.width, found.heads, found.kv_heads, found.head_size, found.inner, found.vocabulary, found.longest)
    assert all(type(one) is int and 0 < one <= 1_000_000 for one in sizes) and 0 < found.layers <= 400
    assert found.heads % found.kv_heads == 0 and found.head_size % 2 == 0
    assert 0 <= found.window <= 1_000_000 and len(found.local) in (0, found.layers)
    assert bool(found.window) == any(found.local)
    assert all(math.isfinite(one) and one > 0 for one in (found.epsilon, found.scale, found.embedding_scale))
    assert_finite(found)


def assert_finite(found: Decoder) -> None:
    for rope in (found.rope, found.local_rope):
        if rope is not None:
            assert all(math.isfinite(one) and one > 0 for one in rope.frequencies(min(found.head_size, 64)))


# ------------------------------------------------------------------------------------------- what a card takes of it


@pytest.mark.parametrize("name", decoders())
def test_its_traits_describe_the_same_network(name: str, tmp_path: Path) -> None:
    told = traits(config_of(name, tmp_path))
    assert describe(json.loads(json.dumps(told, allow_nan=False))) == describe(config_of(name, tmp_path))
    assert traits(told) == told


@pytest.mark.parametrize("config", [LLAMA, GPT2, MISTRAL, QWEN2, QWEN3])
def test_a_window_that_is_none_stays_none(config: Config) -> None:
    wide = config | {"sliding_window": None}
    assert describe(traits(wide)) == describe(wide)


def test_names_paths_and_what_no_file_can_hold_stay_behind() -> None:
    """A result goes to others; and a card that cannot be written would cost the run its result."""
    private = {"_name_or_path": "/home/me/secret", "architectures": ["X"], "task_specific_params": {"a": "b"}}
    odd: Config = {"rope_type": "default", "rope_theta": 1e4, "factor": math.nan, "note": "\ud800", "\ud800": 1}
    wide: Config = LLAMA | private | {"rope_scaling": odd | {"deep": {"er": {"and": {"er": 1}}}, "many": [1] * 9999}}
    wide["rope_scaling"] |= {"huge": 10**5000}
    told = traits(LLAMA | private)
    assert set(told) == set(LLAMA)
    with pytest.raises(Unknown):
        traits(wide)  # tables within rotary positions are not known
    del wide["rope_scaling"]["deep"], wide["rope_scaling"]["many"]
    assert traits(wide)["rope_scaling"] == {"rope_type": "default", "rope_theta": 1e4}
