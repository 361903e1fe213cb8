"""A file of tensors is read without running its pickle, and whatever asks for more than tensors is refused."""

from __future__ import annotations

import collections
import os
import pickle
import struct
from typing import Any

import numpy as np
import pytest

from tpu_studio.local.engine.pickled import MAGIC, VERSION, Refused, read

GLOBALS = {"dict": b"ccollections\nOrderedDict\n", "tensor": b"ctorch._utils\n_rebuild_tensor_v2\n"}


def text(words: str) -> bytes:
    return b"X" + struct.pack("<I", len(words)) + words.encode()


def whole(number: int) -> bytes:
    return b"J" + struct.pack("<i", number)


def tuple_of(*parts: bytes) -> bytes:
    return b"(" + b"".join(parts) + b"t"


def tensor(
    key: str, shape: tuple[int, ...], strides: tuple[int, ...], length: int, offset: int = 0, kind: str = "FloatStorage"
) -> bytes:
    """What PyTorch writes for one tensor: a call of _rebuild_tensor_v2 on a named storage."""
    storage = (
        tuple_of(text("storage"), f"ctorch\n{kind}\n".encode(), text(key), text("cpu"), whole(length), b"N") + b"Q"
    )
    sides = [tuple_of(*(whole(one) for one in ones)) for ones in (shape, strides)]
    return GLOBALS["tensor"] + tuple_of(storage, whole(offset), *sides, b"\x89", GLOBALS["dict"] + b")R") + b"R"


def table(*named: tuple[str, bytes]) -> bytes:
    return b"\x80\x02" + GLOBALS["dict"] + b")R(" + b"".join(text(name) + one for name, one in named) + b"u."


def file(body: bytes, storages: dict[str, Any], *, after: bytes = b"", magic: int = MAGIC) -> bytes:
    head = b"".join(pickle.dumps(one, 2) for one in (magic, VERSION, {"little_endian": True}))
    numbers = b"".join(struct.pack("<q", len(array)) + array.tobytes() for array in storages.values())
    keys = b"\x80\x02](" + b"".join(map(text, storages)) + b"e."
    return head + body + keys + numbers + after


SIX = np.arange(6, dtype=np.float32)


def test_tensors_come_out_as_they_were_however_they_lie() -> None:
    rows, turned = tensor("1", (2, 3), (3, 1), 6), tensor("1", (3, 2), (1, 3), 6)
    count = tensor("2", (), (), 1, kind="LongStorage")
    found = read(
        file(table(("rows", rows), ("turned", turned), ("count", count)), {"1": SIX, "2": np.array([7], np.int64)})
    )

    assert [(name, one.kind, one.shape) for name, one in found.items()] == [
        ("rows", "F32", (2, 3)),
        ("turned", "F32", (3, 2)),
        ("count", "I64", ()),
    ]
    assert found["rows"].data == SIX.tobytes()
    assert found["turned"].data == SIX.reshape(2, 3).T.tobytes()
    assert found["count"].data == (7).to_bytes(8, "little")


class Runs:
    """What a hostile pickle does: it names a function, which unpickling would call."""

    def __reduce__(self) -> Any:
        return os.system, ("touch hacked",)


