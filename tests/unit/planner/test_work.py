"""Weights and operations of our models against numbers worked out by hand or published."""

from __future__ import annotations

import pytest

from tpu_studio.planner import work
from tpu_studio.wire.families import halvings
from tpu_studio.wire.models import options

GPT2 = options("gpt-124m", {"vocabulary": 50_257})  # as published


def test_gpt_124m_has_the_124_439_808_weights_of_gpt_2_small_with_its_vocabulary():
    assert work.gpt(GPT2, tokens=1024).params == 124_439_808


def test_weights_work_and_memory_follow_the_vocabulary():
    of_bytes, published = work.gpt(options("gpt-124m", {}), tokens=1024), work.gpt(GPT2, tokens=1024)
    rows = 50_257 - 256
    assert published.params - of_bytes.params == rows * 768 == 38_400_768
    assert published.flops - of_bytes.flops == 1024 * 6 * rows * 768  # each token, forward and twice that backward
    assert published.activation_bytes - of_bytes.activation_bytes >= 4 * 1024 * rows  # float32 scores, once at least


def test_gpt_nano_by_hand():
    # tokens 256 x 128 = 32,768; positions 64 x 128 = 8,192; a block 12 x 128² + 13 x 128 = 198,272; last norm 256
    assert work.gpt(options("gpt-nano", {}), tokens=64).params == 32_768 + 8_192 + 3 * 198_272 + 256 == 636_032


def test_gpt_nano_operations_of_one_sequence_by_hand():
    # a token: 6 x (32,768 + 3 x 196,608) = 3,735,552 and 12 x 3 x 128 x 64 = 294,912; 64 tokens
    assert work.gpt(options("gpt-nano", {}), tokens=64).flops == 64 * (3_735_552 + 294_912)


def test_mlp_by_hand():
    # 26 -> 256 -> 256 -> 256 -> 1: 6,656 + 65,536 + 65,536 + 256 weights, 769 biases
    counted = work.mlp(options("mlp", {}), inputs=26, answers=1)
    assert counted.params == 137_984 + 769
    assert counted.flops == 6 * 137_984 - 2 * 6_656  # nobody needs the gradient of the data


def test_small_cnn_by_hand():
    # on 64 x 64 x 3 with 32, 64, 128, 256 channels: 9 x in x out and 2 x out each; then 256 x 10 + 10
    convolutions = 9 * (3 * 32 + 32 * 64 + 64 * 128 + 128 * 256)
    counted = work.small_cnn(options("small-cnn", {}), size=64, channels=3, answers=10)
    assert counted.params == convolutions + 2 * (32 + 64 + 128 + 256) + 2_570 == 391_466
    # multiplications: 64² and 32² and 16² and 8² places; a multiply-add is 2 operations, training 3 times forward
    places = 9 * (3 * 32 * 4096 + 32 * 64 * 1024 + 64 * 128 * 256 + 128 * 256 * 64)
    assert counted.flops == 6 * (places + 2_560) - 2 * 9 * 3 * 32 * 4096  # nobody needs the gradient of the pictures
    assert counted.convolutions


def test_a_small_picture_has_room_for_fewer_blocks():
    assert halvings(4, 8) == 3
    assert halvings(4, 64) == 4


def test_memory_counts_weights_gradients_and_moments_in_float32():
    model = work.Work(params=1_000_000, flops=1.0, activation_bytes=1_000)
    adam = work.memory(
        model, batch=32, accumulate=1, optimizer="adamw", precision="float32", data_bytes=7, framework="jax"
    )
    assert (adam.weights, adam.optimizer, adam.activations, adam.data) == (8_000_000, 8_000_000, 32_000, 7)
    sgd = work.memory(
        model, batch=32, accumulate=4, optimizer="sgd", precision="bfloat16", data_bytes=0, framework="jax"
    )
    assert (sgd.optimizer, sgd.activations) == (4_000_000, 4_000)


def test_recomputing_trades_memory_for_a_quarter_more_work():
    plain, recomputed = work.gpt(GPT2, tokens=1024), work.gpt(GPT2, tokens=1024, rematerialize=True)
    assert recomputed.activation_bytes < plain.activation_bytes / 3
    # a token and block: 8 x 768² multiplications before the block's last product, 2 x 768 x 1,024 of attention
    assert recomputed.flops - plain.flops == pytest.approx(1024 * 12 * 2 * (8 * 768**2 + 2 * 768 * 1024))
    assert recomputed.model_flops == pytest.approx(plain.flops)


def on_a_chip(counted: work.Work, batch: int) -> work.Memory:
    return work.memory(
        counted,
        batch=batch,
        accumulate=1,
        optimizer="adamw",
        precision="float32",
        data_bytes=0,
        framework="jax",
        chip=True,
    )


def needs(batch: int, devices: int = 1, limit: int | None = None) -> int:
    return on_a_chip(work.gpt(GPT2, tokens=1024), batch).on_device(devices, limit)


def test_the_compiler_makes_fit_what_is_a_little_too_large_and_says_how_much_is_too_much():
    limit = needs(12)
    assert needs(12, limit=limit) == limit
    assert 0.9 * limit < needs(13, limit=limit) <= limit < needs(13)
    assert limit < needs(24, limit=limit) < needs(24)


def test_each_device_holds_its_share_of_the_examples():
    assert needs(64, devices=8) == needs(8)


def test_pictures_are_filled_up_to_128_on_each_device():
    counted = work.small_cnn(options("small-cnn", {}), size=64, channels=3, answers=10)
    assert on_a_chip(counted, 512).on_device(8) == on_a_chip(counted, 128).on_device(1)
    assert on_a_chip(counted, 64).on_device(1) == on_a_chip(counted, 128).on_device(1)
    assert on_a_chip(counted, 128).on_device(1) < on_a_chip(counted, 129).on_device(1)
