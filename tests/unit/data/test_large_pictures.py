"""Pictures that unpack to far more than they are: the memory is counted before it is taken, and never taken twice."""

from __future__ import annotations

import io
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile, PngImagePlugin

from tests.fakes.fuzz.data import claims_size
from tpu_studio.data import imagecost, images, imaging
from tpu_studio.data.imagecost import MOST_BYTES, Budget, decoder_bytes, loaded_bytes
from tpu_studio.data.imaging import BrokenImage, decode, open_image, probe
from tpu_studio.data.look import look


def stored(image: Image.Image, format: str, **how: object) -> bytes:
    held = io.BytesIO()
    image.save(held, format, **how)
    return held.getvalue()


def noise(mode: str, size: tuple[int, int] = (130, 90)) -> Image.Image:
    numbers = np.random.default_rng(3).integers(0, 255, (size[1], size[0], 4), dtype=np.uint8)
    if mode == "I;16":
        return Image.fromarray(numbers[..., 0].astype(np.uint16) * 257)
    if mode == "F":
        return Image.fromarray(numbers[..., 0].astype(np.float32) / 255)
    return Image.fromarray(numbers).convert(mode)


@pytest.mark.parametrize(
    ("mode", "format"),
    [
        ("RGB", "PNG"),
        ("RGBA", "PNG"),
        ("LA", "PNG"),
        ("L", "PNG"),
        ("P", "PNG"),
        ("1", "PNG"),
        ("I;16", "PNG"),
        ("F", "TIFF"),
        ("CMYK", "TIFF"),
    ],
)
def test_a_large_picture_comes_out_as_a_small_one_does(monkeypatch: pytest.MonkeyPatch, mode: str, format: str) -> None:
    data = stored(noise(mode), format)
    whole = decode(data, 10, 3).astype(int)
    monkeypatch.setattr(imaging, "_LARGE_PIXELS", 100)
    monkeypatch.setattr(imaging, "_STRIP_PIXELS", 500)
    in_strips = decode(data, 10, 3).astype(int)
    assert np.abs(whole - in_strips).mean() < 3


@pytest.mark.parametrize(
    ("mode", "format", "how", "bytes_a_pixel"),
    [
        ("RGB", "PNG", {}, 4),
        ("L", "PNG", {}, 1),
        ("I;16", "PNG", {}, 2),
        ("RGB", "WEBP", {}, 16),
        ("RGBA", "WEBP", {}, 16),
        ("RGB", "JPEG", {"progressive": True, "subsampling": 0}, 10),
        ("RGB", "JPEG", {"progressive": True, "subsampling": 2}, 7),
        ("RGB", "JPEG", {}, 4),
        ("L", "JPEG", {"progressive": True}, 3),
        ("RGB", "TIFF", {"tiffinfo": {278: 90}}, 8),
    ],
)
def test_memory_is_told_from_the_header(mode: str, format: str, how: dict[str, object], bytes_a_pixel: int) -> None:
    """As measured with Pillow: docs/limits."""
    with open_image(stored(noise(mode), format, **how)) as image:
        assert (loaded_bytes(image) + decoder_bytes(image)) / (130 * 90) == pytest.approx(bytes_a_pixel, rel=0.02)


def test_a_picture_whose_decoder_would_take_too_much_is_refused_before_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imaging, "MOST_BYTES", 8 * 130 * 90)
    decode(stored(noise("RGBA"), "PNG"), 8, 3)
    with pytest.raises(BrokenImage, match="too-many-pixels"):
        decode(stored(noise("RGB"), "WEBP"), 8, 3)
    with pytest.raises(BrokenImage, match="too-many-pixels"):
        decode(stored(noise("CMYK"), "JPEG", progressive=True), 100, 3)


def test_large_pictures_wait_for_each_other_and_small_ones_do_not() -> None:
    budget, inside, go = Budget(100), threading.Event(), threading.Event()
    order: list[str] = []

    def large(name: str) -> None:
        with budget.of(300):  # alone it is always let through
            order.append(name)
            inside.set()
            go.wait()

    first = threading.Thread(target=large, args=("first",))
    first.start()
    inside.wait()
    second = threading.Thread(target=large, args=("second",))
    second.start()
    assert order == ["first"]
    go.set()
    first.join()
    second.join()
    assert order == ["first", "second"]
    with budget.of(60), budget.of(40):
        pass


def test_a_look_decodes_no_picture_that_takes_a_second(
    job_of: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight were decoded whatever their size: a look at twelve of 185 KB took half a minute."""
    for name in "ab":
        (tmp_path / "d" / name).mkdir(parents=True)
        for number in range(4):
            noise("L", (40, 40 + number)).save(tmp_path / "d" / name / f"{number}.png")
        (tmp_path / "d" / name / "huge.png").write_bytes(claims_size(stored(noise("L"), "PNG"), 8000, 8000))
    decoded: list[str] = []
    monkeypatch.setattr(images, "contents", lambda path, root: path)
    monkeypatch.setattr(images, "decode", lambda path, side, channels: decoded.append(Path(path).name))
    seen = look(job_of("images", tmp_path / "d"))  # type: ignore[arg-type]
    assert seen.examples == 10
    assert sorted(set(decoded)) == ["0.png", "1.png", "2.png", "3.png"]


def test_the_limits_leave_room_for_the_program_itself() -> None:
    assert imagecost.MOST_PIXELS * 4 == MOST_BYTES <= 320_000_000


@pytest.mark.parametrize("mode", ["RGBA", "I;16", "LA", "P"])
def test_a_header_is_read_without_the_pixels(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """Pillow unpacks a PNG that notes nothing of the camera, to look for it behind the pixels: a look took 20 s."""
    data = stored(noise(mode), "PNG")

    def unpacked(*_: object) -> None:
        raise AssertionError("the pixels were unpacked")

    monkeypatch.setattr(Image.Image, "load", unpacked)
    monkeypatch.setattr(ImageFile.ImageFile, "load", unpacked)
    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", unpacked, raising=False)
    header = probe(data)
    assert (header.width, header.height, header.turned) == (130, 90, False)


def test_of_several_processes_one_alone_decodes_what_is_larger_than_its_part(tmp_path: Path) -> None:
    program = (
        "import sys, time; from tpu_studio.data.imagecost import Budget\n"
        "budget = Budget(100); budget.divide(4)\n"
        "with budget.of(int(sys.argv[1])):\n"
        "    print('in', flush=True); sys.stdin.readline()\n"
        "print('out', flush=True)"
    )

    def process(amount: int) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", program, str(amount)]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def said(one: subprocess.Popen[str]) -> str:
        assert one.stdout is not None
        return one.stdout.readline().strip()

    with process(80) as large, process(80) as other, process(25) as small:
        ready = select.select([large.stdout, other.stdout], [], [])[0][0]
        first, second = (large, other) if ready is large.stdout else (other, large)
        assert said(first) == "in"
        assert said(small) == "in"  # within its part: it waits for nobody
        assert not select.select([second.stdout], [], [], 0.2)[0]
        first.communicate("\n")
        assert said(second) == "in"
        for one in (second, small):
            one.communicate("\n")
