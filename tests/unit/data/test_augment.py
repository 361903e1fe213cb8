"""What is drawn for each picture of a batch; that a step applies it as `varied` does: tests/trainer/test_varying.py."""

from __future__ import annotations

import numpy as np
import pytest

from tpu_studio.data.augment import LIGHT_BITS, MIX_BITS, may_mirror, mixes, variations
from tpu_studio.data.opened import Share


@pytest.fixture
def pictures():
    return np.random.default_rng(0).integers(0, 256, (32, 20, 24, 3), dtype=np.uint8)


def varied(pictures, seed=1, **options):
    """The pictures as drawn, one by one and in plain words."""
    drawn = variations(np.random.default_rng(seed), len(pictures), pictures.shape[1:3], **options)
    out = np.empty_like(pictures)
    for n, picture in enumerate(pictures):
        gain, added, top = (int(value) for value in drawn["light"][n])
        moved = picture[drawn["rows"][n]][:, drawn["columns"][n]].astype(np.int64)
        out[n] = np.clip((moved * gain + added) // 2**LIGHT_BITS, 0, top)
    return out


def mixed(pictures, how, seed=1):
    """Each with the one before it as drawn, one by one and in plain words."""
    drawn = mixes(np.random.default_rng(seed), len(pictures), pictures.shape[1:3], how)["mix"]
    out = pictures.copy()
    for n, (_, inner, top, bottom, left, right) in enumerate(drawn):
        one, other = (pictures[at][top:bottom, left:right].astype(np.int64) for at in (n, n - 1))
        whole = 2**MIX_BITS
        out[n][top:bottom, left:right] = (one * inner + other * (whole - inner) + whole // 2) // whole
    return out


@pytest.mark.parametrize("how", ["mixup", "cutmix"])
def test_a_picture_keeps_at_least_half_and_its_class_as_much_as_its_pixels(how):
    black_and_white = np.stack([np.full((40, 30, 1), 255 * (n % 2), np.uint8) for n in range(2000)])
    drawn = mixes(np.random.default_rng(5), 2000, (40, 30), how)["mix"]

    assert (drawn.shape, drawn.dtype) == ((2000, 6), np.int32)
    assert drawn[:, 0].min() >= 0.49 * 2**MIX_BITS and drawn[:, 0].max() == 2**MIX_BITS
    assert drawn[:, 2:].min() >= 0 and drawn[:, 3].max() <= 40 and drawn[:, 5].max() <= 30
    of_white = mixed(black_and_white, how, 5)[1::2].mean(axis=(1, 2, 3)) / 255  # each behind a black one
    np.testing.assert_allclose(of_white, drawn[1::2, 0] / 2**MIX_BITS, atol=0.005)
    assert len(np.unique(of_white)) > 50


def test_what_a_machine_mixes_is_its_share_of_what_one_would_mix():
    def drawn(share=None):
        return mixes(np.random.default_rng(5), 12, (8, 8), "cutmix", share=share)["mix"]

    shares = [drawn(Share(np.arange(begin, begin + 4), 12)) for begin in (0, 4, 8)]
    np.testing.assert_array_equal(np.concatenate(shares), drawn())


def test_pictures_change_a_little(pictures):
    assert all((one != other).any() for one, other in zip(varied(pictures), pictures, strict=True))
    flat = np.full((64, 16, 16, 1), 128, dtype=np.uint8)
    assert np.abs(varied(flat).astype(int) - 128).max() <= 0.1 * 255 + 1


def test_numbers_are_whole_and_places_lie_on_the_picture(pictures):
    drawn = variations(np.random.default_rng(1), 32, (20, 24))

    assert {name: (array.shape, array.dtype) for name, array in drawn.items()} == {
        "rows": ((32, 20), np.int32),
        "columns": ((32, 24), np.int32),
        "light": ((32, 3), np.int32),
    }
    assert drawn["rows"].min() >= 0 and drawn["rows"].max() == 19
    assert drawn["columns"].min() >= 0 and drawn["columns"].max() == 23
    largest = drawn["light"][:, 0].max() * 255 + drawn["light"][:, 1].max()
    assert largest < 2**31  # worked out in int32 on the device


def test_the_same_generator_gives_the_same_pictures(pictures):
    one, again, other = (varied(pictures, seed) for seed in (1, 1, 2))

    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_things_move_by_a_tenth_of_the_side_and_stay_on_the_picture():
    dot = np.zeros((200, 40, 40, 1), dtype=np.uint8)
    dot[:, 18:22, 18:22] = 255

    moved = varied(dot, 3)[..., 0] > 128

    places = np.array([np.argwhere(picture).mean(axis=0) for picture in moved])
    assert np.abs(places - 19.5).max() < 6
    assert places.std(axis=0).min() > 1


def test_nothing_is_mirrored_unless_asked_for():
    left = np.zeros((100, 20, 20, 1), dtype=np.uint8)
    left[:, :, :4] = 200

    def on_the_right(pictures) -> int:
        return int((pictures[:, :, 10:].max(axis=(1, 2, 3)) > pictures[:, :, :3].max(axis=(1, 2, 3))).sum())

    assert on_the_right(varied(left, 0)) == 0
    assert 30 < on_the_right(varied(left, 0, mirror=True)) < 70


def test_values_stay_within_the_range_of_the_data():
    digits = np.random.default_rng(0).integers(0, 17, (64, 8, 8, 1), dtype=np.uint8)

    bent = varied(digits, value_max=16)

    assert bent.max() <= 16
    assert abs(float(bent.mean()) - float(digits.mean())) < 2


def test_digits_letters_and_hands_are_not_mirror_safe():
    assert may_mirror("images", ["cats", "dogs"])
    assert not may_mirror("images", ["0", "1"])
    assert not may_mirror("images", ["turn left", "turn right"])
    assert not may_mirror("digits", ["zero"])


@pytest.mark.parametrize("mirror", [False, True])
def test_a_share_of_a_batch_is_varied_as_in_the_whole_one(mirror):
    whole = variations(np.random.default_rng(1), 32, (20, 24), mirror=mirror)
    for places in (range(16), [2, 3, 6, 7, 30]):
        share = Share(np.array(places), 32)
        mine = variations(np.random.default_rng(1), 32, (20, 24), mirror=mirror, share=share)
        for name, array in mine.items():
            np.testing.assert_array_equal(array, whole[name][places])
