"""A run as one page: nothing of the data is taken for markup, nothing private is in it, and it stays small."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.pages import Element, curve_of, data_of, read, sha256, shape
from tests.fakes.views import view_of
from tests.unit.wire.test_secrets import SHAPED
from tpu_studio.domain.jobfile import loads
from tpu_studio.domain.run import RunView
from tpu_studio.viewmodels.onepage.document import MOST_ROWS, Document
from tpu_studio.viewmodels.onepage.page import Page, compose, save
from tpu_studio.viewmodels.onepage.points import plots_of
from tpu_studio.viewmodels.onepage.private import CUT, Private
from tpu_studio.viewmodels.receipt import AT_MOST
from tpu_studio.viewmodels.runfacts import facts_of
from tpu_studio.viewmodels.runstate import RunPageState
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.job import parse_resolved
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.planparts import PlanLimits
from tpu_studio.workflow.desk import write_event

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "</style></title><svg onload=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' autofocus onfocus='alert(1)",
    "<!--",
    "]]><script>alert(1)</script>",
    "&lt;b&gt;",
    "\u202egnp.exe\u2066",
    "a\x00b\x0cc\x1b]0;title\x07",
    "שלום עולם",
    "\ud800 alone",
    "{braces} %s %(name)s",
)
MEGABYTE = 1_000_000
TABLE = {"kind": "table", "path": "/data/rocks.csv", "target": "price"}
FINAL = {"loss": 0.1, "val_r2": 0.9, "val_mae": 3.0}


def plan_of(name: str = "rocks", **tables: dict[str, Any]) -> Plan:
    job = parse_resolved(
        {
            "format": 1,
            "name": name,
            "model": {"name": "mlp"},
            "data": TABLE,
            "training": {"epochs": 2, "global_batch": 32},
            **tables,
        }
    )
    return Plan(
        job=job,
        task="regression",
        framework="jax",
        steps=20,
        steps_per_epoch=10.0,
        limits=PlanLimits(None, 1.0),
        data={"target": job.data.target, "examples": 100},
        app="1.2.3",
    )


def ended(reason: str = "completed", status: str = "finished", **facts: Any) -> RunView:
    return view_of(
        (0.0, "phase", {"phase": "training"}),
        (9.0, "metric", {"step": [1, 2], "loss": [2.0, 1.0], "val_r2": [None, 0.9]}),
        (10.0, "end", {"status": status, "reason": reason, "final": FINAL, "facts": facts}),
    )


def state_of(plan: Plan, folder: Path, view: RunView | None = None) -> RunPageState:
    return RunPageState("rocks-k3f7", facts_of(plan), folder, view or ended(), 2e9, loading=False, plan=plan)


def page_of(
    folder: Path, plan: Plan | None = None, view: RunView | None = None, curves: Mapping[str, Any] | None = None
) -> Page:
    plan = plan or plan_of()
    found = curves if curves is not None else {"loss": curve_of(folder / "columns", np.linspace(2.0, 1.0, 50))}
    return compose(state_of(plan, folder, view), plan, found.get)


def put_result(folder: Path, name: str, tree: object) -> None:
    (folder / "result").mkdir(parents=True, exist_ok=True)
    (folder / "result" / name).write_text(json.dumps(tree))


def hostile_page(folder: Path, word: str) -> Page:
    """A page of which every text that a stranger can write is *word*."""
    put_result(folder, "model.json", {"versions": {word: word}})
    named = word.replace("\0", "")  # which no job has
    told = plan_of(named, data={**TABLE, "path": f"/data/{named}", "target": named})
    plan = replace(told, reasons={"training.global_batch": word, "estimate": word}, app=word, framework=word)
    return page_of(folder, plan, ended("trainer-failed", "failed", raw=word, error=word, where=word))


@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_a_run_is_called_its_page_has_the_same_elements(tmp_path: Path, word: str) -> None:
    tame, wild = (read(hostile_page(tmp_path / name, each).data) for name, each in (("a", "tame"), ("b", word)))
    assert shape(wild) == shape(tame)
    for one in wild.all():
        assert not [name for name in one.attributes if name.startswith("on") or name == "style"]
        assert one.attributes.get("src") is None and one.attributes.get("href") in (None, "data:,")
    assert "\x00" not in wild.words() and "\u202e" not in wild.words()


@given(st.text())
def test_any_text_is_text_in_the_page_and_in_its_data(word: str) -> None:
    private = Private()
    told = Document(private).text(word)
    assert not set(told) & set("<>\"'")
    assert html.unescape(told) == private(word, 2_000)
    assert read(f'<p x="{told}">{told}</p>'.encode()).children[0].attributes["x"] == html.unescape(told)


def policy_of(page: Element) -> dict[str, list[str]]:
    (told,) = [one for one in page.all("meta") if one.attributes.get("http-equiv") == "Content-Security-Policy"]
    parts = [part.split() for part in told.attributes["content"].split(";")]
    return {part[0]: part[1:] for part in parts}


def test_the_policy_names_what_is_inside_by_its_hash_and_nothing_else(tmp_path: Path) -> None:
    page = read(page_of(tmp_path).data)
    policy = policy_of(page)
    (style,) = page.all("style")
    run = [one for one in page.all("script") if one.attributes.get("type") != "application/json"]
    assert policy["style-src"] == [sha256(style.text)]
    assert policy["script-src"] == [sha256(one.text) for one in run]
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == ["'none'"]
    assert policy["img-src"] == ["data:"]
    assert not set(policy) - {
        "default-src",
        "style-src",
        "script-src",
        "img-src",
        "base-uri",
        "form-action",
    }
    assert "http" not in style.text.replace("http://www.w3.org/2000/svg", "")
    assert "url(" not in style.text and "@import" not in style.text
    for word in ("innerHTML", "fetch(", "eval", "Function(", "import(", "XMLHttpRequest", "localStorage"):
        assert word not in run[0].text


@pytest.mark.parametrize("whose", SHAPED)
def test_no_key_path_bucket_project_or_address_of_this_computer_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    home = tmp_path / "jane doe"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TPU_STUDIO_HOME", str(home / ".tpu"))
    key = SHAPED[whose]
    raw = f"token={key} {key}\u200e in {home}/runs/rocks-k3f7/x.py and /home/john/x.py, file:///home/john/y, "
    raw += r"C:\Users\john\z.csv, gs://secret-bucket/runs/rocks, by john.smith@mail.example, in secret-project"
    put_result(tmp_path / "run", "model.json", {"versions": {"keras": f"3 {raw}"}})
    plan = plan_of(
        f"rocks {key[:9]}\u200e{key[9:]}",  # what hides a key goes before it is looked for
        data={**TABLE, "path": str(home / "my photos" / "rocks.csv")},
        where={"project": "secret-project"},
    )
    plan = replace(plan, reasons={"training.global_batch": raw})
    page = page_of(tmp_path / "run", plan, ended("trainer-failed", "failed", raw=raw))
    told = page.data.decode()
    for word in (key[6:], str(tmp_path), "jane", "john", "secret-bucket", "secret-project", "my photos"):
        assert word not in told, word
    assert "rocks.csv" in told


def test_a_key_across_the_edge_of_what_is_shown_is_cut_whole() -> None:
    key = SHAPED["OpenAI"]
    assert Private()("x" * 90 + f" {key}", 100) == "x" * 90 + f" {CUT}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/data/pets/cats", f"{CUT}/cats"),
        ("read /data/pets/cats.csv: no such file", f"read {CUT}/cats.csv: no such file"),
        ("~/pets/cats", f"{CUT}/cats"),
        ("/mnt/home/jane", CUT),
        (r"D:\pets\cats.csv", f"{CUT}/cats.csv"),
        (r"\\server\share\cats", f"{CUT}/cats"),
        ("/home/anna smith/secret/x.csv is not there", f"{CUT}/x.csv is not there"),
        (r"C:\Users\Anna Smith\secret client\x.csv", f"{CUT}/x.csv"),
        ("/Volumes/Anna's Disk/x, /mnt/acme layoffs/2026.csv", f"{CUT}/x, {CUT}/2026.csv"),
        ("/data/pets/cats at 12 images/s", f"{CUT}/cats at 12 images/s"),
        ("/data/projects/cats", f"{CUT}/cats"),
        ("projects/123456789012 has no TPU", f"projects/{CUT} has no TPU"),
        ("https://x.example/v2/projects/123456789012/locations/us", f"https://x.example/v2/projects/{CUT}/us"),
        ("gs://bucket", CUT),
        ("gs://bucket/pets/cats", f"{CUT}/cats"),
        (
            "12 examples/s, 1/2, and/or, km/h, https://a.example/b/c",
            "12 examples/s, 1/2, and/or, km/h, https://a.example/b/c",
        ),
        ("path:/srv/anna/x.csv", f"path:{CUT}/x.csv"),
        ("192.168.0.1:/export/anna/x", f"192.168.0.1:{CUT}/x"),
        ("smb://server/anna/x", f"{CUT}/x"),
        ("see https://example.org/docs/a", "see https://example.org/docs/a"),
    ],
)
def test_of_a_path_the_last_name_stays(text: str, told: str) -> None:
    assert Private()(text) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("my-bucket-77.storage.googleapis.com", f"{CUT}.storage.googleapis.com"),
        ("in MY-PROJ-123456.", f"in {CUT}."),
        ("my-proj-123456.appspot.com", f"{CUT}.appspot.com"),
        ("my-bucket-778, my-bucket-77-b", "my-bucket-778, my-bucket-77-b"),
        ("?file=%2Fhome%2Fanna%2Fx&a=1", f"?file={CUT}&a=1"),
        ("at c%3a%5cusers%5cAnna%20Smith%5cx, line 3", f"at {CUT}, line 3"),
        ("?file=%252Fhome%252Fanna", f"?file={CUT}"),
        ("?file=%2fsrv%2Fruns%2Fx%2Fsecret%20project end", f"?file={CUT} end"),
        ("?file=%2Fsrv%2Fruns%2Fx2", "?file=%2Fsrv%2Fruns%2Fx2"),
        ("~anna/data/x", f"{CUT}/x"),
        ("cd ~anna/", f"cd {CUT}"),
        ("~5/10 of them", "~5/10 of them"),
        ("a 100%2Fhomes of it", "a 100%2Fhomes of it"),
    ],
)
def test_a_project_a_bucket_and_a_home_are_known_in_an_address_too(text: str, told: str) -> None:
    assert Private(["/srv/runs/x"], ["my-proj-123456", "my-bucket-77"])(text) == told


def test_a_home_folder_is_cut_wherever_it_lies_and_whatever_stands_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/srv/people/jane doe")
    private = Private()
    assert private("in /srv/people/jane doe.") == f"in {CUT}."
    assert private("/srv/people/jane doe/x/y.py, line 3") == f"{CUT}/y.py, line 3"


@pytest.mark.parametrize(
    "text",
    [
        "my-bucket-77.storage.googleapis.com",
        "MY-PROJ-123456",
        "https://x.example/?p=%2Fhome%2Fanna%2Fx",
        "%2Fusers%2Fanna",
        "in ~anna/data/x.csv",
    ],
)
def test_however_it_is_written_a_bucket_a_project_and_a_home_are_cut(text: str) -> None:
    told = Private(words=["my-proj-123456", "my-bucket-77"])(text)
    assert "anna" not in told and "my-" not in told.lower() and CUT in told


def test_the_runs_own_bucket_and_project_are_cut_out_wherever_they_stand_alone(tmp_path: Path) -> None:
    raw = "bucket tpu-studio-0123ab refused anna-shop-77 (projects/123456789012), its-77"
    (tmp_path / "run").mkdir()
    write_event(tmp_path / "run", "aaaaaaaa", "opened", t=1.0, bucket="tpu-studio-0123ab", project="anna-shop-77")
    plan = replace(plan_of("rocks"), reasons={"training.global_batch": raw})
    told = page_of(tmp_path / "run", plan, ended("trainer-failed", "failed", raw=raw)).data.decode()
    for word in ("0123ab", "anna-shop-77", "123456789012"):
        assert word not in told, word
    assert "refused" in told and "its-77" in told


def test_where_nobody_can_read_what_must_be_cut_no_page_is_made(tmp_path: Path) -> None:
    events = tmp_path / "run" / "events"
    events.mkdir(parents=True)
    (events / "desk-aaaaaaaa.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError) as error:
        page_of(tmp_path / "run", plan_of("rocks"), ended("completed", "finished"))
    assert error.value.id == "run-unreadable"


METRICS = ("loss", "val_r2", "val_mae", "val_loss", "learning_rate", "examples_per_s")


def test_half_a_million_points_a_curve_make_a_small_page_that_keeps_every_spike_and_says_so(tmp_path: Path) -> None:
    made = {}
    for number, name in enumerate(METRICS):
        values = np.random.default_rng(number).normal(size=500_000) * 1e-3 + 1.0
        values[333_333] = 77.0 + number
        made[name] = curve_of(tmp_path / "columns", values, number)
    page = page_of(tmp_path, curves=made)
    assert len(page.data) <= 3 * MEGABYTE
    tree = read(page.data)
    lines = [line for plot in data_of(tree)["plots"] for line in plot["lines"]]
    assert len(lines) == len(METRICS)
    for line in lines:
        assert line["count"] == 500_000
        assert len(line["points"]) <= 3_000
        (spike,) = [step for step, value in line["points"] if value is not None and value > 70]
        assert spike == pytest.approx(333_334, abs=500)
    assert "500,000 points; " in tree.words()
    assert len(page.plots) == 5 and f"({sum(plot.drawn for plot in page.plots):,} points)" in page.inside[1]


def test_a_line_ends_where_its_run_did_as_the_figures_above_it_say(tmp_path: Path) -> None:
    """The last stretch's highest value stood in the legend, and another loss in the table above."""
    values = np.random.default_rng(1).normal(size=50_000) + 5.0
    values[-3:] = 9.0, 2.0, 4.0
    page = page_of(tmp_path, curves={"loss": curve_of(tmp_path, values)})
    (line,) = page.plots[0].lines
    assert line.last == 4.0 and line.points[-1] == (50_000, 4.0)
    assert "ends at 4.00" in page.data.decode()


