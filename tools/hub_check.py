"""Holds `tests/fakes/hub.py` to the Hub's own client: what that fetches from it is what lies in the folder.

Run by hand in an environment of its own, which the project does not install:
    python -m venv /tmp/hub && /tmp/hub/bin/pip install huggingface_hub
    PYTHONPATH=. /tmp/hub/bin/python tools/hub_check.py
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.fakes import hub, presets


def files(folder: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(f"{name} ".encode() * (hub.LARGE if number % 2 else 1))
    return folder


def paths(folder: Path) -> list[str]:
    return [one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file()]


def main() -> int:
    with hub.running() as fake, tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HF_ENDPOINT": fake.address, "HF_HOME": f"{folder}/cache", "HF_HUB_DISABLE_TELEMETRY": "1"}
        import huggingface_hub  # type: ignore[import-not-found]
        from huggingface_hub import errors

        source = presets.decoder("llama", Path(folder))
        fake.repositories = {
            "owner/open": hub.Repository(source),
            "owner/gated": hub.Repository(source, token="hf_right"),
            "owner/private": hub.Repository(source, token="hf_right", private=True),
        }
        to = Path(huggingface_hub.snapshot_download("owner/open", local_dir=f"{folder}/open"))
        assert all((to / one.name).read_bytes() == one.read_bytes() for one in source.iterdir()), "other bytes"
        info = huggingface_hub.HfApi().model_info("owner/open", files_metadata=True)
        assert info.sha == "a" * 40 and info.card_data and info.card_data.license == "apache-2.0"
        assert {one.rfilename: one.size for one in info.siblings or []} == {
            one.name: one.stat().st_size for one in source.iterdir()
        }
        for name, token, kind in (
            ("owner/none", None, errors.RepositoryNotFoundError),
            ("owner/private", None, errors.RepositoryNotFoundError),
            ("owner/gated", None, errors.GatedRepoError),
            ("owner/gated", "hf_other", errors.GatedRepoError),
            ("owner/open", "bad", errors.HfHubHTTPError),
        ):
            try:
                huggingface_hub.hf_hub_download(name, "tokenizer.json", token=token, local_dir=f"{folder}/x")
            except kind as error:
                assert (
                    type(error) is kind
                    or kind is not errors.HfHubHTTPError
                    or not isinstance(error, errors.RepositoryNotFoundError)
                )
            else:
                raise AssertionError(f"{name} was given")
        huggingface_hub.hf_hub_download("owner/gated", "tokenizer.json", token="hf_right", local_dir=f"{folder}/y")
        data = files(
            Path(folder) / "conversion", "sub/train/0000.parquet", "sub/train/0001.parquet", "sub/test/0000.parquet"
        )
        own = files(Path(folder) / "own", "README.md", "data/train.csv")
        fake.datasets = {"owner/data": hub.Repository(own, converted=data), "single": hub.Repository(own)}
        fake.moved = {"old-name": "owner/data"}
        api = huggingface_hub.HfApi()
        for name, revision, source in (
            ("owner/data", hub.CONVERTED, data),
            ("owner/data", None, own),
            ("single", None, own),
        ):
            to = Path(
                huggingface_hub.snapshot_download(
                    name, repo_type="dataset", revision=revision, local_dir=f"{folder}/{name}/{bool(revision)}"
                )
            )
            assert all((to / one).read_bytes() == (source / one).read_bytes() for one in paths(source)), "other bytes"
            told = api.dataset_info(name, revision=revision, files_metadata=True)
            assert {one.rfilename: one.size for one in told.siblings or []} == {
                one: (source / one).stat().st_size for one in paths(source)
            }
        assert api.dataset_info("old-name").id == "owner/data"
        try:
            api.dataset_info("single", revision=hub.CONVERTED)
        except errors.RevisionNotFoundError:
            pass
        else:
            raise AssertionError("a branch was given that is not there")
        led = [headers for path, headers in fake.asked if path.startswith("storage:")]
        assert led and not any("Authorization" in headers for headers in led), "its token went elsewhere"
    print(f"huggingface_hub {huggingface_hub.__version__} and the rehearsal agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
