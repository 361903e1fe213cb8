"""The notebook for Colab: its metadata, what it holds, and what lies beside it when it cannot hold everything."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
import tarfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.plans import plan
from tpu_studio.cloud import colab
from tpu_studio.trainer.guardian.vm.config import wanted_environment
from tpu_studio.wire.errors import BadInput, DataError, RunError
from tpu_studio.wire.job import parse, set_values
from tpu_studio.wire.plan import Plan, dumps

DIGITS = replace(plan(), place="colab", framework="jax", accelerator="v5litepod-1", run="digits-abcd")


def _of_table(path: Path) -> Plan:
    job = parse({"format": 1, "name": "t", "model": {"name": "mlp"}, "data": {"kind": "table", "path": str(path)}})
    return replace(DIGITS, job=job)


def _cells(path: Path) -> dict[str, str]:
    return {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_bytes())["cells"]}


def _text(cell: str, name: str) -> bytes:
    found = re.search(rf'^{name} = """\n(.*?)"""', cell, re.S | re.M)
    assert found is not None
    return base64.b64decode(found[1])


def _config(cell: str) -> Any:
    line = next(line for line in cell.splitlines() if line.startswith("CONFIG"))
    return json.loads(json.loads(line.partition("json.loads(")[2][:-1]))


def test_it_asks_for_the_v5e_chip_and_holds_the_frozen_plan_and_the_trainer(tmp_path: Path) -> None:
    written = colab.write(DIGITS, tmp_path / "it.ipynb")
    tree = json.loads(written.notebook.read_bytes())
    assert (tree["metadata"]["accelerator"], tree["metadata"]["colab"]["gpuType"]) == ("TPU", "V5E1")
    assert (tree["nbformat"], written.bytes, written.data) == (4, written.notebook.stat().st_size, None)
    cells = _cells(written.notebook)
    packed = _text(cells["contents"], "BUNDLE")
    assert f'SHA256 = "{hashlib.sha256(packed).hexdigest()}"' in cells["contents"]
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        assert {"plan.json", "tpu_studio/trainer/notebook.py", "tpu_studio/trainer/guardian/main.py"} <= set(
            archive.getnames()
        )
        held = archive.extractfile("plan.json")
        assert held is not None
        assert held.read() == dumps(DIGITS)
    config = _config(cells["contents"])
    assert (config["run"], config["data"]) == ("digits-abcd", None)
    wanted = wanted_environment(config["environment"])
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        assert f"tpu_studio/resources/vm/{wanted.lock}.lock.txt" in archive.getnames()
    for cell in cells.values():
        if not cell.startswith(("#", "Was")) or cell.startswith("#@"):
            compile(cell, "cell", "exec")
    assert "September 2025" in cells["about"]


def test_the_same_plan_gives_the_same_notebook(tmp_path: Path) -> None:
    one, other = (colab.write(DIGITS, tmp_path / name / "it.ipynb").notebook for name in ("a", "b"))
    assert one.read_bytes() == other.read_bytes()


def test_small_data_is_inside(tmp_path: Path) -> None:
    data = tmp_path / "table.csv"
    data.write_bytes(b"a,b\n1,2\n")
    written = colab.write(_of_table(data), tmp_path / "it.ipynb")
    cell = _cells(written.notebook)["contents"]
    config = _config(cell)["data"]
    assert gzip.decompress(_text(cell, "DATA")) == data.read_bytes()
    assert (config["single"], config["folder"], config["bytes"]) == (True, "table.csv", 8)
    assert config["sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.ipynb", "table.csv"]


@pytest.mark.parametrize(("data_bytes", "notebook_bytes"), [(7, 20_000_000), (20_000_000, 100_000)])
def test_data_that_does_not_fit_lies_beside_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data_bytes: int, notebook_bytes: int
) -> None:
    data = tmp_path / "table.csv"
    data.write_bytes(b"a,b\n1,2\n")
    monkeypatch.setattr(colab, "DATA_BYTES", data_bytes)
    monkeypatch.setattr(colab, "known", lambda: {**KNOWN, "notebook_bytes": notebook_bytes})
    written = colab.write(_of_table(data), tmp_path / "it.ipynb")
    assert written.data is not None
    assert (written.data.name, written.data.read_bytes()) == ("it-data.csv", data.read_bytes())
    cells = _cells(written.notebook)
    assert _text(cells["contents"], "DATA") == b""
    assert _config(cells["contents"])["data"]["name"] == "it-data.csv"
    assert "`it-data.csv`" in cells["about"]


KNOWN = colab.known()


def test_nothing_is_overwritten_and_a_failure_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "it.ipynb").write_text("mine")
    with pytest.raises(BadInput) as caught:
        colab.write(DIGITS, tmp_path / "it.ipynb")
    assert caught.value.id == "notebook-exists"
    assert (tmp_path / "it.ipynb").read_text() == "mine"
    with pytest.raises(DataError):
        colab.write(_of_table(tmp_path / "gone.csv"), tmp_path / "other.ipynb")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BadInput) as caught:
        colab.write(replace(_of_table(tmp_path / "t.csv"), framework="torch"), tmp_path / "other.ipynb")
    assert caught.value.id == "colab-framework"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.ipynb", "t.csv"]


def test_a_jobs_name_is_no_markdown(tmp_path: Path) -> None:
    """A picture named in it was fetched from its author's server when the notebook was opened."""
    job = set_values(DIGITS.job, {"name": 'digits ![x](https://evil.example/x.png) <img src="y"> # big'})
    written = colab.write(replace(DIGITS, job=job), tmp_path / "it.ipynb")
    head = _cells(written.notebook)["about"].splitlines()[0]
    assert head.startswith(r"# digits \!\[x\](https://evil") and r"\<img" in head and r"\# big" in head


@pytest.mark.parametrize("harm", ["a link in its place", "a link in the folder's place"])
def test_what_takes_the_place_of_the_data_or_the_folder_is_not_packed_in_written_or_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    """In a folder of several people somebody laid a link to a file, or to a folder, of one's own there."""
    private, shared, written = tmp_path / "private", tmp_path / "shared", colab._written
    private.mkdir()
    for name in ("it.ipynb", "it-data.csv", "diary"):
        (private / name).write_text("all my secrets " * 20)
    (table := tmp_path / "table.csv").write_bytes(b"a,b\n1,2\n")

    def swapped(piece: Any, name: str, to: Any, held: Any) -> dict[str, Any]:
        record = written(piece, name, to, held)
        if harm == "a link in its place":
            (shared / to).unlink()
            (shared / to).symlink_to(private / "diary")
        else:
            shared.rename(tmp_path / "aside")
            shared.symlink_to(private)
        return record

    monkeypatch.setattr(colab, "_written", swapped)
    with suppress(DataError, RunError):
        colab.write(_of_table(table), shared / "it.ipynb")
    for name in ("it.ipynb", "it-data.csv", "diary"):
        assert (private / name).read_text() == "all my secrets " * 20
    for notebook in tmp_path.glob("aside/*.ipynb"):
        assert b"secrets" not in gzip.decompress(_text(_cells(notebook)["contents"], "DATA"))
