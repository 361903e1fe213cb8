"""What is known besides a job and a look at its data, when a plan is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tpu_studio.domain.catalogue import SHIPPED, Catalogues
from tpu_studio.planner.computer import Computer
from tpu_studio.planner.own import OwnRuns
from tpu_studio.planner.timing import Timing
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.presets import Preset


@dataclass(frozen=True)
class Known:
    """Each makes the plan truer; none is needed.

    Attributes:
        catalogues: Prices and offers that count; what came with the program where nothing newer was read.
        timing: From the trainer's `time` mode, for this model, batch and data; without it the estimate is wide.
        here: Timing of the same job on this computer, to compare a rented place with.
        model_facts: Of the user's own file: ``sha256``, ``missing``, ``secret_line``, ``params``, ``problem`` with
            ``facts``. Of any model that the engine has looked at, ours too: what `trainer.work.model` counts, and
            ``key``, of what it depends on (`planner.modelwork.model_key`), and ``precision``.
        consent: sha256 of the user's own file that was agreed to, or "".
        computer: None: this one.
        bucket_region: Where results of rented runs are kept; "" when not known.
        kept_days: So long that bucket keeps what was deleted, at a price.
        picture_s: What one core takes to read a picture of this data (``data.pace``); None: not timed.
        preset: Of the folder that the model begins from; None where it begins from none, or has a problem.
        preset_problem: That problem, as an id and facts.
        starter: The problem of the starter weights that the model begins from, "" where there is none.
        free_bytes: On the disk of runs here; None where nobody looked.
        own: This person's runs of before, which correct the estimate (``planner.own``).
    """

    catalogues: Catalogues
    timing: Timing | None = None
    here: Timing | None = None
    model_facts: Mapping[str, object] = field(default_factory=dict)
    consent: str = ""
    computer: Computer | None = None
    bucket_region: str = ""
    kept_days: int = 0
    picture_s: float | None = None
    starter: str = ""
    preset: Preset | None = None
    preset_problem: ModelError | None = None
    free_bytes: int | None = None
    own: OwnRuns | None = None

    @property
    def own_sha256(self) -> str:
        """As `Plan.own_sha256`."""
        return self.consent or (self.preset.sha256 if self.preset else "")


NOTHING_KNOWN = Known(SHIPPED)
