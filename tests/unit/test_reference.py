"""The reference of the job file is made from the schema, and is up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tpu_studio.wire.models import MODELS
from tpu_studio.wire.schema import KEYS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "job-file.md"


def test_the_page_is_what_the_schema_says():
    made = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "make_reference.py"), "--check"], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr


def test_every_key_and_every_option_of_a_model_is_on_it():
    text = PAGE.read_text("utf-8")
    assert [key.path for key in KEYS if f"| `{key.name}` |" not in text] == []
    assert [model.name for model in MODELS if f"### `{model.name}`" not in text] == []
