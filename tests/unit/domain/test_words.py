"""The field's term is the label, and the plain word stands in the hint: images and pictures are not mixed."""

from __future__ import annotations

import re

from tpu_studio.domain.learning import glossary
from tpu_studio.wire import kinds, metrics, models, schema, tasks

_IMAGE, _PICTURE = re.compile(r"\bimages?\b", re.IGNORECASE), re.compile(r"\bpictures?\b", re.IGNORECASE)


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
