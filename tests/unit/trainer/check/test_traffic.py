"""What a program moves between chip and memory, out of the compiler's text: as libtpu 0.0.42.1 writes it, cut."""

from __future__ import annotations

from tpu_studio.trainer.check.traffic import memory_bytes

KIB, MIB = 1 << 10, 1 << 20
PROGRAM = """\
HloModule jit_step, is_scheduled=true

%fused.1 (param_0.1: f32[256,1024], param_1.1: f32[256,1024]) -> f32[256,1024] {
  %param_0.1 = f32[256,1024]{1,0:T(8,128)} parameter(0)
  %param_1.1 = f32[256,1024]{1,0:T(8,128)} parameter(1)
  ROOT %add.1 = f32[256,1024]{1,0:T(8,128)} add(%param_0.1, %param_1.1)
}

%fused.2 (param_0.2: f32[64,256,1024], param_1.2: s32[]) -> f32[256,1024] {
  %param_1.2 = s32[]{:T(128)} parameter(1)
  %param_0.2 = f32[64,256,1024]{2,1,0:T(8,128)} parameter(0)
  %cut = f32[1,256,1024]{2,1,0:T(8,128)} dynamic-slice(%param_0.2, %param_1.2, %zero, %zero), dynamic_slice_sizes={1}
  ROOT %bitcast.1 = f32[256,1024]{1,0:T(8,128)} bitcast(%cut)
}

%fused.3 (param_0.3: f32[64,256,1024], param_1.3: f32[1,256,1024]) -> f32[64,256,1024] {
  %param_0.3 = f32[64,256,1024]{2,1,0:T(8,128)} parameter(0)
  %param_1.3 = f32[1,256,1024]{2,1,0:T(8,128)} parameter(1)
  ROOT %put = f32[64,256,1024]{2,1,0:T(8,128)} dynamic-update-slice(%param_0.3, %param_1.3, %zero, %zero, %zero)
}

%parts (wide.param.4: (s32[], f32[256,1024])) -> (s32[], f32[256,1024]) {
  %wide.param.4 = (s32[]{:T(128)}, f32[256,1024]{1,0:T(8,128)}) parameter(0)
  %got = f32[256,1024]{1,0:T(8,128)} get-tuple-element(%wide.param.4), index=1
  %twice = f32[256,1024]{1,0:T(8,128)} fusion(%got, %got), kind=kLoop, calls=%fused.1
  ROOT %tuple.1 = (s32[]{:T(128)}, f32[256,1024]{1,0:T(8,128)}) tuple(%one, %twice)
}

%until (wide.param.5: (s32[], f32[256,1024])) -> pred[] {
  %constant.12 = s32[]{:T(128)} constant(4)
  %at = s32[]{:T(128)} get-tuple-element(%wide.param.5), index=0
  ROOT %lt.9 = pred[]{:T(512)} compare(%at, %constant.12), direction=LT, metadata={}
}

ENTRY %main (stack: f32[64,256,1024], number: s32[]) -> f32[256,1024] {
  %stack = f32[64,256,1024]{2,1,0:T(8,128)} parameter(0)
  %number = s32[]{:T(128)S(6)} parameter(1)
  %first = f32[256,1024]{1,0:T(8,128)} fusion(%stack, %number), kind=kLoop, calls=%fused.2
  %start.1 = (f32[256,1024]{1,0:T(8,128)S(1)}, f32[256,1024]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%first)
  %near = f32[256,1024]{1,0:T(8,128)S(1)} copy-done(%start.1)
  %more = f32[256,1024]{1,0:T(8,128)S(1)} fusion(%near, %near), kind=kLoop, calls=%fused.1
  %kernel = (f32[256,1024]{1,0}, f32[1,256,1024]{2,1,0}) custom-call(%first), custom_call_target="tpu_custom_call"
  %piece = f32[1,256,1024]{2,1,0:T(8,128)} get-tuple-element(%kernel), index=1
  %into = f32[64,256,1024]{2,1,0:T(8,128)} fusion(%stack, %piece), kind=kLoop, calls=%fused.3
  %start.2 = ((f32[256,1024]{1,0:T(8,128)}), f32[64,1024]{1,0:T(8,128)S(1)}, s32[]{:S(2)}) slice-start(%first)
  %quarter = f32[64,1024]{1,0:T(8,128)S(1)} slice-done(%start.2)
  %loop = (s32[]{:T(128)}, f32[256,1024]{1,0:T(8,128)}) while(%tuple.9), condition=%until, body=%parts
  ROOT %out = f32[256,1024]{1,0:T(8,128)} get-tuple-element(%loop), index=1
}
"""


def test_traffic_leaves_out_what_stays_on_the_chip_and_counts_pieces_and_trips() -> None:
    cut_out = 2 * MIB  # one MiB of the stack read and written
    near = MIB + MIB // 4  # read into the chip, whole and a quarter; what is worked out there stays there
    put_in = 2 * MIB  # the piece read, and written in its place
    in_loop = 4 * 3 * MIB  # four times: two read, one written
    assert memory_bytes(PROGRAM) == cut_out + near + put_in + in_loop


def test_a_program_of_which_nothing_can_be_read_moves_nothing() -> None:
    assert memory_bytes("") == 0
