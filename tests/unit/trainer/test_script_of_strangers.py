"""What a script that is exported reads: no more of a stranger's files than the look and the training read."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image, UnidentifiedImageError

from tests.fakes.plans import plan
from tests.unit.trainer.test_script import of
from tests.unit.trainer.test_script import pictures as folder_of_pictures
from tpu_studio.data.imagecost import MOST_PIXELS
from tpu_studio.data.imaging import FORMATS
from tpu_studio.data.looked import Look
from tpu_studio.trainer.script import checking, pictures, texts
from tpu_studio.wire.errors import RunError

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n%%EOF\n"


def names(folder: Path) -> dict[str, Any]:
    """What the code of a script finds around it."""
    return {
        "np": np,
        "os": os,
        "Image": Image,
        "Path": Path,
        "DATA": str(folder),
        "SIDE": 4,
        "CHANNELS": 3,
        "FORMATS": list(FORMATS),
        "MOST_PIXELS": MOST_PIXELS,
        "FOLDERS": {"cats": 0},
        "ENDINGS": [".png", ".txt"],
    }


def test_no_picture_starts_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostScript in the name of a picture started Ghostscript on it."""
    called = tmp_path / "called"
    for name in ("gs", "gswin64c"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch {called}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    picture = tmp_path / "x.png"
    picture.write_bytes(EPS)
    script = names(tmp_path)
    exec(pictures._READ, script)
    with pytest.raises(UnidentifiedImageError):
        script["read_picture"](str(picture))
    assert not called.exists()
    Image.new("RGB", (8, 8), "red").save(picture)
    assert script["read_picture"](str(picture)).shape == (4, 4, 3)


def test_a_picture_of_more_pixels_than_are_looked_at_is_left_out(tmp_path: Path) -> None:
    Image.new("L", (100, 100)).save(tmp_path / "x.png")
    script = names(tmp_path) | {"MOST_PIXELS": 9_999}
    exec(pictures._READ, script)
    with pytest.raises(ValueError, match="too many pixels"):
        script["read_picture"](str(tmp_path / "x.png"))


@pytest.mark.skipif(os.name == "nt", reason="no pipes and links there")
def test_pipes_and_links_out_of_the_data_are_not_opened(tmp_path: Path) -> None:
    data, outside = tmp_path / "data", tmp_path / "mine.txt"
    (data / "cats").mkdir(parents=True)
    outside.write_text("mine")
    (data / "cats" / "a.txt").write_text("a cat")
    os.mkfifo(data / "cats" / "b.txt")
    (data / "cats" / "c.txt").symlink_to(outside)
    (data / "cats" / "d.txt").symlink_to(data / "cats" / "a.txt")
    assert stat.S_ISFIFO((data / "cats" / "b.txt").stat().st_mode)
    script = names(data) | {"LINKS": pictures.links_of(data).value}
    exec(pictures.FILES, script)
    assert script["files"]() == [("cats/a.txt", 0), ("cats/d.txt", 0)]
    exec("def f():\n" + texts._FILES_OF_FOLDER + "    return files\n", script)
    assert [one.name for one in script["f"]()] == ["a.txt", "d.txt"]


def test_a_tokenizer_of_a_stranger_is_looked_at_before_a_script_reads_it(tmp_path: Path) -> None:
    """Of a hostile one a text of 37 letters took 6.7 GB."""
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    module = ModuleType("exported_script")
    with pytest.raises(RunError) as caught:
        checking.check_data(module, plan(), {"data": {"tokenizer_sha256": "0" * 64}}, tmp_path)
    assert caught.value.id == "result-unreadable"


def test_how_large_pictures_are_is_said_by_their_side_and_by_no_list_of_axes(tmp_path: Path) -> None:
    """Of a list of a million axes the product took half a minute."""
    folder = folder_of_pictures(tmp_path / "data", "cats", "dogs")
    given, card = of(tmp_path, {"model": {"name": "mlp"}, "data": {"kind": "images", "path": str(folder)}})
    card["data"] |= {"input_shape": [1] * 100_000, "image_size": 16_000}
    with pytest.raises(RunError) as caught:
        pictures.folder(given, card, Look.from_json(given.data))
    assert (caught.value.id, caught.value.facts["why"]) == ("export-no-script", "large-data")


def test_what_a_card_says_of_the_data_is_what_the_data_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of 20 pixels were made 16,000 wide."""
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    given, card = of(tmp_path, {"model": {"name": "mlp"}, "data": {"kind": "digits"}})
    module = ModuleType("exported_script")
    module.load_data = lambda: pytest.fail("it was asked")  # type: ignore[attr-defined]
    card["data"]["input_shape"] = [16_000, 16_000, 1]
    with pytest.raises(RunError) as caught:
        checking.check_data(module, given, card, tmp_path)
    assert caught.value.id == "export-differs" and "input_shape" in str(caught.value.facts["raw"])
