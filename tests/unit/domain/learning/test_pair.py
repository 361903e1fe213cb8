"""The two jobs of the chapter on bfloat16 differ in what the chapter says, and in nothing else."""

from __future__ import annotations

from tpu_studio.domain import jobfile
from tpu_studio.wire.resources import resource_path


def test_the_two_jobs_differ_in_name_and_precision_alone() -> None:
    one, other = (jobfile.load(resource_path("learn", f"{name}.tpujob")) for name in ("float32", "bfloat16"))
    assert {path for path in one.given | other.given if one[path] != other[path]} == {"name", "training.precision"}
