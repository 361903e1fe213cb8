"""How a script reads texts: one long text whose next byte is foretold, or many texts that are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tpu_studio.data import cells, encodings, links, tablefile
from tpu_studio.data.folders import list_images
from tpu_studio.data.looked import Look
from tpu_studio.data.paths import data_path
from tpu_studio.data.textlayout import PLAIN
from tpu_studio.data.texts import SUFFIXES
from tpu_studio.data.watching import Watch
from tpu_studio.trainer.script import splitting, tables
from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.trainer.script.pictures import FILES, folders_of, links_of
from tpu_studio.trainer.script.refusing import MOST_BYTES, refusal
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.starters import TOKENIZER


def one_text(plan: Plan, card: Mapping[str, Any], look: Look, result: Path) -> Part:
    """For a language model. *result*: where the run's tokenizer lies. Raises RunError of `refusal`; DataError of the
    files."""
    if look.bytes_on_disk > MOST_BYTES:
        raise refusal("large-data")
    path = data_path(plan.job)
    inside = links.files_below(path, SUFFIXES)[0] if path.is_dir() else [path]
    found = {encodings.detect(one) for one in inside}
    if len(found) > 1:
        raise refusal("mixed-encodings")
    pieces = bool(card["data"].get("tokenizer_sha256"))
    are = "those that the run learned" if pieces else "the bytes of the text as UTF-8"
    constants = (
        Constant("DATA", str(path)),
        Constant("ENCODING", *found),
        *([Constant("ENDINGS", sorted(SUFFIXES)), links_of(path)] if path.is_dir() else []),
        Constant("LENGTH", int(card["data"]["sequence_length"]), "tokens that the model sees at once"),
        Constant("VOCABULARY", int(card["output"]["shape"][-1]), f"different tokens: {are}"),
        *splitting.constants(plan),
    )
    code, imports = _ONE_TEXT, {"from pathlib import Path"}
    if path.is_dir():
        code = splitting.BELOW + code.replace(_ONE_FILE, _FILES_OF_FOLDER)
    if pieces:
        constants += (_tokenizer(result),)
        code, imports = _CUT_UP + code.replace(_AS_BYTES, _AS_PIECES), imports | {"from tokenizers import Tokenizer"}
    return Part(constants, code, frozenset(imports))


def many_texts(plan: Plan, card: Mapping[str, Any], look: Look, result: Path) -> Part:
    """To be told apart. *result*: where the run's tokenizer lies. Raises as `one_text`."""
    if look.bytes_on_disk > MOST_BYTES:
        raise refusal("large-data")
    data, path = card["data"], data_path(plan.job)
    imports, code = {"os"}, ""
    constants: tuple[Constant, ...]
    if path.is_dir():
        folders, kept = folders_of(list_images(path, Watch(), PLAIN, "texts"))
        constants = (
            Constant("DATA", str(path), "one folder a class"),
            Constant("FOLDERS", folders, "each folder of texts and the number of its class"),
            Constant("ENDINGS", sorted(PLAIN)),
            links_of(path),
        )
        constants += (Constant("KEPT_FOLDER", kept),) if kept else splitting.constants(plan)
        split = _MASK_BY_FOLDER if kept else _MASK_BY_NAME
        imports |= set() if kept else {"hashlib"}
        code += ("" if kept else splitting.NAMES + splitting.KEPT) + FILES + _FOLDER.replace(_MASK_BY_NAME, split)
    else:
        constants, code, more = _table(plan, data, path)
        imports = more
    constants += (Constant("CLASSES", list(data["classes"])),)
    constants += (
        Constant("LENGTH", int(data["sequence_length"]), "tokens of a text; what is longer loses its end"),
        Constant("VOCABULARY", int(data["vocabulary"]), "different tokens; 0 stands for nothing"),
    )
    if data.get("tokenizer_sha256"):
        constants += (_tokenizer(result),)
        return Part(constants, code + _PIECES, frozenset(imports | {"from tokenizers import Tokenizer"}))
    return Part(constants, code + _BYTES, frozenset(imports))


def _tokenizer(result: Path) -> Constant:
    return Constant("TOKENIZER", str(result.absolute() / TOKENIZER), "how the run cuts text into tokens")


def _table(plan: Plan, data: Mapping[str, Any], path: Path) -> tuple[tuple[Constant, ...], str, set[str]]:
    """Of a table or JSON lines."""
    missing = Constant("MISSING", sorted(cells.MISSING), "what stands for nothing in a cell")
    names = tablefile.opened(path, Watch()).names
    file, code, module = tables.file_of(path, names)
    constants = (
        *file,
        Constant("TEXT", names.index(data["text_column"]), "the place of the text in a row"),
        Constant("TARGET", names.index(data["target"]), "the place of the class"),
    )
    constants += (missing, *splitting.constants(plan))
    by_value = all(_is_number(name) for name in data["classes"])
    if by_value:
        constants += (Constant("SIGNS", tables.SIGNS),)
    code += (tables.NUMBER if by_value else "") + tables.class_of(by_value=by_value)
    return constants, splitting.ROWS + splitting.KEPT + code + _ROWS, {module}


