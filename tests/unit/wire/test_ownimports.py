"""What a model file asks for is read from its text, however deep that nests."""

from __future__ import annotations

import ast

import pytest

from tpu_studio.wire import ownimports
from tpu_studio.wire.ownimports import asked

DEEP = {
    "signs": "x = " + "-" * 2000 + "1",
    "names": "x = a" + ".a" * 2000,
    "a condition": "if " + "a." * 900 + "b:\n    pass",
    "functions": "x = " + "lambda: " * 400 + "0",
}


@pytest.mark.parametrize("name", DEEP)
def test_an_expression_that_nests_deep_hides_no_import_and_breaks_nothing(name: str) -> None:
    """`make fuzz` found that the first three ended the reading with a RecursionError."""
    found = asked(f"import os\n{DEEP[name]}\ndef build_model(job):\n    import torch\n")
    assert found == {} or found["imports"] == {"os": 1, "torch": found["imports"]["torch"]}
    assert found or name in ("signs", "names", "functions")  # more than Python itself reads


def test_branches_that_nest_for_ever_are_left_to_whoever_builds_the_model() -> None:
    assert asked("if a:\n    pass\n" + "elif a:\n    pass\n" * 3000) == {}


def test_what_is_imported_where_the_backend_is_asked_for_may_be_tensorflow() -> None:
    text = 'if keras.backend.backend() == "tensorflow":\n    import tensorflow\n    import os\nelse:\n    import jax\n'
    assert asked(text)["imports"] == {"os": 3, "jax": 5}
    assert asked("if x:\n    import tensorflow\n")["imports"] == {"tensorflow": 2}
    assert asked('if os.environ["KERAS_BACKEND"] == "jax":\n    import tensorflow\n')["imports"] == {}


def test_f_strings_are_passed_over_and_all_else_of_their_file_is_told() -> None:
    """Python 3.11 parses what stands in each anew: a stranger's file held the window for a minute and a half."""
    code = 'import keras\nname = f"{keras.a[\'b\']!r:>{8}} {{}}" rf"\\d{1}" fR\'{2}\' F"""{\n3}"""\nimport flax\n'
    assert asked(code)["imports"] == {"keras": 1, "flax": 4}
    assert asked("of = 'f'\nimport os  # f'\nx = f'KERAS_BACKEND'")["imports"] == {"os": 2}


def test_a_file_longer_than_any_network_is_not_looked_into() -> None:
    assert asked("import keras\n" + "x = f'{x}{x}'\n" * 100_000) == {}


def test_a_name_with_marks_without_end_is_not_put_in_order() -> None:
    assert asked("import keras\na" + "\u0301\u0327" * 100_000 + " = 1\n") == {}
    assert asked("import keras\n# " + "汉字 " * 500) == {"imports": {"keras": 1}}


def test_a_chain_of_backends_is_walked_once() -> None:
    """The imports in it were gathered anew for each *elif* that holds them: ten seconds for half a megabyte."""
    lines: list[str] = []

    class Counted(dict[str, int]):
        def setdefault(self, key: str, default: int = 0) -> int:
            lines.append(key)
            return super().setdefault(key, default)

    names = [f"m{number}" for number in range(200)]
    chain = "if backend == 1:\n pass\n" + "elif backend == 2:\n pass\n" * 100
    ownimports._collect(ast.parse(f"{chain}else:\n import tensorflow, {', '.join(names)}\n"), found := Counted())
    assert list(found) == names and len(lines) == len(names)