def test_values_that_are_no_figures_are_gaps(tmp_path: Path) -> None:
    values = np.array([1.0, np.nan, np.inf, 1e308, -1e308, 2.0])
    page = page_of(tmp_path, curves={"loss": curve_of(tmp_path, values)})
    (plot,) = data_of(read(page.data))["plots"]
    assert plot["lines"][0]["points"] == [[1, 1], [2, None], [6, 2]]
    nothing = page_of(tmp_path / "b", curves={"loss": curve_of(tmp_path / "b", np.full(9, 1e308))})
    assert data_of(read(nothing.data))["plots"][0]["lines"][0]["points"] == [[1, None]]


def test_perplexity_is_drawn_as_it_is_read(tmp_path: Path) -> None:
    nats = curve_of(tmp_path, np.log(np.array([64.0, 8.0])))
    loss, unsure = plots_of("language-model", "characters", {"val_nats_per_token": nats}.get)[:2]
    assert [value for _, value in unsure.lines[0].points] == pytest.approx([64, 8])
    assert [value for _, value in loss.lines[0].points] == pytest.approx([np.log(64), np.log(8)], rel=1e-4)


def test_a_run_without_a_point_says_so(tmp_path: Path) -> None:
    page = page_of(tmp_path, curves={})
    assert "It ended before there was anything to draw." in read(page.data).words()


