"""What can be rented, what it costs, what goes together; every figure says where it is from."""

from __future__ import annotations

from datetime import date

import pytest

from tpu_studio.domain.catalogue import Catalogue, catalogue
from tpu_studio.domain.generations import region_of
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import BadInput


@pytest.fixture
def known() -> Catalogue:
    return catalogue()


def test_every_generation_that_is_offered_has_slices_zones_machines_and_the_figures_the_planner_needs(known: Catalogue):
    assert [one.id for one in known.offered()] == ["v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"]
    for one in known.offered():
        assert one.slices and one.zones and one.machines
        assert {"peak_bf16", "hbm", "hbm_per_device", "hbm_rate", "devices_per_chip", "matrix_unit"} <= set(one.figures)


def test_every_figure_has_source_date_and_confidence(known: Catalogue):
    for one in known.generations.values():
        for name, figure in one.figures.items():
            assert figure.source in known.sources, (one.id, name)
            assert figure.date
            assert figure.confidence in ("high", "medium", "low", "unverified")


def test_announced_chips_are_known_but_not_offered(known: Catalogue):
    assert not known.generation("tpu8t").offered
    assert known.possible("tpu8t").state == "impossible"


def test_the_number_in_a_name_counts_cores_or_chips_by_generation(known: Catalogue):
    chips = {name: known.slice(name).chips for name in ("v3-8", "v4-8", "v5p-8", "v5litepod-8", "v6e-8", "tpu7x 2x2x1")}
    assert chips == {"v3-8": 4, "v4-8": 4, "v5p-8": 4, "v5litepod-8": 8, "v6e-8": 8, "tpu7x 2x2x1": 4}


def test_devices_are_what_the_framework_counts(known: Catalogue):
    assert [known.slice(name).devices for name in ("v3-8", "v4-8", "v5litepod-8", "tpu7x 2x2x1")] == [8, 4, 8, 8]


@pytest.mark.parametrize("name", ["v5e-8", "V5litepod-8", " v5litepod-8 "])
def test_people_write_names_in_their_own_way(known: Catalogue, name: str):
    assert known.slice(name).accelerator_type == "v5litepod-8"


@pytest.mark.parametrize(
    ("name", "id"), [("Trillium", "v6e"), ("Ironwood", "tpu7x"), ("v7", "tpu7x"), ("TPU v4", "v4")]
)
def test_a_generation_is_found_by_its_other_names(known: Catalogue, name: str, id: str):
    assert known.generation(name).id == id


@pytest.mark.parametrize(("wanted", "nearest"), [("v6e-9", "v6e-8"), ("v6e-3", "v6e-4"), ("v5p-1", "v5p-8")])
def test_a_slice_that_does_not_exist_names_the_nearest(known: Catalogue, wanted: str, nearest: str):
    with pytest.raises(BadInput) as told:
        known.slice(wanted)
    assert told.value.id == "slice-unknown"
    assert f"Did you mean {nearest}?" in say(told.value).action


def test_an_unknown_generation_names_the_known_ones(known: Catalogue):
    with pytest.raises(BadInput) as told:
        known.slices("v99")
    assert told.value.id == "generation-unknown"
    assert "v6e" in say(told.value).action


def test_a_v5e_slice_of_sixteen_is_four_machines(known: Catalogue):
    assert [known.slice(name).vms for name in ("v5litepod-8", "v5litepod-16", "v6e-16")] == [1, 4, 4]


def test_a_price_is_per_chip_with_the_day_it_was_read(known: Catalogue):
    price = known.price("v6e", 8, "us-central1-b")
    assert price is not None
    assert price.usd_per_chip_hour == 2.70
    assert price.usd_per_hour(8) == pytest.approx(21.60)
    assert date.fromisoformat(price.as_of)
    assert price.source in known.sources


def test_small_and_large_v2_slices_cost_differently_a_chip(known: Catalogue):
    small, large = known.price("v2", 4, "us-central1"), known.price("v2", 16, "us-central1")
    assert small is not None and large is not None
    assert (small.usd_per_chip_hour, large.usd_per_chip_hour) == (1.125, 1.5)


def test_an_unknown_price_is_none_and_never_a_guess(known: Catalogue):
    assert known.price("tpu7x", 4, "us-central1-c") is None
    assert known.price("v6e", 8, "us-central1-b", "flex-start") is None


def test_prices_come_cheapest_first(known: Catalogue):
    found = [price.usd_per_chip_hour for price in known.prices("v5e", 8, "spot")]
    assert found == sorted(found)
    assert len(found) > 5


@pytest.mark.parametrize(
    ("asked", "state", "word"),
    [
        ({"generation": "v6e", "framework": "jax", "zone": "us-east5-a", "tier": "spot", "chips": 8}, "documented", ""),
        ({"generation": "tpu7x", "framework": "tensorflow"}, "impossible", "not supported"),
        ({"generation": "v6e", "framework": "tensorflow"}, "unproven", "reported"),
        ({"generation": "v4", "zone": "us-west4-a"}, "impossible", "us-central2-b"),
        ({"generation": "v3", "zone": "us-central1-a", "chips": 16}, "impossible", "lends 4 to 4"),
        ({"generation": "v6e", "chips": 3}, "impossible", "1, 4, 8"),
        ({"generation": "v6e", "tier": "flex-start", "zone": "us-central1-b"}, "impossible", "us-east5-a"),
        ({"generation": "v4", "tier": "flex-start"}, "impossible", "not documented"),
        ({"generation": "v5e", "zone": "us-east1-c"}, "unproven", "not name it"),
        ({"generation": "v6e", "tier": "gratis"}, "impossible", "gratis"),
        ({"generation": "v6e", "framework": "pytorch"}, "impossible", "pytorch"),
        ({"generation": "abacus"}, "impossible", "abacus"),
    ],
)
def test_what_cannot_be_picked_says_why(known: Catalogue, asked: dict[str, object], state: str, word: str):
    verdict = known.possible(**asked)  # type: ignore[arg-type]
    assert verdict.state == state
    assert word in verdict.why
    assert verdict.possible is (state != "impossible")


def test_a_runtime_image_is_known_where_cloud_tpu_has_one(known: Catalogue):
    assert known.image("v6e", "jax") == "v2-alpha-tpuv6e"
    assert known.image("v6e", "cobol") == ""


@pytest.mark.parametrize("generation", ["v2", "v3", "v4", "v5e", "v5p", "v6e"])
def test_tensorflow_starts_on_the_image_that_jax_has(known: Catalogue, generation: str):
    assert known.image(generation, "tensorflow") == known.image(generation, "jax") != ""


def test_versions_that_go_together_name_jax_and_libtpu(known: Catalogue):
    assert any(
        row["packages"].get("libtpu") and row["framework"] == "jax" for row in known.file("software")["together"]
    )


def test_a_region_is_a_zone_without_its_letter():
    assert [region_of(one) for one in ("us-west4-a", "us-west4", "us-south1-ai1b")] == [
        "us-west4",
        "us-west4",
        "us-south1",
    ]
