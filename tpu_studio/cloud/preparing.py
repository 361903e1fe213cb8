"""Brings job and data to the bucket before a machine is asked for. Implements `workflow.cloudruns.ports.Preparing`.

Whatever is there already, by name and checksum, is skipped: a repeat after a crash costs a few questions.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tpu_studio.cloud import carried, startup
from tpu_studio.cloud.bundle import Piece, bundle, data_pieces, model_in
from tpu_studio.cloud.presetparts import SUFFIX, Part, Whole, files_of
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.wire import places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.ports import CloudSide, Progress


class Preparation:
    """Implements `ports.Preparing`.

    Args:
        scratch: Folder for one data piece at a time (64 MB, or as large as the largest file); default: the system's.
        installer: Where on this computer the installer is that machines of Compute Engine are given; see `carried`.
    """

    def __init__(
        self, scratch: Path | None = None, installer: Callable[[Mapping[str, object]], Path] = carried.installer
    ) -> None:
        self._scratch, self._installer = scratch, installer

    def upload(self, side: CloudSide, plan: Plan, run: str, progress: Progress) -> Mapping[str, object]:
        """See `ports.Preparing`; also ``runtime``, the image for the TPU API. Whatever *progress* raises cancels."""
        return self._upload(side, plan, run, bundle(plan), data_pieces(plan.job), _folder(plan, progress), progress)

    def with_our_code(
        self, side: CloudSide, plan: Plan, run: str, pieces: Mapping[str, object], progress: Progress
    ) -> Mapping[str, object]:
        """See `ports.Preparing`."""
        model = None
        if plan.job.model.is_own:
            there = pieces.get("bundle")
            name = str(there.get("object")) if isinstance(there, Mapping) else ""
            model = model_in(side.mailbox.read(name) or b"") if name.startswith(f"runs/{run}/job/") else None
        kept = {name: there for name in ("data", "preset") if isinstance(there := pieces.get(name), list)}
        folder = [] if "preset" in kept else _folder(plan, progress)  # an earlier version had it in the archive
        ours = self._upload(side, plan, run, bundle(plan, model), (), folder, progress)
        return {**ours, **kept}

    def _upload(
        self,
        side: CloudSide,
        plan: Plan,
        run: str,
        packed: bytes,
        pieces: Sequence[Piece],
        folder: Sequence[Whole],
        progress: Progress,
    ) -> Mapping[str, object]:
        generation = catalogue().slice(plan.accelerator).generation
        installer = self._installer_for(plan)
        total = len(packed) + sum(piece.size for piece in pieces) + sum(one.size for one in folder)
        total += installer.stat().st_size if installer else 0
        sha256 = hashlib.sha256(packed).hexdigest()
        name = f"runs/{run}/job/bundle-{sha256}.tar.gz"
        progress(0, total)
        side.mailbox.create(name, packed)
        side.mailbox.create(f"runs/{run}/plan.json", plans.dumps(plan))
        done = len(packed)
        progress(done, total)
        data = []
        for piece in pieces:
            data.append(self._bring(side, piece, done, total, progress))
            done += piece.size
            progress(done, total)
        for part in (part for one in folder for part in one.parts):
            self._send(side, part, SUFFIX, done, total, progress)
            done += part.size
            progress(done, total)
        told: dict[str, object] = {"preset": [one.record() for one in folder]} if folder else {}
        if installer is not None:
            told["installer"] = self._carry(side, installer, done, total, progress)
        return {
            **told,
            "bundle": {"object": name, "sha256": sha256, "bytes": len(packed)},
            "data": data,
            "environment": startup.environment(plan.framework, generation),
            "guardian_sha256": startup.guardian_sha256(),
            "trust_code": plan.job.model.is_own,
            "runtime": startup.runtime(plan.framework, generation),
        }

    def _installer_for(self, plan: Plan) -> Path | None:
        """Where the machine's image has none. Practice machines have their environment. Raises RunError."""
        if places.by_id(plan.place).rehearses or not catalogue().by_compute_engine(
            plan.accelerator, plan.job.where.backend
        ):
            return None
        return self._installer(startup.installer())

    def _carry(self, side: CloudSide, path: Path, before: int, total: int, progress: Progress) -> dict[str, object]:
        sha256 = startup.installer()["sha256"]
        name = f"data/{sha256}.whl"
        side.mailbox.upload(path, name, lambda done, whole: progress(before + done, total))
        return {"object": name, "sha256": sha256, "bytes": path.stat().st_size}

    def is_current(self, pieces: Mapping[str, object]) -> bool:
        return pieces.get("guardian_sha256") == startup.guardian_sha256()

    def metadata(self, config: Mapping[str, object], deadline: float) -> Mapping[str, str]:
        return startup.metadata(config, deadline)

    def _bring(self, side: CloudSide, piece: Piece, before: int, total: int, progress: Progress) -> dict[str, object]:
        record = self._send(side, piece, piece.suffix, before, total, progress)
        return record | {"as": piece.folder} | ({"file": piece.file} if piece.file else {})

    def _send(
        self, side: CloudSide, piece: Piece | Part, suffix: str, before: int, total: int, progress: Progress
    ) -> dict[str, object]:
        """Named by its content."""
        try:
            with tempfile.TemporaryDirectory(prefix="tpu-studio-", dir=self._scratch) as folder:
                path = Path(folder) / "piece"
                with open(path, "wb") as out:
                    sha256 = piece.write(out)
                size = path.stat().st_size
                name = f"data/{sha256}{suffix}"

                def told(done: int, whole: int) -> None:
                    progress(before + round(piece.size * done / whole) if whole else before, total)

                side.mailbox.upload(path, name, told)
        except OSError as error:
            raise RunError("disk-full", raw=str(error)) from error
        return {"object": name, "sha256": sha256, "bytes": size}


def _folder(plan: Plan, progress: Progress) -> Sequence[Whole]:
    """Read before anything is sent; cancelled as the sending is."""
    return files_of(plan, lambda: progress(0, plan.preset_bytes))