def test_the_job_file_on_it_repeats_the_run(tmp_path: Path) -> None:
    plan = plan_of(where={"place": "practice", "zones": ["us-west4-a"], "project": "my-own-project"})
    (*_, written) = read(page_of(tmp_path, plan).data).all("pre")
    job = loads(written.text)
    assert (job.name, job.data.path, job.data.target) == ("rocks", "rocks.csv", "price")
    assert (job.training.epochs, job.training.global_batch) == (2, 32)
    assert (job.where.place, job.where.project) == ("practice", None)


def test_a_table_of_more_columns_than_a_page_has_room_for_is_left_out_and_that_is_said(tmp_path: Path) -> None:
    """Writing a job file with 10,000 columns takes 23 seconds."""
    columns = {f"column {number}": "number" for number in range(1_000_000)}
    page = read(page_of(tmp_path, plan_of(data={**TABLE, "columns": columns})).data)
    (*_, written) = page.all("pre")
    assert (loads(written.text).data.columns, loads(written.text).data.target) == ({}, "price")
    assert "Of data.columns there is too much for a page" in page.words()


def test_a_receipt_of_a_million_rows_stays_a_table(tmp_path: Path) -> None:
    part = {"id": "disk", "usd": 0.01}
    put_result(
        tmp_path, "receipt.json", {"place": "practice", "usd": 1.0, "usd_per_hour": 2.0, "parts": [part] * 5_000}
    )
    plan = replace(plan_of(where={"place": "practice"}), place="practice", accelerator="v5litepod-1")
    page = read(page_of(tmp_path, plan).data)
    (receipt,) = [one for one in page.all("section") if one.children[0].text == "Receipt"]
    rows = list(receipt.all("tr"))
    assert AT_MOST < len(rows) < MOST_ROWS
    assert any("More parts" in str(one) and "4900" in str(one) for one in rows)


def test_a_run_that_goes_on_has_no_page_yet(tmp_path: Path) -> None:
    view = view_of((0.0, "phase", {"phase": "training"}))
    with pytest.raises(RunError) as error:
        page_of(tmp_path, view=view)
    assert error.value.id == "page-run-goes-on"


def test_a_file_that_is_there_is_replaced_only_when_asked_to(tmp_path: Path) -> None:
    page, file = page_of(tmp_path), tmp_path / "page.html"
    file.write_text("mine")
    with pytest.raises(RunError) as error:
        save(page, file)
    assert (error.value.id, file.read_text()) == ("page-exists", "mine")
    assert save(page, file, replace=True) == file
    assert file.read_bytes() == page.data
    with pytest.raises(RunError) as error:
        save(page, file / "below.html")
    assert error.value.id == "folder-unwritable"
