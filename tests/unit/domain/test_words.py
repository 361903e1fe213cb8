"""The field's term is the label, and the plain word stands in the hint: images and pictures are not mixed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import tpu_studio
from tpu_studio.domain.learning import glossary
from tpu_studio.domain.sentences import account
from tpu_studio.wire import kinds, metrics, models, schema, tasks

_IMAGE, _PICTURE = re.compile(r"\bimages?\b", re.IGNORECASE), re.compile(r"\bpictures?\b", re.IGNORECASE)
PROGRAM = Path(tpu_studio.__file__).parent
_OLD = re.compile(
    r"stops? from outside(?!\{\})|outside stops?\b|stops? at Google|works with your computer off|absence is proved"
    r"|proved gone|is proved\b|What ends the bill|place for results|account for the machine|machine's (own )?account"
    r"|Waits for (signing|choosing)|shall (pay|answer)|rule stands|borrow a TPU|Take it back:?$|^Taking it back"
    r"|Let it happen|Take all back|What is known of TPUs|No list of Google's|chip is not always free|ever gets free"
    r"|Nothing is free for|What is ours|\b[Oo]urs, kept|^Ours$|^Not ours$|may cost money(…|”)"
    r"|^lies in|\blies (in|on) \{\}|sign-in lies|Spending alert|Kind of loan",
    re.MULTILINE,
)
_AREA = re.compile(r"\b[Aa]reas?\b")


def labels() -> list[str]:
    named = [*kinds.all_kinds(), *models.BY_NAME.values(), *schema.BY_PATH.values(), *metrics.all_metrics()]
    return [*(one.title for one in named), *(term.title for term in glossary.glossary().values())]


def hints() -> list[str]:
    options = [option.help for model in models.BY_NAME.values() for option in model.options]
    helps = [*(model.help for model in models.BY_NAME.values()), *(key.help for key in schema.BY_PATH.values())]
    tasked = [task.doing for task in tasks.all_tasks()]
    return [
        *(kind.hint for kind in kinds.all_kinds()),
        *helps,
        *options,
        *tasked,
        *(t.hint for t in glossary.glossary().values()),
    ]


def test_a_label_says_image_and_a_hint_says_picture() -> None:
    assert "Images" in labels() and "Image size" in labels()
    assert [label for label in labels() if _PICTURE.search(label)] == []
    assert any(_PICTURE.search(hint) for hint in hints())
    assert [hint for hint in hints() if _IMAGE.search(hint)] == []


def strings() -> list[tuple[str, str]]:
    """Every text in the program's source, with its file; what a brace fills in is `{}`. No docstrings, no comments."""
    told = []
    for path in sorted(PROGRAM.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        skipped = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
                skipped |= {id(part) for part in node.values}
                told.append((path.name, "".join(map(str, parts))))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
                told.append((path.name, node.value))
    return told


def test_the_old_words_of_account_review_sweep_and_faults_are_said_nowhere() -> None:
    """The review's table of words (docs/reviews/window.md): who learns must find on the web what is on the screen."""
    told = strings()
    assert any("Shut-off timers" in text for _, text in told) and any("Storage bucket" in text for _, text in told)
    assert [(name, text) for name, text in told if _OLD.search(text)] == []


def test_a_place_at_google_is_a_zone_or_a_region_and_no_area() -> None:
    assert [(name, text) for name, text in strings() if _AREA.search(text) and " " in text] == []


def test_what_the_account_page_names_is_in_the_glossary() -> None:
    found = {
        title.casefold(): glossary.search(title) for title in ("Storage bucket", "Service account", "Budget alert")
    }
    found |= {title: glossary.search(title) for title in ("shut-off timers", "organisation policy", "IAM permissions")}
    assert [
        title for title, terms in found.items() if not terms or title.casefold() not in terms[0].title.lower()
    ] == []
    assert {"Storage bucket", "Shut-off timers", "Organisation policies", "TPU quota"} <= {
        title for titles in account.TITLES.values() for title in titles
    }
