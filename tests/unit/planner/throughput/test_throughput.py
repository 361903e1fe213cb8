"""The step-time model: its physics point the right way, its numbers are the fit's, its ranges are honest."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.planner.throughput import Throughput, Workload, estimate
from tpu_studio.planner.throughput.fit import calibrate, fit, rows_of
from tpu_studio.planner.throughput.model import evaluate, factor, from_json, matrices, predict, shipped, to_json
from tpu_studio.planner.throughput.terms import TERMS, size
from tpu_studio.wire.resources import resource_path

ROOT = Path(__file__).resolve().parents[4]
LLAMA = Workload("v6e", 64, "llm-dense", 8.03e9, 5.79e10, "bf16", "token", 8192, None, 320, "MaxText (JAX)")
RESNET = Workload("v3", 4, "resnet", 2.56e7, 2.46e10, "bf16", "image", None, 224, 1024, "TensorFlow 2.0")


def ask(workload: Workload) -> Throughput:
    return estimate(workload, catalogue())


@pytest.fixture(scope="module")
def rows():
    return rows_of(json.loads(resource_path("catalogue", "calibration.json").read_text("utf-8")), catalogue())


def test_mfu_is_the_rate_times_the_work_over_the_bf16_peak():
    answer = ask(LLAMA)
    assert answer.mfu.expected == pytest.approx(answer.units_per_s.expected * 5.79e10 / (64 * 918e12))


def test_a_step_takes_the_batch_over_the_rate():
    answer = ask(LLAMA)
    assert answer.step_time_s is not None
    assert answer.step_time_s.expected == pytest.approx(320 * 8192 / answer.units_per_s.expected)
    assert ask(replace(LLAMA, global_batch=None)).step_time_s is None


def test_known_runs_are_met():
    assert ask(LLAMA).mfu.expected == pytest.approx(0.457, rel=0.2)
    assert ask(RESNET).mfu.expected == pytest.approx(0.40, rel=0.35)


@pytest.mark.parametrize(
    ("faster", "slower", "why"),
    [
        (RESNET, replace(RESNET, global_batch=64), "a small batch pays the start of a step"),
        (RESNET, replace(RESNET, chips=64, global_batch=128), "one picture a core pads the tiles"),
        (LLAMA, replace(LLAMA, precision="fp32"), "float32 takes several passes"),
        (
            replace(LLAMA, generation="tpu7x", precision="fp8"),
            replace(LLAMA, generation="tpu7x"),
            "fp8 is twice as fast",
        ),
        (LLAMA, replace(LLAMA, chips=4096, global_batch=20480), "many slices wait for each other"),
        (
            replace(LLAMA, params=2e10, flops_per_unit_train=1.2e11),
            replace(LLAMA, params=1e8, flops_per_unit_train=6e8),
            "narrow",
        ),
    ],
)
def test_physics_points_the_right_way(faster: Workload, slower: Workload, why: str):
    assert ask(faster).mfu.expected > ask(slower).mfu.expected, why


def test_a_tiny_batch_is_limited_by_the_start_of_a_step():
    assert ask(replace(RESNET, global_batch=8)).limited_by == "overhead"


def test_a_fast_chip_with_few_processors_waits_for_pictures():
    small_network = Workload("v6e", 8, "resnet", 2.56e7, 2.46e9, "bf16", "image", None, 224, 8192, "TensorFlow")
    assert ask(small_network).limited_by == "input"


def test_the_less_is_known_the_wider_the_range():
    def width(workload: Workload) -> float:
        answer = ask(workload)
        return math.log(answer.units_per_s.high / answer.units_per_s.low)

    nothing = Workload()
    assert (
        width(LLAMA)
        < width(replace(LLAMA, flops_per_unit_train=None))
        < width(replace(LLAMA, params=None, flops_per_unit_train=None))
        < width(nothing)
    )
    assert width(LLAMA) < width(replace(LLAMA, family=None))
    assert width(LLAMA) < width(replace(LLAMA, generation=None))


def test_nothing_is_faster_than_its_peak():
    for precision, most in (("bf16", 1.0), ("fp8", 2.0)):
        assert ask(replace(LLAMA, generation="tpu7x", precision=precision)).mfu.high < most


def test_more_chips_do_more_work():
    rates = [
        ask(replace(LLAMA, chips=chips, global_batch=5 * chips)).units_per_s.expected for chips in (8, 16, 64, 256)
    ]
    assert rates == sorted(rates)


def test_missing_work_of_a_token_is_estimated_from_the_weights():
    """6 · 8.03e9 for the weights; attention 6 · 32 layers · 4096 wide · 8192 long = 6.4e9. Together 5.46e10."""
    estimated = size(replace(LLAMA, flops_per_unit_train=None), catalogue()).flops
    assert estimated == pytest.approx(5.46e10, rel=0.04)


def test_missing_work_of_a_picture_is_estimated_from_weights_and_pixels():
    assert size(replace(RESNET, flops_per_unit_train=None), catalogue()).flops == pytest.approx(2.46e10, rel=0.02)
    mask_rcnn = Workload("v3", 64, "detection", 4.44e7, image_size=1024)
    assert size(mask_rcnn, catalogue()).flops == pytest.approx(6 * 260e9, rel=0.2)  # 260 G multiply-adds a picture


def test_the_shipped_parameters_are_the_fit_of_the_shipped_rows():
    made = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "fit_throughput.py"), "--check"], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stdout + made.stderr


def test_parameters_survive_their_file():
    again = from_json(json.loads(json.dumps(to_json(shipped()))))
    assert predict(size(LLAMA, catalogue()), again).mfu.expected == pytest.approx(ask(LLAMA).mfu.expected, rel=1e-4)


def test_slopes_are_those_of_the_function(rows):
    fitted = shipped()
    sizes, members = matrices([row.sized for row in rows], fitted.groups)
    before, slopes = evaluate(fitted.values, sizes, members)
    for place in (0, 3, len(TERMS) - 1, len(TERMS) + 1):
        moved = fitted.values.copy()
        moved[place] += 1e-6
        after, _ = evaluate(moved, sizes, members)
        assert np.allclose((after - before) / 1e-6, slopes[:, place], atol=1e-4)


def test_a_fit_without_a_row_does_not_know_it(rows):
    """Changing a row that is left out changes nothing."""
    hidden = rows[3]
    rest = [row for row in rows if row is not hidden]
    wrong = [replace(row, mfu=row.mfu * 5) if row is hidden else row for row in rows]
    assert np.array_equal(fit(rest).values, fit([row for row in wrong if row.id != hidden.id]).values)
    assert not np.allclose(fit(rest).values, fit(wrong).values, atol=1e-3)


def test_one_wild_row_moves_the_fit_little(rows):
    wild = [replace(row, mfu=row.mfu / 50) if row.id == "cal-025" else row for row in rows]
    for fitted in (calibrate(rows, fit(rows)), calibrate(wild, fit(wild))):
        assert predict(size(LLAMA, catalogue()), fitted).mfu.expected == pytest.approx(0.45, rel=0.15)


def test_low_confidence_and_bounds_are_not_scored(rows):
    assert len(rows) == 72
    assert sum(row.scored for row in rows) == 65


def test_a_group_that_was_never_measured_gets_a_wider_range(rows):
    without = [row for row in rows if row.sized.generation != "v6e"]
    seen, unseen = calibrate(rows, fit(rows)), calibrate(without, fit(without))
    sized = size(LLAMA, catalogue())
    narrow, wide = predict(sized, seen).mfu, predict(sized, unseen).mfu
    assert wide.high / wide.low > narrow.high / narrow.low


def test_a_family_that_was_never_measured_has_a_factor_of_its_own(rows):
    """Found by leaving whole families out; without other families there is nothing to find it from."""
    fitted = calibrate(rows, fit(rows))
    assert factor(size(RESNET, catalogue()), fitted) == fitted.scatter
    assert factor(size(replace(LLAMA, family="mlp"), catalogue()), fitted) == fitted.scatter_unseen
    assert 0 < fitted.scatter_unseen != fitted.scatter
    alone = [row for row in rows if row.sized.family == "resnet"]
    assert calibrate(alone, fit(alone)).scatter_unseen == 1.0
