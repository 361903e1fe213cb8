"""What may not leave this computer, cut out of every text of a page: keys, paths, buckets, projects, mail addresses.

Letters that cannot be seen go first, so that none hides a key; keys go before anything is shortened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from tpu_studio.wire.homes import home_folder
from tpu_studio.wire.secrets import CUT, WIDEST, without_secrets
from tpu_studio.wire.visible import visible

LONGEST = 4_000
"""Letters of one text."""
_SHORTEST_PATH = 4  # "/", and what is hardly longer, is in any text
_PART = r"(?:[^\s/\\\"'<>|:;,()]|(?<=\w)'(?=\w))+"
_FOLDER = rf"{_PART}(?: (?![\d.,]+ ){_PART}){{0,3}}"
"""One with blanks only before a slash: `Anna's Disk/`; and not `cats at 12 images/` of `…/cats at 12 images/s`."""
_FILE = re.compile(r"\bfile:/{1,2}(?=[/A-Za-z])", re.I)
_SHARE = re.compile(r"\b(?:smb|nfs|afp|cifs|sftp|ssh):/{1,3}(?=[\w/])", re.I)
_BUCKET = re.compile(r"\b(?:gs|s3)://[^\s/\"'<>]*([^\s\"'<>]*)")
_PROJECT = re.compile(rf"\bprojects/[\w.:-]+((?:/{_PART})*)")
_OF_SOMEBODY = re.compile(
    rf"(?<![\w/])(?:[A-Za-z]:)?[/\\]{{1,2}}(?:home|Users)[/\\]{{1,2}}(?:{_FOLDER}(?=[/\\])|{_PART})", re.I
)
_REST = r"%(?:25)?(?:2F|5C)[^\s\"'<>|:;,()&]*"
"""Of a path in an address, up to its end: where a part of it ends is not certain."""
_ENCODED = re.compile(rf"(?:[A-Z](?::|%3A))?%(?:25)?(?:2F|5C)(?:home|Users){_REST}", re.I)
_ABSOLUTE = re.compile(
    rf"(?<![\w/.])(?<!:(?=//))(?:(?:~(?:[A-Za-z_][\w.-]{{0,60}})?|{CUT})/|/{_FOLDER}/)(?:{_FOLDER}/)*(?:{_PART})?"
)
_WINDOWS = re.compile(rf"(?<!\w)(?:[A-Za-z]:[/\\]{{1,2}}|{CUT}\\{{1,2}}|\\\\)(?:{_FOLDER}[/\\]{{1,2}})*(?:{_PART})?")
_PERSON = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")


class Private:
    """Cuts texts.

    Args:
        paths: Of this run, wherever they lie. The home folder and that of the program are known.
        words: What else is nobody's business as it is: the names of a project and a bucket.
    """

    def __init__(self, paths: Iterable[str | Path] = (), words: Iterable[str] = ()) -> None:
        own = [str(Path.home()), str(home_folder()), os.getcwd()]
        folders = [*own, *map(os.path.realpath, own), *(str(path) for path in paths if os.path.isabs(path))]
        in_addresses = _any_of(quote(_seen(one), safe="") for one in folders)
        self._known = re.compile(
            rf"(?:{_any_of(folders)})(?![\w-]|\.\w)|(?i:{_any_of(words)})(?![\w-])"
            rf"|(?i:{in_addresses})(?:{_REST}|(?![\w-]|\.\w))"
        )

    def __call__(self, text: str, longest: int = LONGEST) -> str:
        """*text* as it may be shown to anybody, of at most *longest* letters and a mark that it goes on."""
        told = _PERSON.sub(CUT, without_secrets(_seen(text[: longest + WIDEST])))
        told = _BUCKET.sub(lambda found: last_of(found[1]), _SHARE.sub("/", _FILE.sub("", told)))
        told = _ENCODED.sub(CUT, _OF_SOMEBODY.sub(CUT, self._known.sub(CUT, told)))
        for pattern in (_ABSOLUTE, _WINDOWS):
            told = pattern.sub(lambda found: last_of(found[0]), told)
        told = _PROJECT.sub(lambda found: f"projects/{last_of(found[1])}", told)
        return told if len(told) <= longest and len(text) <= longest + WIDEST else f"{told[:longest]}{CUT}"


def _any_of(texts: Iterable[str]) -> str:
    """A pattern of each of them, the longest first."""
    known = {_seen(one) for one in texts}
    longest_first = sorted((one for one in known if len(one) >= _SHORTEST_PATH), key=len, reverse=True)
    return "|".join(map(re.escape, longest_first)) or "(?!)"


def _seen(text: str) -> str:
    """*text* without letters that cannot be seen, or written to a file."""
    return visible(text).encode("utf-8", "replace").decode()


def last_of(path: str) -> str:
    """`…/cats` of `/data/pets/cats`; "…" where nothing but a folder's own name would be left."""
    parts = [part for part in re.split(r"[/\\]", path) if part]
    if path[-1:] in ("/", "\\") or not parts or (len(parts) > 1 and parts[-2].lower() in ("home", "users")):
        return CUT
    return CUT if parts == [CUT] else f"{CUT}/{parts[-1]}"


def name_of(path: str) -> str:
    """`cats` of `/data/pets/cats/`, of whatever system it is."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]
