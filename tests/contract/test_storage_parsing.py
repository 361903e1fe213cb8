"""What Storage takes apart: multipart bodies in both dialects, ranges, names in order, masks, globs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tpu_studio.practice.storage import fields, listing
from tpu_studio.practice.storage.globs import BadGlob, Glob
from tpu_studio.practice.storage.multipart import BadMultipart, MultipartBody
from tpu_studio.practice.storage.ranges import BadContentRange, ContentRange, Unsatisfiable, carried, wanted
from tpu_studio.practice.storage.store import StoredObject

CRLF, LF = b"\r\n", b"\n"
BOUNDARY = "===============1234567890=="


def body_of(media: bytes, newline: bytes, metadata: bytes = b'{"name":"a"}') -> bytes:
    line = b"--" + BOUNDARY.encode()
    parts = [line, b"Content-Type: application/json", b"MIME-Version: 1.0", b"", metadata]
    parts += [line, b"Content-Type: text/plain", b"Content-Transfer-Encoding: binary", b"", media, line + b"--"]
    return newline.join(parts)


def in_pieces(body: bytes, size: int) -> Iterator[bytes]:
    return (body[at : at + size] for at in range(0, len(body), size))


tricky = some.binary(max_size=80) | some.lists(
    some.sampled_from([b"\r", b"\n", b"\r\n", b"--", BOUNDARY.encode(), b"\r\n--" + BOUNDARY.encode()[:-1], b"x"]),
    max_size=12,
).map(b"".join)


@given(
    media=tricky,
    newline=some.sampled_from([CRLF, LF]),
    piece=some.integers(1, 50),
    end=some.sampled_from([b"", CRLF, LF]),
)
def test_a_multipart_body_gives_back_its_media_byte_by_byte(
    media: bytes, newline: bytes, piece: int, end: bytes
) -> None:
    delimiter = newline + b"--" + BOUNDARY.encode()
    if delimiter in newline + media + newline:  # no client chooses a boundary that is in its media
        return
    body = MultipartBody(f'multipart/related; boundary="{BOUNDARY}"', in_pieces(body_of(media, newline) + end, piece))
    assert json.loads(body.metadata) == {"name": "a"}
    assert body.media_type == "text/plain"
    assert b"".join(body.media()) == media


@pytest.mark.parametrize("written", [f"'{BOUNDARY}'", f'"{BOUNDARY}"', BOUNDARY])
def test_the_boundary_may_stand_in_single_double_or_no_quotes(written: str) -> None:
    body = MultipartBody(f"multipart/related; boundary={written}", iter([body_of(b"ends in CR\r", LF)]))
    assert b"".join(body.media()) == b"ends in CR\r"


def test_a_boundary_that_is_only_the_beginning_of_a_longer_line_is_media() -> None:
    media = b"a\r\n--" + BOUNDARY.encode() + b"x\r\nb"
    body = MultipartBody(f"multipart/related; boundary={BOUNDARY}", iter([body_of(media, CRLF)]))
    assert b"".join(body.media()) == media


@pytest.mark.parametrize("lost", [3, 60, 150])
def test_a_multipart_body_that_was_cut_off_is_refused(lost: int) -> None:
    cut = body_of(b"media", CRLF)[:-lost]
    with pytest.raises(BadMultipart):
        list(MultipartBody(f"multipart/related; boundary={BOUNDARY}", iter([cut])).media())


@pytest.mark.parametrize("content_type", ["multipart/related", "multipart/related; boundary=other", "text/plain"])
def test_a_content_type_that_does_not_fit_the_body_is_refused(content_type: str) -> None:
    with pytest.raises(BadMultipart):
        MultipartBody(content_type, iter([body_of(b"media", CRLF)]))


@given(data=some.binary(min_size=1, max_size=50), first=some.integers(0, 60), last=some.integers(0, 60))
def test_a_range_names_the_same_bytes_as_a_slice(data: bytes, first: int, last: int) -> None:
    header = f"bytes={first}-{last}"
    if last < first:
        assert wanted(header, len(data)) is None
    elif first >= len(data):
        with pytest.raises(Unsatisfiable):
            wanted(header, len(data))
    else:
        span = wanted(header, len(data))
        assert span is not None
        assert data[slice(*span)] == data[first : last + 1]


def test_ranges_of_the_end_and_from_a_place_on() -> None:
    assert wanted("bytes=-3", 10) == (7, 10)
    assert wanted("bytes=-30", 10) == (0, 10)
    assert wanted("bytes=4-", 10) == (4, 10)
    assert wanted("", 10) is None
    assert wanted("bytes=0-1,4-5", 10) is None  # several ranges: the whole, as Cloud Storage does
    for header in ("bytes=-0", "bytes=10-"):
        with pytest.raises(Unsatisfiable):
            wanted(header, 10)
    with pytest.raises(Unsatisfiable):
        wanted("bytes=0-", 0)


@given(start=some.integers(0, 10**12), size=some.integers(1, 10**9), more=some.integers(0, 10**9))
def test_content_range_survives_its_way(start: int, size: int, more: int) -> None:
    total = start + size + more
    assert carried(f"bytes {start}-{start + size - 1}/{total}") == ContentRange(start, start + size, total)
    assert carried(f"bytes {start}-{start + size - 1}/{total}").is_last == (more == 0)
    assert carried(f"bytes {start}-{start + size - 1}/*") == ContentRange(start, start + size, None)


def test_content_range_questions_and_nonsense() -> None:
    assert carried("bytes */*") == ContentRange(None, 0, None)
    assert carried("bytes */7") == ContentRange(None, 0, 7)
    for header in ("bytes 5-4/10", "bytes 0-10/10", "bytes=0-1", "0-1/2", "bytes 0-/2"):
        with pytest.raises(BadContentRange):
            carried(header)


def stored(name: str) -> StoredObject:
    return StoredObject("b", name, 1, 1, 0, "", 0.0, 0.0, {})


class Names:
    """What the store does, over a list."""

    def __init__(self, names: set[str]) -> None:
        self._names = sorted(names, key=str.encode)

    def __call__(self, start: bytes, stop: bytes, limit: int) -> list[StoredObject]:
        return [stored(name) for name in self._names if start <= name.encode() < stop][:limit]


names = some.sets(some.text(some.sampled_from("ab/é\U0001f600"), min_size=1, max_size=5), max_size=25)


@given(
    names=names,
    prefix=some.text("ab/", max_size=2),
    delimiter=some.sampled_from(["", "/", "a/"]),
    start=some.text("ab/é", max_size=3),
    end=some.text("ab/é", max_size=3),
    most=some.integers(1, 6),
)
def test_all_pages_together_are_what_the_definition_says(
    names: set[str], prefix: str, delimiter: str, start: str, end: str, most: int
) -> None:
    items: list[str] = []
    prefixes: list[str] = []
    token = ""
    while True:
        query = listing.Query(prefix, delimiter, start, end, most, token)
        page = listing.page(Names(names), query)
        assert len(page.items) + len(page.prefixes) <= most
        items += [one.name for one in page.items]
        prefixes += page.prefixes
        if not page.next_token:
            break
        token = page.next_token

    inside = [
        name
        for name in names
        if name.startswith(prefix) and name.encode() >= start.encode() and (not end or name.encode() < end.encode())
    ]
    below = {name for name in inside if delimiter and delimiter in name[len(prefix) :]}
    assert items == sorted((name for name in inside if name not in below), key=str.encode)
    cut = {name[: name.index(delimiter, len(prefix)) + len(delimiter)] for name in below}
    assert prefixes == sorted(cut, key=str.encode)


def test_a_page_token_that_was_made_up_is_refused() -> None:
    with pytest.raises(listing.BadPageToken):
        listing.page(Names(set()), listing.Query(token="nonsense!"))


def test_a_mask_keeps_what_it_names() -> None:
    answer: dict[str, object] = {
        "kind": "k",
        "items": [{"name": "a", "size": "1", "owner": {"entity": "e", "id": "i"}}],
    }
    answer["nextPageToken"] = "t"
    assert fields.apply(fields.parse("items(name,owner/id),nextPageToken"), answer) == {
        "items": [{"name": "a", "owner": {"id": "i"}}],
        "nextPageToken": "t",
    }
    assert fields.apply(fields.parse("*"), answer) == answer
    assert fields.apply(fields.parse("items/name,items/size"), answer) == {"items": [{"name": "a", "size": "1"}]}
    assert fields.apply(fields.parse("items/*"), answer) == {"items": answer["items"]}
    for text in ("items(", "a,,b", "(a)", "a)b", ","):
        with pytest.raises(fields.BadFields):
            fields.parse(text)


@pytest.mark.parametrize(
    ("glob", "fits", "does_not"),
    [
        ("a/*.txt", "a/b.txt", "a/b/c.txt"),
        ("a/**.txt", "a/b/c.txt", "b/c.txt"),
        ("a?c", "abc", "a/c"),
        ("[a-c]x", "bx", "dx"),
        ("[!a-c]x", "dx", "bx"),
        ("{one,two}.txt", "two.txt", "three.txt"),
        (r"a\*b", "a*b", "aab"),
        ("a.b", "a.b", "axb"),
        ("**", "", "\0never"),
        ("x{a,b{c,d}*,}y", "xbdzzy", "xbd/y"),
        ("**/a*b", "x/a/ab", "x/a/a/"),
        ("[]a-]", "-", "b"),
        ("a,}b", "a,}b", "a"),
    ],
)
def test_globs(glob: str, fits: str, does_not: str) -> None:
    assert Glob(glob).fits(fits)
    assert does_not == "\0never" or not Glob(glob).fits(does_not)


GREEDY = ["*" * 1000 + "x", "**a" * 300, "*a" * 400, "{**,?}" * 100 + "x", "{" * 300 + "}" * 300]


@pytest.mark.parametrize("glob", GREEDY)
def test_no_glob_takes_longer_than_its_length_times_the_name_s(glob: str) -> None:
    """As regular expressions these would run for years, and hold up everybody."""
    assert not Glob(glob).fits("a" * 200 + "b")


@pytest.mark.parametrize("glob", ["[a", "{a,b", "[z-a]", "a" * 1025])
def test_a_broken_glob_is_refused(glob: str) -> None:
    with pytest.raises(BadGlob):
        Glob(glob)