def _is_number(name: object) -> bool:
    return cells.decimal_mark([str(name)]) is not None


_ONE_FILE = "    files = [Path(DATA)]\n"
_FILES_OF_FOLDER = "    files = sorted(one for one in map(Path, below(DATA)) if one.suffix.lower() in ENDINGS)\n"

_AS_BYTES = "    train, kept = text[:cut], text[cut:]\n"
_AS_PIECES = """    while text[cut] & 0xC0 == 0x80:
        cut -= 1  # no letter is cut in two
    train, kept = tokens(text[:cut]), tokens(text[cut:])
"""

_CUT_UP = '''
def tokens(text):
    """The tokens of a text in UTF-8, cut up in parts that end with a line."""
    cutter, whole, found, start = Tokenizer.from_file(TOKENIZER), text.tobytes().decode("utf-8", "replace"), [], 0
    cutter.encode_special_tokens = True  # "[PAD]" in a text is five letters
    while start < len(whole):
        end = min(len(whole), start + 2**16)
        if end < len(whole):
            end = whole.rfind("\\n", start, end) + 1 or end
        found += cutter.encode(whole[start:end]).ids
        start = end
    return np.array(found, np.int32)

'''

_ONE_TEXT = '''
def load_data():
    """The tokens of the text to learn from, and windows of its end that are kept aside: x, the token after each as y,
    and weight 0 where the last window is only filled up."""
    files = [Path(DATA)]
    parts = [file.read_bytes() for file in files]
    if ENCODING != "utf-8":
        parts = [part.decode(ENCODING, "replace").removeprefix("\\ufeff").encode("utf-8", "replace") for part in parts]
    text = np.frombuffer(b"\\n".join(part.replace(b"\\r\\n", b"\\n") for part in parts), np.uint8)
    cut = len(text) - max(1, round(len(text) * VALIDATION))
    train, kept = text[:cut], text[cut:]
    places = np.arange(0, len(kept) - 1, LENGTH)[:, None] + np.arange(LENGTH + 1)
    last = len(kept) - 1
    windows = np.where(places <= last, kept[np.minimum(places, last)], 0).astype(np.int32)
    return train, (windows[:, :-1], windows[:, 1:], (places[:, 1:] <= last).astype(np.float32))

'''

_MASK_BY_NAME = (
    "    kept = kept_aside(name_keys([name for name, _ in found]), np.array([number for _, number in found]))\n"
)
_MASK_BY_FOLDER = '    kept = [name.startswith(KEPT_FOLDER + "/") for name, _ in found]\n'

_FOLDER = '''
def read_text(name):
    """A text, of which at most the first megabyte is read."""
    with open(os.path.join(DATA, name), "rb") as file:
        raw = file.read(2**20)
    try:
        return raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace").strip()  # as Windows writes in Western Europe


def load_data():
    """All texts: ((x, y) to learn from, (x, y) kept aside), y the numbers of the classes."""
    found = files()
    kept = kept_aside(name_keys([name for name, _ in found]), np.array([number for _, number in found]))
    rows = [(read_text(name), number, aside) for (name, number), aside in zip(found, kept)]
    rows = [row for row in rows if row[0]]
    x, y = tokens([row[0] for row in rows]), np.array([row[1] for row in rows], np.int32)
    kept = np.array([row[2] for row in rows], bool)
    return (x[~kept], y[~kept]), (x[kept], y[kept])

'''

_ROWS = '''
def load_data():
    """All texts that have a class: ((x, y) to learn from, (x, y) kept aside), y the numbers of the classes."""
    rows = [(row[TEXT].strip(), class_of(row[TARGET])) for row in read_rows()]
    rows = [(text, number) for text, number in rows if text and number >= 0]
    x, y = tokens([text for text, _ in rows]), np.array([number for _, number in rows], np.int32)
    kept = kept_aside(row_keys(len(rows)), y)
    return (x[~kept], y[~kept]), (x[kept], y[kept])

'''

_BYTES = '''
def tokens(texts):
    """[len(texts), LENGTH]: the bytes of each text as UTF-8, plus one, filled up with 0."""
    x = np.zeros((len(texts), LENGTH), np.int32)
    for row, text in zip(x, texts):
        raw = np.frombuffer(text.encode("utf-8", "replace")[:LENGTH], np.uint8)
        row[: len(raw)] = raw.astype(np.int32) + 1
    return x

'''

_PIECES = '''
def tokens(texts):
    """[len(texts), LENGTH]: the pieces of words that each text is made of, filled up with 0."""
    cutter = Tokenizer.from_file(TOKENIZER)
    cutter.no_padding()
    cutter.enable_truncation(LENGTH)
    x = np.zeros((len(texts), LENGTH), np.int32)
    for row, text in zip(x, cutter.encode_batch(texts)):
        row[: len(text.ids)] = text.ids
    return x

'''
