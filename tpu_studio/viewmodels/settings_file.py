"""`settings.toml`: what the person chose about the app itself. Read at start before anything is painted.

Reading uses the standard library (12 ms less than tomlkit at start); writing keeps comments and every key that
this version does not know, so that a newer version's file survives an older one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FORMAT = 1
THEMES = ("system", "light", "dark")
TEXT_SIZES = (90, 100, 115, 130, 150)
CONTRASTS = ("system", "normal", "high")
MOTIONS = ("system", "full", "reduced")


@dataclass(frozen=True)
class Settings:
    """*text_size* in percent, one of TEXT_SIZES; *told* are the hints that were shown once and need no
    repeating; *quiet*: the kinds of notification (`news.KINDS`) that are switched off."""

    theme: str = "system"
    text_size: int = 100
    contrast: str = "system"
    motion: str = "system"
    told: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()


@dataclass(frozen=True)
class Loaded:
    """The settings, and one sentence when the file was not what this version expects ("" otherwise)."""

    settings: Settings
    problem: str = ""
    damaged: bool = False


def load(path: Path) -> Loaded:
    """The settings in *path*; the defaults where a value is absent or makes no sense. Never raises for a bad file."""
    try:
        text = path.read_text("utf-8-sig")
        import tomllib  # 4 ms that a start without a settings file does not need

        tree = tomllib.loads(text)
    except FileNotFoundError:
        return Loaded(Settings())
    except (OSError, ValueError, RecursionError):
        return Loaded(
            Settings(),
            "The settings file could not be read, so the usual settings are used. Your runs are "
            "not affected. The old file is kept as settings.toml.broken when you change a setting.",
            True,
        )
    problem = ""
    version = tree.get("format", FORMAT)
    if not isinstance(version, int) or version > FORMAT:
        problem = (
            "A newer TPU Studio wrote these settings. This version uses what it knows and keeps the rest "
            "of the file as it is."
        )
    look, told, quiet = tree.get("appearance"), tree.get("told"), tree.get("notifications")
    look = look if isinstance(look, dict) else {}
    settings = Settings(
        theme=_one_of(look.get("theme"), THEMES, "system"),
        text_size=_nearest_size(look.get("text_size")),
        contrast=_one_of(look.get("contrast"), CONTRASTS, "system"),
        motion=_one_of(look.get("motion"), MOTIONS, "system"),
        told=_words(told),
        quiet=_words(quiet.get("off") if isinstance(quiet, dict) else None),
    )
    return Loaded(settings, problem)


def save(path: Path, settings: Settings) -> None:
    """Write *settings* atomically over what is there; unknown keys, comments and a newer format number stay.

    A file that is no TOML is moved aside to `settings.toml.broken` first. Raises OSError when the disk refuses.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    from tpu_studio.wire.runfolder import write_atomically

    try:
        document = tomlkit.parse(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        document = tomlkit.document()
    except (ValueError, RecursionError, TOMLKitError):
        os.replace(path, path.with_name(path.name + ".broken"))
        document = tomlkit.document()
    if "format" not in document:
        document["format"] = FORMAT
    look: Any = document.get("appearance")
    if not isinstance(look, dict):
        document["appearance"] = tomlkit.table()
        look = document["appearance"]
    before = load(path).settings if path.exists() else None
    for name in ("theme", "text_size", "contrast", "motion"):
        value = getattr(settings, name)
        if before is None or getattr(before, name) != value or name not in look:  # a value of a newer version stays
            look[name] = value
    if settings.told or "told" in document:
        document["told"] = list(settings.told)
    if settings.quiet or "notifications" in document:
        if not isinstance(document.get("notifications"), dict):
            document["notifications"] = tomlkit.table()
        document["notifications"]["off"] = list(settings.quiet)
    write_atomically(path, tomlkit.dumps(document).encode())


def changed(settings: Settings, **changes: Any) -> Settings:
    """*settings* with valid *changes*. Raises ValueError for a value that the setting cannot have."""
    choices = {"theme": THEMES, "text_size": TEXT_SIZES, "contrast": CONTRASTS, "motion": MOTIONS}
    for name, allowed in choices.items():
        if name in changes and changes[name] not in allowed:
            raise ValueError(f"{name} is one of {allowed}, not {changes[name]!r}")
    return replace(settings, **changes)


def _words(value: object) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()


def _one_of(value: object, allowed: tuple[str, ...], default: str) -> str:
    return value if isinstance(value, str) and value in allowed else default


def _nearest_size(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 100
    return min(TEXT_SIZES, key=lambda size: abs(size - value))
