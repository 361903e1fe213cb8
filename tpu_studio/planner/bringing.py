"""The folder that a model begins from, on a rented machine: how long it takes there, and whether it has room. Pure.

It comes through the bucket (`cloud.presetparts`), in parts; the machine joins them on its disk, reads all of it for its
hash, and the trainer reads it again, for its hash and into the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpu_studio.domain import rates
from tpu_studio.domain.sentences import say_finding
from tpu_studio.planner import assumptions as assumed
from tpu_studio.planner.rented import Rented
from tpu_studio.planner.work import FLOAT, Memory, Work
from tpu_studio.wire import places
from tpu_studio.wire.plan import Check
from tpu_studio.wire.planparts import Range
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import decoder

PART_BYTES = 64_000_000  # on its way to the disk, beside what is there (`cloud.presetparts`)
_PASSES = 3  # over the files, once they are there
_COPIES = 4  # of what learns, with the optimizer's two moments: the last two, the best one, and the next one
_MOMENTS = 3
_FORMATS = 4  # of the result, each with all weights (`planner.places.rented`)
_AT_ONCE = 2  # the result in memory: as it is put together, and as it is written
_OPENED = 1  # beside it a result that it begins from, which is opened whole
_GB = 10**9


def fetching_s(preset: Preset | None, place: str) -> Range:
    """From the bucket into the model; nothing where it begins from none."""
    size = preset.files_bytes if preset else 0
    rate = assumed.PRACTICE_BYTES_PER_S if places.by_id(place).rehearses else assumed.BUCKET_BYTES_PER_S
    return Range(
        *(
            size / fetched + _PASSES * size / read
            for fetched, read in zip(_three(rate), _three(assumed.READ_BYTES_PER_S), strict=True)
        )
    )


def uploading_s(size: int) -> Range | None:
    """From a person's computer to the bucket; None where it is a matter of seconds."""
    found = Range(*(size / rate for rate in _three(assumed.UPLOAD_BYTES_PER_S)))
    return found if found.expected >= 60.0 else None


def weights_in(preset: Preset) -> int:
    """Numbers that the network of *preset* has, before the engine has counted them."""
    if preset.is_decoder:
        return decoder.describe(preset.config).numbers
    return preset.size_bytes // FLOAT


def room(
    preset: Preset, rented: Rented, work: Work, memory: Memory, place: str, data_bytes: int, free_bytes: int | None
) -> Iterator[Check]:
    """Whether a machine of *rented* holds it: what does not fit ends a run that is paid for.

    Args:
        data_bytes: Of the data as it is brought.
        free_bytes: On this computer's disk, which is the machine's in practice; None where nobody looked.
    """
    practice = places.by_id(place).rehearses
    every = weights_in(preset) if work.is_guess else work.params + work.frozen
    learns = 0 if work.is_guess else work.params
    facts: dict[str, object] = {"path": str(preset.folder), "file": preset.name, "size": preset.files_bytes}
    facts |= {"machine": rented.title, "here": practice}
    state = FLOAT * (_COPIES * _MOMENTS * learns + _FORMATS * every)
    disk = preset.files_bytes + PART_BYTES + 2 * data_bytes + state
    if practice:  # the practice bucket lies on the same disk
        disk, has_disk = disk + preset.files_bytes, free_bytes
    else:
        gb = rates.COMPUTE_BOOT_DISK_GB if rented.backend == "compute-engine" else rates.TPU_BOOT_DISK_GB
        disk, has_disk = disk + assumed.DISK_TAKEN_BYTES, gb * _GB
    if has_disk is not None and disk > has_disk:
        yield _check("preset-needs-disk", facts | {"needs_bytes": disk, "has_bytes": has_disk})
    at_once = _AT_ONCE + (_OPENED if preset.base and preset.is_decoder else 0)
    host = memory.framework + memory.data + FLOAT * (at_once * every + _MOMENTS * learns)
    has_memory = 0 if practice else rented.generation.ram_bytes_for(rented.slice.chips)
    if 0 < has_memory < host:
        yield _check("preset-needs-host", facts | {"needs_bytes": host, "has_bytes": has_memory})


def _check(id: str, facts: dict[str, object]) -> Check:
    return Check(id, "error", say_finding(id, facts).title, None, facts)


def _three(value: Range) -> tuple[float, float, float]:
    return value.low, value.expected, value.high
