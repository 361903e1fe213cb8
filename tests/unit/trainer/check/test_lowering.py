"""What TensorFlow's TPU lowering says when it refuses, taken apart: the words are its own (tensorflow-tpu 2.20)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tpu_studio.trainer.check import lowering

UNSUPPORTED = """\
Failed getting HLO text: 'Detected unsupported operations when trying to compile graph __inference_flat_17[] on \
XLA_TPU_JIT: AsString (No registered 'AsString' OpKernel for XLA_TPU_JIT devices compatible with node \
{{node shout_1/AsString}}){{node shout_1/AsString}}
One approach is to outside compile the unsupported ops to run on CPUs by enabling soft placement.

The op is created at:
File "program.py", line 12, in <module>
File "model.py", line 8, in call
\ttf2xla conversion failed while converting __inference_flat_17[].'"""
BY_VALUE = """\
Failed getting HLO text: 'Input 1 to node `Reshape` with op Reshape must be a compile-time constant.

XLA compilation requires that operator arguments that represent shapes or dimensions be evaluated to concrete values.
Stack trace for op definition:
File "model.py", line 5, in call
\t [[{{node Reshape}}]]'"""
TABLE = SimpleNamespace(instead=lambda type, by_value=False: "by value" if by_value else f"not {type}")


class Empty:
    """A graph whose nodes carry no lines: those of functions inside it."""

    def get_operations(self) -> list[Any]:
        return []

    def get_operation_by_name(self, name: str) -> Any:
        raise KeyError(name)


def found(words: str) -> dict[str, Any]:
    layers = {"shout": "Shout"}
    (one,) = lowering.findings(lowering.Refused(words), Empty(), layers, Path("/me/model.py"), TABLE)
    return one


def test_an_operation_that_no_tpu_has_is_named_with_layer_and_line() -> None:
    one = found(UNSUPPORTED)
    assert (one["id"], one["level"]) == ("op-not-on-tpu", "error")
    facts = one["facts"]
    assert (facts["operation"], facts["layer"], facts["line"]) == ("AsString", "shout", 8)
    assert facts["instead"] == "not AsString"


def test_a_size_that_must_be_known_is_told_in_the_compilers_first_words() -> None:
    one = found(BY_VALUE)
    assert one["id"] == "op-dynamic-shape"
    assert one["facts"]["raw"] == "Input 1 to node `Reshape` with op Reshape must be a compile-time constant."
    assert one["facts"]["line"] == 5
    assert one["facts"]["instead"] == "by value"


def test_any_other_refusal_is_told_as_it_is() -> None:
    words = "Current implementation does not yet support pivoting."
    one = found(f"Failed getting HLO text: '{words}\n\t [[{{{{node Solve}}}}]]'")
    assert one["id"] == "op-refused"
    assert one["facts"]["raw"] == words