HOSTILE = {
    "a call of the system": pickle.dumps(Runs(), 2),
    "a call by the newest protocol": pickle.dumps(Runs(), 5),
    "another class": pickle.dumps(collections.Counter(), 2),
    "a class by its name": b"\x80\x02cbuiltins\neval\n.",
    "a class by the stack": b"\x80\x04" + b"\x8c\x08builtins\x8c\x04eval\x93.",
    "an old instance": b"(ibuiltins\neval\n.",
    "an object": b"\x80\x02ccollections\nOrderedDict\n)\x81.",
    "an extension": b"\x80\x02\x82\x01.",
    "a storage that is not named": b"\x80\x02X\x03\x00\x00\x00abcQ.",
    "a persistent text": b"Pabc\n.",
    "a call of a known name with more": b"\x80\x02ccollections\nOrderedDict\nX\x01\x00\x00\x00a\x85R.",
    "a state for what is no table": b"\x80\x02](X\x01\x00\x00\x00ae}b.",
    "a frozen set": pickle.dumps(frozenset({1}), 4),
    "bytes": pickle.dumps(b"abc", 4),
    "a float": pickle.dumps(1.5, 2),
    "a memo that nobody filled": b"\x80\x02h\x05.",
    "an empty stack": b"\x80\x020.",
    "an end without a value": b"\x80\x02.",
    "two values": b"\x80\x02NN.",
    "nothing": b"",
    "no pickle": b"\xff\xfe\xfd",
    "a length that is not there": b"\x80\x02X\xff\xff\xff\x7fabc.",
    "a key that has no hash": b"\x80\x02}]Ns.",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_pickle_that_does_anything_else_is_refused_and_nothing_of_it_runs(
    body: bytes, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refused):
        read(file(body, {"1": SIX}))
    with pytest.raises(Refused):
        read(body)
    assert not list(tmp_path.iterdir())


def test_every_instruction_that_is_not_on_the_list_is_refused() -> None:
    import pickletools

    listed = {
        *(
            "PROTO",
            "STOP",
            "MARK",
            "NONE",
            "NEWTRUE",
            "NEWFALSE",
            "BININT",
            "BININT1",
            "BININT2",
            "LONG1",
            "BINUNICODE",
        ),
        *("BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "EMPTY_DICT"),
        *("EMPTY_LIST", "APPENDS", "SETITEM", "SETITEMS", "GLOBAL", "REDUCE", "BINPERSID", "BUILD"),
    }
    arguments = {"newline": b"0\n", "four": b"\x00\x00\x00\x00", "eight": bytes(8)}
    others = [one for one in pickletools.opcodes if one.name not in listed]
    assert len(others) == len(pickletools.opcodes) - len(listed)
    for opcode in others:
        said = set()
        for argument in (b"", b"\x00", b"\x01", bytes(2), *arguments.values(), b"'a'\n", b"a\nb\n"):
            with pytest.raises(Refused) as refused:
                read(file(b"\x80\x02" + opcode.code.encode("latin-1") + argument + b".", {"1": SIX}))
            said.add(str(refused.value))
        assert f"it uses {opcode.name}" in said


WRONG = {
    "numbers that end too early": file(table(("a", tensor("1", (6,), (1,), 6))), {"1": SIX})[:-3],
    "something behind them": file(table(("a", tensor("1", (6,), (1,), 6))), {"1": SIX}, after=b"x"),
    "another length": file(table(("a", tensor("1", (5,), (1,), 5))), {"1": SIX}),
    "a tensor beyond its numbers": file(table(("a", tensor("1", (6,), (1,), 6, offset=1))), {"1": SIX}),
    "shared numbers": file(table(("a", tensor("1", (6, 6), (0, 1), 6))), {"1": SIX}),
    "gaps": file(table(("a", tensor("1", (3,), (2,), 6))), {"1": SIX}),
    "more sides than strides": file(table(("a", tensor("1", (2, 3), (1,), 6))), {"1": SIX}),
    "a negative side": file(table(("a", tensor("1", (-6,), (1,), 6))), {"1": SIX}),
    "a kind of numbers nobody knows": file(table(("a", tensor("1", (6,), (1,), 6, kind="HalfStorage"))), {"1": SIX}),
    "other keys": file(table(("a", tensor("1", (6,), (1,), 6))), {"2": SIX}),
    "no tensor": file(table(("a", text("b"))), {"1": SIX}),
    "an empty table": file(table(), {}),
    "another magic": file(table(("a", tensor("1", (6,), (1,), 6))), {"1": SIX}, magic=MAGIC + 1),
    "too many numbers": file(table(("a", tensor("1", (6,), (1,), 2**30))), {"1": SIX}),
}


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG)
def test_what_is_not_whole_is_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        read(data)
