"""Work counted in traced programs: small ones that were worked out by hand, and our models beside their formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine
from tests.trainer.work.grid import COUNTED, GRID, PICTURES, TEXTS, Point
from tpu_studio.planner import work
from tpu_studio.planner.modelwork import _FORMULAS
from tpu_studio.wire import families
from tpu_studio.wire.models import BY_NAME, options

HERE = Path(__file__).parent
pytestmark = pytest.mark.engine

PRODUCT = 2 * 4 * 4 * 4  # of two squares of 4
WINDOW = 2 * 3 * 3 * 2 * 5 * 4 * 4  # 3 x 3 of 2 channels to 5, at 4 x 4 places
KERNEL = 2 * 16 * 16 * 16


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    found: dict[str, Any] = run_in_engine(HERE / "program_work.py", backend="jax")
    return found


GRAPHED = [name for name in (*GRID, *COUNTED) if not name.startswith("gpt-nano 1024")]
"""What TensorFlow counts, too."""
FEW = [*COUNTED, *(next(name for name in GRAPHED if name.startswith(model)) for model in ("mlp", "small-cnn", "gpt"))]


@pytest.fixture(scope="module")
def graphs() -> dict[str, Any]:
    found: dict[str, Any] = run_in_engine(HERE / "program_graph.py", *FEW, backend="tensorflow")
    return found


@pytest.fixture(scope="module")
def more_graphs() -> dict[str, Any]:
    rest = [name for name in GRAPHED if name not in FEW]
    found: dict[str, Any] = run_in_engine(HERE / "program_graph.py", *rest, backend="tensorflow")
    return found


@pytest.mark.parametrize(
    ("program", "flops"),
    [
        ("scan", 8 * PRODUCT),
        ("scan in a loop", 3 * 8 * PRODUCT),
        ("while", 7 * PRODUCT),
        ("cond", 2 * PRODUCT),  # the dearer branch
        ("unused", PRODUCT),
        ("shard_map", 8 * PRODUCT),  # one on each chip
        ("custom_vjp", PRODUCT),
        ("custom_vjp, gradient", PRODUCT),  # its own backward pass has one; forward, nothing needs the product
        ("recomputed", 6 * PRODUCT),  # two forward, of which the gradient needs neither; one again, four backward
        ("convolution", WINDOW),
        ("convolution, gradient of the kernel", WINDOW),
        ("convolution, gradient of the pictures", WINDOW),  # the zeros between its inputs are no work
        ("ragged", 2 * 8 * 4 * 5),
        ("kernel", KERNEL),
        ("kernel in a loop", 3 * KERNEL),
        ("kernel with its word", 4096),
    ],
)
def test_each_operation_counts_as_often_as_it_is_done(told: dict[str, Any], program: str, flops: int) -> None:
    found = told["programs"][program]
    assert found["work"] == flops
    assert found["unclear"] == []


def test_what_no_number_tells_is_named_and_counts_once(told: dict[str, Any]) -> None:
    assert told["programs"]["while without a number"]["unclear"] == ["while"]
    assert told["programs"]["while without a number"]["work"] == PRODUCT
    assert told["programs"]["callback"]["unclear"] == ["pure_callback"]


def test_a_compiler_sees_a_kernel_by_its_own_word_only(told: dict[str, Any]) -> None:
    assert told["programs"]["kernel"]["hidden"] == KERNEL
    assert told["programs"]["kernel with its word"]["hidden"] == 0
    assert told["loops"]["kernel"]["hidden"] == 3 * KERNEL


def test_a_compilers_count_is_raised_by_the_trips_of_loops(told: dict[str, Any]) -> None:
    assert told["loops"]["products"]["products"] == (1 + 7) / 2  # it counts one product outside and one inside


def test_a_model_of_ones_own_is_counted_through_its_loops(told: dict[str, Any]) -> None:
    # 5 times 3 x 6 and 6 x 6 forward, then 6 x 2. Backward twice that, but for the gradient of the rows themselves.
    # The first row meets a state of zeros; the loop does not know.
    forward = 2 * (5 * (3 * 6 + 6 * 6) + 6 * 2)
    assert told["own"]["forward_flops"] == forward
    assert told["own"]["flops"] == 3 * forward - 2 * 5 * 3 * 6
    assert told["own"]["params"] == 3 * 6 + 6 * 6 + 6 + 6 * 2 + 2
    assert told["own"]["unclear"] == []


def formula(point: Point) -> work.Work:
    name = "gpt-nano" if point.model.startswith("gpt") else point.model
    chosen = options(name, point.options)
    if point.model == "mlp":
        return work.mlp(chosen, inputs=point.input[0], answers=point.outputs)
    if point.model == "small-cnn":
        return work.small_cnn(chosen, size=point.input[0], channels=point.input[2], answers=point.outputs)
    again = point.training.get("rematerialize") is True
    return work.gpt(chosen, tokens=point.input[0], rematerialize=again)


@pytest.mark.parametrize("name", list(GRID))
def test_formula_and_trace_count_the_same_work(told: dict[str, Any], name: str) -> None:
    found, counted = told["models"][name], formula(GRID[name])
    assert found["params"] == counted.params
    assert found["flops"] == pytest.approx(counted.flops, rel=1e-6)
    assert found["model_flops"] == pytest.approx(counted.model_flops, rel=1e-6)
    assert found["convolutions"] == counted.convolutions
    assert found["unclear"] == []


def test_each_formula_is_held_to_the_trace() -> None:
    assert {BY_NAME[point.model].family for point in GRID.values()} == set(_FORMULAS)


def test_each_family_of_ours_without_a_formula_is_held_to_what_its_authors_published(told: dict[str, Any]) -> None:
    without = {one.id for one in families.all_families() if one.builder} - set(_FORMULAS)
    assert without == {BY_NAME[point.model].family for point in COUNTED.values()} | {"kerashub", "causal"}
    found = told["models"][PICTURES.name]
    assert found["params"] == pytest.approx(4_652_008, rel=1e-4)
    # EfficientNet-Lite0: 407 million multiply-adds in Google's table, normalising and the like among them
    assert 0.93 * 407e6 < found["forward_flops"] / 2 <= 407e6
    assert 2 * found["forward_flops"] < found["flops"] < 3 * found["forward_flops"]
    assert (found["convolutions"], found["unclear"]) == (True, [])
    found, (tokens,), width = told["models"][TEXTS.name], TEXTS.input, 384
    # MiniLM L6: 22,713,216 weights as published, of which a layer behind the first token is none of ours
    assert found["params"] == 22_713_216 - (width + 1) * width + (width + 1) * 2
    forward = 6 * (2 * tokens * 12 * width**2 + 4 * tokens**2 * width) + 2 * width * 2
    assert (found["forward_flops"], found["flops"]) == (forward, 3 * forward)
    assert (found["convolutions"], found["unclear"]) == (False, [])


def test_a_network_of_a_folder_is_held_to_what_its_authors_published(told: dict[str, Any]) -> None:
    found = told["resnet-50"]
    # torchvision's ResNet-50, strided where ours is: 25,557,032 weights, of which scale and shift of 26,560 normalised
    # channels stay as they were, and 4.09 billion multiply-adds
    assert found["params"] == 25_557_032 - 2 * 26_560
    assert found["forward_flops"] / 2 == pytest.approx(4.09e9, rel=2e-3)
    assert (found["convolutions"], found["unclear"]) == (True, [])


@pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(name, marks=pytest.mark.thorough) for name in GRAPHED if name not in FEW)]
)
def test_a_graph_of_tensorflow_counts_the_same_work(
    told: dict[str, Any], request: pytest.FixtureRequest, name: str
) -> None:
    graphs = request.getfixturevalue("graphs" if name in FEW else "more_graphs")
    found, traced = graphs["models"][name], told["models"][name]
    for what in ("params", "flops", "forward_flops"):
        assert found[what] == pytest.approx(traced[what], rel=1e-6)
    assert (found["convolutions"], found["unclear"]) == (traced["convolutions"], [])


@pytest.mark.parametrize(
    ("layer", "forward"),
    [
        ("SimpleRNN", 5 * (3 * 6 + 6 * 6) + 6 * 2),
        ("LSTM", 4 * 5 * (3 * 6 + 6 * 6) + 6 * 2),
        ("attention", 3 * 16 * 8 * 16 + 2 * 2 * 16 * 16 * 8 + 16 * 16 * 8 + 8 * 2),
        ("convolutions", 16 * 9 * 3 * 4 + 16 * 9 * 4 + 4 * 2),
    ],
)
def test_layers_that_people_use_are_counted_in_a_graph(graphs: dict[str, Any], layer: str, forward: int) -> None:
    found = graphs["own"][layer]
    assert found["forward_flops"] == 2 * forward
    assert 2 * 2 * forward < found["flops"] <= 3 * 2 * forward
    assert found["unclear"] == []


def test_a_loop_without_a_number_is_named_in_a_graph_too(graphs: dict[str, Any]) -> None:
    assert graphs["own"]["halting"]["unclear"] == ["while"]


@pytest.mark.parametrize("name", list(GRID))
def test_what_is_alive_in_a_trace_is_about_what_the_compiler_keeps(told: dict[str, Any], name: str) -> None:
    found, kept = told["models"][name], formula(GRID[name]).kept
    assert kept is not None
    by_format = kept.bfloat16 if GRID[name].training.get("precision") == "bfloat16" else kept.float32
    assert by_format / 2.5 < found["activation_bytes"] < 2.5 * by_format
