"""Asking a trained model: pictures, rows and text, once and as a server that no question can bring down."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.waiting import PATIENCE_S
from tests.trainer.in_engine import ROOT, done_in_engine, engine_python, environment
from tests.trainer.results_of import OWN

pytestmark = [pytest.mark.engine, pytest.mark.slow]
DIGITS = ROOT / "resources" / "samples" / "digits" / "preview"
CONSENT = hashlib.sha256(OWN.encode()).hexdigest()


@pytest.fixture(scope="module")
def runs(results: Callable[[str], tuple[Path, Any]]) -> Path:
    return results("tensorflow")[0]


def environ() -> dict[str, str]:
    return {name: value for name, value in environment("jax").items() if name != "KERAS_BACKEND"}


def ask(run: Path, *arguments: str, cold: bool = False) -> subprocess.CompletedProcess[str]:
    argv = ["-m", "tpu_studio.trainer.predict", "--run", str(run), *arguments]
    return done_in_engine(argv, environ(), "tensorflow" if run.name == "own" else "jax", cold=cold)


class Server:
    def __init__(self, run: Path, *arguments: str) -> None:
        argv = [str(engine_python()), "-m", "tpu_studio.trainer", "predict", "--run", str(run), "--serve", *arguments]
        self.process = subprocess.Popen(
            argv, env=environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def tell(self, *questions: Any) -> None:
        assert self.process.stdin is not None
        for question in questions:
            line = question if isinstance(question, bytes) else json.dumps(question).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def writer(runs: Path) -> Iterator[Server]:
    with Server(runs / "text") as server:
        yield server


def test_a_folder_of_pictures_is_answered_as_a_table_and_as_json(runs: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(ask(runs / "pictures", str(DIGITS), cold=True).stdout)))
    answers = json.loads(ask(runs / "pictures", str(DIGITS), "--json").stdout)["answers"]
    assert len(rows) == len(answers) == len(list(DIGITS.glob("*.png")))
    assert [row["answer"] for row in rows] == [answer["classes"][0]["name"] for answer in answers]
    assert sum(each["probability"] for each in answers[0]["classes"]) == pytest.approx(1.0)


def test_a_broken_picture_is_named_and_the_others_are_answered(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"no picture")
    (tmp_path / "good.png").write_bytes(next(DIGITS.glob("*.png")).read_bytes())
    done = ask(runs / "pictures", str(tmp_path), "--json")
    broken, good = json.loads(done.stdout)["answers"]
    assert broken["error"]["id"] == "data-unreadable-picture"
    assert good["classes"]
    assert done.returncode == 0


def test_an_exported_result_is_asked_like_a_run(runs: Path) -> None:
    assert ask(runs / "pictures" / "result", str(next(DIGITS.glob("*.png")))).returncode == 0


def test_the_rows_of_a_table_get_a_value_each_in_its_own_unit(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("thing,colour\nshoe,red\nhat,blue\n")
    answers = json.loads(ask(runs / "rows", str(tmp_path / "new.csv"), "--json").stdout)["answers"]
    one = json.loads(ask(runs / "rows", '{"thing": "shoe", "colour": "red"}', "--json").stdout)["answers"][0]
    assert len(answers) == 2
    assert one["value"] == pytest.approx(answers[0]["value"])
    assert one["target"] == "price"


def test_what_is_not_there_is_bad_input_without_a_traceback(runs: Path, tmp_path: Path) -> None:
    for run, item in ((runs / "pictures", str(tmp_path / "nowhere")), (tmp_path, "x"), (runs / "rows", "{broken")):
        done = ask(run, item)
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr


def test_a_model_of_ones_own_answers_only_after_consent_to_its_file(runs: Path) -> None:
    picture = str(next(DIGITS.glob("*.png")))
    refused = ask(runs / "own", picture, "--json")
    assert refused.returncode == 2
    assert json.loads(refused.stdout)["error"]["id"] == "model-no-consent"
    assert json.loads(refused.stdout)["error"]["facts"]["sha256"] == CONSENT
    assert json.loads(ask(runs / "own", picture, "--json", "--consent", CONSENT).stdout)["answers"][0]["classes"]


def test_text_comes_in_pieces_and_the_same_seed_writes_the_same(writer: Server) -> None:
    texts = []
    for number, seed in ((1, 5), (2, 5), (3, 6)):
        writer.tell({"id": number, "prompt": "To be", "tokens": 250, "temperature": 1.0, "seed": seed})
        pieces = [writer.hear()]
        while pieces[-1]["done"] is False:
            pieces.append(writer.hear())
        assert {piece["id"] for piece in pieces} == {number}
        texts.append("".join(piece["text"] for piece in pieces))
    assert texts[0] == texts[1] != texts[2]
    assert 60 < len(texts[0]) <= 250  # bytes that are no whole character share one sign


def test_a_cancelled_text_ends_and_the_next_question_is_answered(writer: Server) -> None:
    writer.tell({"id": 20, "prompt": "x", "tokens": 100_000}, {"id": 21, "prompt": "y", "tokens": 3})
    assert writer.hear()["id"] == 20
    writer.tell({"id": 20, "cancel": True})
    answers = [writer.hear()]
    while answers[-1]["id"] == 20:
        answers.append(writer.hear())
    assert answers[-2]["cancelled"] is True
    assert answers[-1]["id"] == 21
    while answers[-1]["done"] is False:
        answers.append(writer.hear())


@pytest.mark.parametrize(
    ("question", "id"),
    [
        (b"no json at all", "predict-bad-question"),
        (b"[1,2]", "predict-bad-question"),
        ({"id": 30}, "predict-bad-question"),
        ({"id": 31, "prompt": "x", "tokens": -1}, "predict-bad-question"),
        ({"id": 32, "prompt": "x", "temperature": "hot"}, "predict-bad-question"),
        ({"id": 33, "image": "cat.png"}, "predict-wrong-kind"),
        ({"id": 34, "prompt": "x", "turns": "hello"}, "predict-bad-question"),
        (
            {"id": 35, "prompt": "x", "turns": [{"role": "user", "text": "a"}, {"role": "assistant", "text": "b"}]},
            "predict-bad-question",  # it goes on with a text, it does not answer
        ),
    ],
)
def test_a_question_that_cannot_be_answered_is_told_so_and_ends_nothing(writer: Server, question: Any, id: str) -> None:
    writer.tell(question)
    assert writer.hear()["error"]["id"] == id
    writer.tell({"id": 40, "prompt": "x", "tokens": 1})
    while writer.hear().get("done") is False:
        pass


def test_a_server_whose_model_cannot_be_opened_says_why_to_every_question(runs: Path) -> None:
    with Server(runs / "own") as server:
        for number in (1, 2):
            server.tell({"id": number, "image": "x"})
            answer = server.hear()
            assert (answer["id"], answer["error"]["id"]) == (number, "model-no-consent")


@pytest.mark.parametrize("name", ["text", "pictures", "own"])
def test_a_model_that_began_from_nothing_has_no_before(runs: Path, name: str) -> None:
    with Server(runs / name, "--before") as server:
        server.tell({"id": 1, "prompt": "x"})
        answer = server.hear()
        assert (answer["error"]["id"], "--before" in str(answer["error"]["facts"])) == ("predict-bad-question", True)


def test_the_end_of_the_questions_ends_the_server_after_the_last_answer(runs: Path) -> None:
    server = Server(runs / "rows")
    out, _ = server.process.communicate(b'{"id":1,"row":{"thing":"hat","colour":"red"}}\n', timeout=PATIENCE_S)
    assert json.loads(out)["value"]
    assert server.process.returncode == 0
