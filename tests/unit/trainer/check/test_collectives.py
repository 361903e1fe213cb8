"""What chips exchange, out of the compiler's text: here as libtpu 0.0.42.1 writes it, cut to what matters."""

from __future__ import annotations

from tpu_studio.trainer.check.collectives import collective_bytes

LOOPS = """\
HloModule jit_step, is_scheduled=true

%fused.1 (param: f32[512,256]) -> f32[512,256] {
  ROOT %copy.1 = f32[512,256]{1,0:T(8,128)} copy(%param)
}

%parts (wide.param.4: (s32[], f32[512,256])) -> (s32[], f32[512,256]) {
  %all-reduce.3 = f32[512,256]{1,0:T(8,128)} all-reduce(%fusion.12), channel_id=1, to_apply=%add.clone
  ROOT %fusion.2 = f32[512,256]{1,0:T(8,128)} fusion(%all-reduce.3), kind=kLoop, calls=%fused.1
}

%until.2 (wide.param.1: (s32[], f32[512,256])) -> pred[] {
  %constant.12.clone.1 = s32[]{:T(128)} constant(4)
  %get-tuple-element.60 = s32[]{:T(128)} get-tuple-element(%wide.param.1), index=0
  ROOT %lt.9 = pred[]{:T(512)} compare(%get-tuple-element.60, %constant.12.clone.1), direction=LT, metadata={}
}

%steps (wide.param.0: (s32[], f32[512,256])) -> (s32[], f32[512,256]) {
  %while.21 = (s32[]{:T(128)}, f32[512,256]{1,0}) while(%tuple.25), condition=%until.2, body=%parts, metadata={}
  ROOT %sum = (f32[]{:T(128)}, bf16[8]{0}) all-reduce(%one, %two), channel_id=2, to_apply=%add.clone
}

%until.4 (wide.param.3: (s32[], f32[512,256])) -> pred[] {
  ROOT %lt.8 = pred[]{:T(512)} compare(%get-tuple-element.70, %get-tuple-element.71), direction=LT, metadata={}
}

ENTRY %main.5_spmd (param.4: f32[512,256], param.5: s32[]) -> f32[512,256] {
  ROOT %while.20 = (s32[]{:T(128)}, f32[512,256]{1,0}) while(%tuple.28), condition=%until.4, body=%steps, metadata={}
}
"""
STARTED = """\
%gathered (param: bf16[128]) -> bf16[1024] {
  ROOT %all-gather.9 = bf16[1024]{0:T(1024)} all-gather(%param), channel_id=3, dimensions={0}
}

ENTRY %main (param.4: bf16[128]) -> bf16[1024] {
  %start.1 = ((bf16[128]), bf16[1024], u32[]) async-start(%param.4), calls=%gathered
  %done.1 = bf16[1024]{0} async-done(%start.1), calls=%gathered
  %start.2 = (f32[16]{0}, f32[16]{0}) collective-permute-start(%x), source_target_pairs={{0,1}}
  %done.2 = f32[16]{0} collective-permute-done(%start.2)
  ROOT %alone = bf16[1024]{0} add(%done.1, %done.1)
}
"""


def test_what_a_step_exchanges_counts_by_the_parts_of_the_step_and_once_for_many_steps():
    assert collective_bytes(LOOPS) == 4 * (512 * 256 * 4) + 4 + 8 * 2


def test_what_is_begun_and_ended_apart_counts_once():
    assert collective_bytes(STARTED) == 1024 * 2 + 16 * 4


def test_one_chip_exchanges_nothing():
    assert collective_bytes("ENTRY %main (x: f32[8]) -> f32[8] {\n  ROOT %y = f32[8]{0} add(%x, %x)\n}\n") == 0


def test_what_a_fusion_exchanges_counts_as_often_as_it_runs():
    text = LOOPS.replace(
        "ROOT %copy.1 = f32[512,256]{1,0:T(8,128)} copy(", "ROOT %all-gather.7 = f32[512,256]{1,0} all-gather("
    )
    assert collective_bytes(text) == 4 * 2 * (512 * 256 * 4) + 4 + 8 * 2
