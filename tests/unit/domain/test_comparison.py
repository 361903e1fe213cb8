"""What is said of runs laid beside each other: who is better, for how much, how surely, or that nothing can be."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.domain.comparison import Comparison, Contender, compare, same_money
from tpu_studio.wire.errors import BadInput

BASE = {"name": "x", "training.seed": 0, "training.global_batch": 32, "data.validation": 0.2}


def run(name: str, accuracy: float | None = None, usd: float = 0.0, **changes: Any) -> Contender:
    settings = {**BASE, "name": name, **{path.replace("__", "."): value for path, value in changes.items()}}
    given = (("task", "classification"), ("fp", "d1"), ("over", True), ("whole", True))
    task, data, over, whole = (settings.pop(key, default) for key, default in given)
    best = {} if accuracy is None else {"val_accuracy": accuracy}
    return Contender(
        name, name, "computer", "cpu", str(task), settings, str(data), best, 60.0, usd, usd, 10, bool(over), bool(whole)
    )


def told(*runs: Contender) -> tuple[str, str]:
    finding = compare(runs).finding
    return finding.title, finding.text


def test_the_better_one_is_named_with_points_price_and_that_one_run_each_proves_nothing() -> None:
    title, text = told(run("a", 0.819, 2.46), run("b", 0.841, 2.96, training__global_batch=64))
    assert title == "b is ahead: 2.2 points better than a for $0.50 more."
    assert text.startswith("That can't be told from chance: it takes three runs of each")


def test_a_run_that_was_stopped_is_no_repeat_of_one_that_went_to_its_end() -> None:
    title, text = told(run("a", 0.992, whole=False), run("b", 0.997))
    assert title == "b is ahead: 0.50 points better than a."
    assert text.endswith("a ended before the last step, which counts beside the settings.")


def test_runs_of_one_seed_are_no_samples_of_chance() -> None:
    """Three runs of a job with its first seed are one run made again: nothing is sure of them."""
    fast = [run(f"f{n}", 0.99, training__learning_rate=0.003) for n in range(3)]
    slow = [run(f"s{n}", 0.98) for n in range(3)]
    finding = compare([*fast, *slow]).finding
    assert finding.p is None and "can't be told from chance" in finding.text
    assert "Runs of one seed count as one." in finding.text
    assert finding.title.startswith("f0 and its 2 repeats are ahead")
    seeds = [replace(one, settings={**one.settings, "training.seed": n % 3}) for n, one in enumerate([*fast, *slow])]
    assert compare(seeds).finding.p is not None
    again = [*seeds, replace(seeds[0], run="again"), replace(seeds[3], run="too")]
    assert compare(again).finding.p is not None and "one seed" not in compare(again).finding.text


def test_the_same_seed_twice_is_no_chance_of_seeds() -> None:
    title, text = told(run("a", 0.992), run("b", 0.997))
    assert title == "a and its repeat are alike in every setting, the seed too: 99.2% to 99.7%"
    assert text.startswith("What is left is the machine")
    assert "differ in the seed alone" in told(run("a", 0.992), run("b", 0.997, training__seed=1))[0]


def test_where_nobody_is_charged_no_price_is_told() -> None:
    assert told(run("a", 0.8), run("b", 0.9, training__global_batch=64))[0] == "b is ahead: 10 points better than a."


def test_a_lower_mean_error_is_the_better_one() -> None:
    runs = [
        Contender(
            name,
            name,
            "computer",
            "cpu",
            "language-model",
            {**BASE, "training.seed": seed},
            "d",
            {"val_nats_per_token": value},
        )
        for name, seed, value in (("a", 0, 2.0), ("b", 0, 1.5))
    ]
    runs[1] = Contender(
        "b",
        "b",
        "computer",
        "cpu",
        "language-model",
        {**BASE, "training.global_batch": 64},
        "d",
        {"val_nats_per_token": 1.5},
    )
    found = compare(runs)
    assert found.sides[0].runs == ("b",) and "0.50 lower than a" in found.finding.title


def text_run(name: str, tokenizer: str, vocabulary: int, **best: float) -> Contender:
    settings = {**BASE, "data.tokenizer": tokenizer, "model.options.vocabulary": vocabulary}
    return Contender(name, name, "computer", "cpu", "language-model", settings, "d", best)


def test_texts_in_other_tokens_are_judged_by_bits_per_byte_and_never_by_a_tokens_loss() -> None:
    letters = text_run("letters", "bytes", 256, val_nats_per_token=1.5, val_bits_per_byte=2.16)
    pieces = text_run("pieces", "bpe", 1920, val_nats_per_token=3.6, val_bits_per_byte=2.02)
    more = text_run("more", "bpe", 4096, val_nats_per_token=4.0, val_bits_per_byte=2.05)

    for runs, best in (((letters, pieces), "pieces"), ((pieces, more), "pieces"), ((letters, more), "more")):
        found = compare(runs)
        assert (found.metric, found.finding.best) == ("val_bits_per_byte", best)
        assert "no loss of a token compares" in found.finding.text
    old = text_run("old", "bytes", 256, val_nats_per_token=1.5)
    assert compare((old, pieces)).finding.best == ""
    wider = text_run("wider", "bytes", 50_257, val_nats_per_token=1.4, val_bits_per_byte=2.0)
    assert compare((letters, wider)).metric == "val_nats_per_token"  # the same tokens: other rows are never used


def begun_from(name: str, preset: str, weights: str = "", **best: float) -> Contender:
    settings = {**BASE, "data.tokenizer": "preset", "model.preset": preset}
    return Contender(name, name, "computer", "cpu", "language-model", settings, "d", best, weights=weights)


def test_pretrained_weights_bring_their_own_tokens_and_are_judged_by_bits_per_byte() -> None:
    qwen = begun_from("qwen", "hf:Qwen/Qwen2.5-0.5B", val_nats_per_token=2.9, val_bits_per_byte=0.9)
    smol = begun_from("smol", "hf:HuggingFaceTB/SmolLM2-135M", val_nats_per_token=2.5, val_bits_per_byte=1.1)
    letters = text_run("letters", "bytes", 256, val_nats_per_token=1.3, val_bits_per_byte=1.9)
    for runs, best in (((qwen, smol), "qwen"), ((qwen, letters), "qwen"), ((smol, letters), "smol")):
        found = compare(runs)
        assert (found.metric, found.finding.best) == ("val_bits_per_byte", best)


def test_the_same_weights_bring_the_same_tokens_and_a_folder_that_changed_may_bring_others() -> None:
    one = begun_from("one", "/kept/gpt", "a" * 64, val_nats_per_token=2.9, val_bits_per_byte=0.9)
    same = begun_from("two", "/kept/gpt", "a" * 64, val_nats_per_token=2.5, val_bits_per_byte=1.1)
    assert compare((one, replace(same, settings={**same.settings, "training.global_batch": 64}))).finding.best == "two"
    changed = begun_from("three", "/kept/gpt", "b" * 64, val_nats_per_token=2.5, val_bits_per_byte=1.1)
    assert compare((one, replace(changed, settings={**changed.settings, "training.global_batch": 64}))).metric == (
        "val_bits_per_byte"
    )


def test_without_a_figure_of_bits_per_byte_other_tokens_get_no_verdict_and_the_reason() -> None:
    qwen = begun_from("qwen", "hf:Qwen/Qwen2.5-0.5B", val_nats_per_token=2.9)
    smol = begun_from("smol", "hf:HuggingFaceTB/SmolLM2-135M", val_nats_per_token=2.5)
    finding = compare((qwen, smol)).finding
    assert (finding.best, finding.title) == ("", "Nothing to rank yet")
    assert finding.text.endswith(
        "By bits per byte: their text is not known to be cut into the same tokens, so no loss of a token compares."
    )


def test_three_repeats_of_each_are_tested_and_the_seed_alone_is_a_repeat() -> None:
    one = [run(f"a{seed}", value, training__seed=seed) for seed, value in enumerate((0.80, 0.81, 0.805))]
    other = [
        run(f"b{seed}", value, training__seed=seed, training__global_batch=64)
        for seed, value in enumerate((0.90, 0.91, 0.905))
    ]
    found = compare([*one, *other])
    assert [side.runs for side in found.sides] == [("b0", "b1", "b2"), ("a0", "a1", "a2")]
    assert found.differing == ("training.seed", "training.global_batch")
    assert found.finding.p is not None and found.finding.p < 0.001
    assert "More than chance" in found.finding.text


def test_three_repeats_that_overlap_are_not_told_apart() -> None:
    one = [run(f"a{seed}", value, training__seed=seed) for seed, value in enumerate((0.80, 0.90, 0.85))]
    other = [
        run(f"b{seed}", value, training__seed=seed, training__global_batch=64)
        for seed, value in enumerate((0.82, 0.91, 0.86))
    ]
    finding = compare([*one, *other]).finding
    assert "can't be told apart" in finding.title and finding.p is not None and finding.p > 0.05


def test_no_verdict_between_tasks_data_or_unmeasured_runs() -> None:
    assert told(run("a", 0.8), run("b", 0.9, task="regression"))[0] == "These runs learn different things"
    assert told(run("a", 0.8), run("b", 0.9, fp="d2"))[0] == "Measured on different unseen data"
    assert told(run("a", 0.8), run("b", 0.9, data__validation=0.1))[0] == "Measured on different unseen data"
    assert told(run("a", 0.8), run("b"))[0] == "Nothing to rank yet"


def test_of_data_that_is_not_known_nothing_is_stated() -> None:
    title, text = told(run("base", 0.8), run("nofp", 0.9, fp=""))
    assert title == "Not known to be measured on the same data"
    assert "which data “nofp” learned from" in text and "cannot be ranked" in text
    paths = [run("cats", 0.8, fp="", data__path="/data/cats"), run("dogs", 0.9, fp="", data__path="/data/dogs")]
    assert told(*paths)[0] == title
    assert "“cats” and 1 more" in told(*paths)[1]
    assert told(run("a", 0.8, fp=""), run("b", 0.9, fp="", training__epochs=2))[0].startswith("b is ahead")
    assert told(run("a", 0.8, fp=""), run("b", 0.9), run("c", 0.9, fp="d2"))[0] == "Measured on different unseen data"


@pytest.mark.parametrize("share", [5.0, 1e38, 1.01, -0.1])
def test_a_share_that_there_cannot_be_ranks_nothing(share: float) -> None:
    """Damaged events made a run the best by 1e40 points."""
    found = compare([run("whole", 0.9), run("damaged", share), run("other", 0.8, training__global_batch=64)])
    assert found.finding.title == "whole is ahead: 10 points better than other."
    assert all("damaged" not in side.runs for side in found.sides)
    assert told(run("whole", 0.9), run("damaged", share))[0] == "Nothing to rank yet"
    found = compare([run("whole", 0.9), run("all", 1.0 + 1e-7)])
    assert found.sides and len(found.sides[0].values) + len(found.sides[1:]) == 2


def test_no_verdict_between_runs_that_predict_other_columns_of_a_table() -> None:
    runs = [
        replace(run(name, data__target=target), task="regression", best={"val_r2": value, "val_mae": value})
        for name, target, value in (("price", "price", 0.8), ("rooms", "rooms", 0.9))
    ]
    finding = compare(runs).finding
    assert (finding.title, finding.best) == ("These runs learn to predict different columns", "")
    assert "“price” and “rooms”" in finding.text
    forged = compare([runs[0], replace(runs[1], settings={**runs[1].settings, "data.target": "x\nRanked: \u2028b"})])
    assert "\n" not in forged.finding.text and "\u2028" not in forged.finding.text
    chats = [
        replace(
            text_run(name, "bytes", 256, val_nats_per_token=nats), task="instruction", settings={"data.target": name}
        )
        for name, nats in (("answer", 2.0), ("short_answer", 1.0))
    ]
    assert compare(chats).finding.best == ""
    same = [run("a", 0.8, data__target="kind"), run("b", 0.9, data__target="kind", training__global_batch=64)]
    assert compare(same).finding.best == "b"


def test_repeats_alone_show_what_chance_makes() -> None:
    title, text = told(run("a", 0.80, training__seed=1), run("b", 0.83, training__seed=2))
    assert title == "a and its repeat differ in the seed alone: 80% to 83%"
    assert "chance" in text


def test_what_still_trains_is_told() -> None:
    assert "b still goes on" in told(run("a", 0.8), run("b", 0.9, training__global_batch=64, over=False))[1]


@pytest.mark.parametrize(
    ("runs", "id"),
    [
        ([run("a")], "compare-too-few"),
        ([run(f"r{n}") for n in range(21)], "compare-too-many"),
        ([run("a"), run("a")], "compare-twice"),
    ],
)
def test_too_few_too_many_and_the_same_twice_are_refused(runs: list[Contender], id: str) -> None:
    with pytest.raises(BadInput) as caught:
        compare(runs)
    assert caught.value.id == id


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3), st.sampled_from([16, 32, 64])), min_size=2, max_size=12))
def test_every_measured_run_stands_in_one_side_and_the_best_side_is_first(rows: list[tuple[float, int, int]]) -> None:
    runs = [
        run(f"r{n}", value, training__seed=seed, training__global_batch=batch)
        for n, (value, seed, batch) in enumerate(rows)
    ]
    found: Comparison = compare(runs)
    assert sorted(one for side in found.sides for one in side.runs) == sorted(one.run for one in runs)
    means = [side.mean for side in found.sides]
    assert means == sorted(means, reverse=True)
    assert found.finding.title


EDGES = (1e308, -1e308, 1.7e308, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize("edge", EDGES)
def test_a_run_that_diverged_beyond_all_figures_is_left_out_and_that_is_said(edge: float) -> None:
    """The mean of two such overflowed, and the test of them ended in a traceback."""
    wild = [run(f"w{seed}", edge, training__seed=seed) for seed in range(3)]
    tame = [run(f"t{seed}", 0.8 + seed / 100, training__seed=seed, training__global_batch=64) for seed in range(3)]
    found = compare([*wild, *tame])
    assert [side.runs for side in found.sides] == [("t0", "t1", "t2")]
    assert found.finding.title.startswith("t0 and its 2 repeats differ in the seed alone")
    assert "w0 and others diverged: their figure is beyond all that can be ranked." in found.finding.text
    one = compare([wild[0], tame[0], run("u", 0.9, training__global_batch=8)])
    assert one.finding.best == "u"
    assert one.finding.text.endswith("w0 diverged: its figure is beyond all that can be ranked.")


@pytest.mark.parametrize("largest", [1e100, -1e100, 5e-324])
def test_the_largest_figures_that_are_ranked_overflow_nowhere(largest: float) -> None:
    runs = [
        run(
            f"{side}{seed}", (largest if side == "a" else -largest) * (1 - seed / 8), 1e308, x=side, training__seed=seed
        )
        for side in "ab"
        for seed in range(3)
    ]
    found = compare(runs)
    assert found.finding.p is None or 0 <= found.finding.p <= 1
    assert all(math.isfinite(figure) for side in found.sides for figure in (side.mean, side.usd, side.time_s))
    assert len(found.finding.title) < 200 and "inf" not in found.finding.title


def test_a_price_that_nobody_pays_is_not_told() -> None:
    title, _ = told(run("a", 0.8, 1e308), run("b", 0.9, -1e308, training__global_batch=64))
    assert title == "b is ahead: 10 points better than a."


def told_for_the_same_money(spent: dict[str, float], reached: dict[str, float | None], *runs: Contender) -> str:
    return same_money(compare(runs), spent, lambda run, usd: reached[run]).finding.same_money


def test_the_dearer_run_is_also_told_at_the_price_of_the_cheaper_one() -> None:
    runs = run("a", 0.794, 1.98), run("b", 0.841, 2.96, training__global_batch=64)
    assert told_for_the_same_money({"a": 1.98, "b": 2.9}, {"a": 0.794, "b": 0.76}, *runs) == (
        "For the first $1.98 that each of them cost, a was ahead: 79%, b 76%."
    )


@pytest.mark.parametrize(
    ("spent", "reached"),
    [
        ({"a": 1.98, "b": 2.0}, {"a": 0.7, "b": 0.8}),  # as dear as one another
        ({"a": 1.98}, {"a": 0.7, "b": 0.8}),  # one costs nothing
        ({}, {}),
        ({"a": 0.001, "b": 0.9}, {"a": 0.7, "b": 0.8}),  # nothing that anybody counts
        ({"a": 1.0, "b": 2.0}, {"a": 0.7, "b": None}),  # it had no figure by then
        ({"a": 1.0, "b": 2.0}, {"a": 0.7, "b": float("nan")}),
        ({"a": 1.0, "b": 2.0}, {"a": 0.7, "b": 0.7}),
        ({"a": 1e99, "b": 1e100}, {"a": 0.7, "b": 0.8}),
    ],
)
def test_where_the_same_money_tells_nothing_it_is_not_told(
    spent: dict[str, float], reached: dict[str, float | None]
) -> None:
    runs = run("a", 0.7, 1.0), run("b", 0.8, 2.0, training__global_batch=64)
    assert told_for_the_same_money(spent, reached, *runs) == ""


def test_runs_that_cannot_be_ranked_are_not_ranked_for_the_same_money_either() -> None:
    runs = run("a", 0.7, 1.0), run("b", 0.8, 2.0, fp="other")
    assert told_for_the_same_money({"a": 1.0, "b": 2.0}, {"a": 0.7, "b": 0.6}, *runs) == ""
