"""Settings: how it looks, the training engine, folders, consents, and what this app is. Draws `SettingsView`."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import shiboken6
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio import __version__
from tpu_studio.gui.engine.panel import EnginePanel
from tpu_studio.gui.kit import focus
from tpu_studio.gui.kit.brand import BrandMark
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, Divider, PageHeader, Scroll, clear_layout
from tpu_studio.gui.kit.choose import Segmented, SwitchRow
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.settings.licences import open_licences
from tpu_studio.gui.settings.taught import TaughtCard
from tpu_studio.viewmodels.engine import EngineViewModel
from tpu_studio.viewmodels.news import KINDS
from tpu_studio.viewmodels.runs import RunsViewModel
from tpu_studio.viewmodels.settings import Agreed, Folder, SettingsView, SettingsViewModel
from tpu_studio.viewmodels.settings_file import TEXT_SIZES
from tpu_studio.viewmodels.shell import ShellViewModel

WIDTH = 760
PRIVACY = (
    "Apache License 2.0. No telemetry. Your data leaves this computer only for a TPU that you "
    "rent or a notebook that you take to Colab, and then to your own account at Google."
)

NOTIFIED = (
    "While you look at something else, where the desktop has them. The window's own notices come all the same. "
    "On Windows they come from an icon in the tray; that has not been seen there yet."
)
NOT_SHOWN = "The desktop did not show it."
_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class SettingsPage(QWidget):
    def __init__(
        self,
        model: SettingsViewModel,
        engine: EngineViewModel,
        shell: ShellViewModel,
        runs: RunsViewModel,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._model, self._shell = model, shell
        self.problem = Note("", "", "bad")
        self.note = Note("About your settings file", "", "warn")

        self.theme = Segmented([("system", "Match system"), ("light", "Light"), ("dark", "Dark")], name="Light or dark")
        self.theme.changed.connect(lambda key: model.set(theme=key))
        levels = [("system", "Match system"), ("normal", "Usual"), ("high", "High")]
        self.contrast = Segmented(levels, name="Contrast")
        self.contrast.changed.connect(lambda key: model.set(contrast=key))
        self.text_size = Segmented([(str(size), f"{size}%") for size in TEXT_SIZES], "100", name="Text size")
        self.text_size.changed.connect(lambda key: model.set(text_size=int(key)))
        self.motion = Segmented([("system", "Match system"), ("full", "On"), ("reduced", "Off")], name="Animations")
        self.motion.changed.connect(lambda key: model.set(motion=key))
        look = _section("Appearance")
        for title, help, control in (
            ("Light or dark", "Some Linux desktops do not say; then it is light.", self.theme),
            ("Contrast", "High: stronger lines and words, and outlines in place of tints.", self.contrast),
            ("Text size", "Everything grows with it. Ctrl++, Ctrl+- and Ctrl+0 work anywhere.", self.text_size),
            ("Animations", "Fades and gliding bars.", self.motion),
        ):
            look.body.addLayout(_line(title, help, control))

        tell = _section("Desktop notifications")
        tell.body.addWidget(Text(NOTIFIED, "secondary", "text_2"))
        self.shown_by = Text("", "secondary", "text_2", align=_MIDDLE)
        self.show_one = Button("Show one now", size="small")
        self._here = QWidget()
        here = QHBoxLayout(self._here)
        here.setContentsMargins(0, 0, 0, 0)
        here.setSpacing(Space.l)
        here.addWidget(self.shown_by, 1)
        here.addWidget(self.show_one)
        self._here.hide()
        tell.body.addWidget(self._here)
        self.kinds = {kind: SwitchRow(title, text, True) for kind, (title, text) in KINDS.items()}
        for kind, switched in self.kinds.items():
            switched.toggled.connect(partial(self._tell, kind))
            tell.body.addWidget(switched)

        engine_card = _section("Training engine")
        self.engine = EnginePanel(engine)
        engine_card.body.addWidget(self.engine)

        self._folder_card = _section("Folders")
        self._folders = QVBoxLayout()
        self._folders.setSpacing(Space.l)
        self._folder_card.body.addLayout(self._folders)
        self._drawn_folders: tuple[Folder, ...] = ()

        self._consent_card = _section("Your own model files that may run")
        self._consents = QVBoxLayout()
        self._consents.setSpacing(Space.l)
        self._consent_card.body.addLayout(self._consents)
        self._drawn_consents: tuple[Agreed, ...] | None = None

        self.taught = TaughtCard(runs)

        about = _section("About")
        row = QHBoxLayout()
        row.setSpacing(Space.gap)
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(Line(f"TPU Studio {__version__}", "row-title"))
        words.addWidget(Text(PRIVACY, "secondary", "text_2"))
        licences = Button("Licences…", size="small", icon="file-text")
        licences.clicked.connect(lambda: open_licences(self))
        row.addWidget(BrandMark(side=40), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        row.addWidget(licences, 0, Qt.AlignmentFlag.AlignVCenter)
        about.body.addLayout(row)

        inside = QWidget()
        inside.setObjectName("scrolled")
        column = QVBoxLayout(inside)
        column.setContentsMargins(Space.page, 26, Space.page, Space.xl)
        column.setSpacing(Space.xl)
        column.addWidget(PageHeader("Settings", "How the app looks, and where it keeps what is yours."))
        for widget in (
            self.problem,
            self.note,
            look,
            tell,
            engine_card,
            self._folder_card,
            self._consent_card,
            self.taught,
            about,
        ):
            column.addWidget(widget)
        column.addStretch(1)
        self._inside, self._tabs = inside, focus.TabOrder(column)
        holder = QWidget()
        middle = QHBoxLayout(holder)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.addWidget(inside, 10)
        middle.addStretch(1)
        inside.setMaximumWidth(soft_px(WIDTH) + 2 * Space.page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(Scroll(holder))
        self._end = model.state.subscribe(self._draw)
        self.destroyed.connect(lambda: self._end())

    def offer_notifications(self, way: str, show: Callable[[Callable[[bool], None]], None] | None) -> None:
        """*way*: what shows them here; *show* shows one, and says whether the desktop did. None: nothing can."""

        def shown(done: bool) -> None:
            if shiboken6.isValid(self):
                self.shown_by.setText(way if done else f"{NOT_SHOWN} {way}")

        self.shown_by.setText(way)
        self.show_one.setVisible(show is not None)
        if show is not None:
            self.show_one.clicked.connect(lambda: show(shown))
        self._here.show()

    def _tell(self, kind: str, on: bool) -> None:
        off = [one for one in self._model.state.value.settings.quiet if one != kind]
        self._model.set(quiet=tuple(off if on else [*off, kind]))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._model.measure()

    def refresh(self) -> None:
        self._model.measure()

    def _draw(self, view: SettingsView) -> None:
        self._inside.setMaximumWidth(soft_px(WIDTH) + 2 * Space.page)
        self.theme.set_value(view.settings.theme)
        self.contrast.set_value(view.settings.contrast)
        self.text_size.set_value(str(view.settings.text_size))
        self.motion.set_value(view.settings.motion)
        for kind, switched in self.kinds.items():
            switched.setChecked(kind not in view.settings.quiet)
        self.note.setVisible(bool(view.note))
        self.note.set_words("About your settings file", view.note)
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        if view.folders != self._drawn_folders:
            self._drawn_folders = view.folders
            self._draw_folders(view.folders)
        if view.agreed != self._drawn_consents:
            self._drawn_consents = view.agreed
            self._draw_consents(view.agreed or ())
        self._consent_card.setVisible(bool(view.agreed))
        self._tabs.follow()

    def _draw_folders(self, folders: tuple[Folder, ...]) -> None:
        clear_layout(self._folders)
        for place, folder in enumerate(folders):
            if place:
                self._folders.addWidget(Divider())
            opened = Button("Open", size="small", name=f"Open the folder of {folder.title.lower()}")
            opened.clicked.connect(lambda _=False, folder=folder: self._open(folder))
            size = Line(folder.size, "label", "text_2", numbers=True, fit=True)
            row = QHBoxLayout()
            row.setSpacing(Space.xl)
            row.addLayout(_words(folder.title, folder.help, str(folder.path)), 1)
            row.addWidget(size)
            row.addWidget(opened)
            self._folders.addLayout(row)

    def _draw_consents(self, agreed: tuple[Agreed, ...]) -> None:
        clear_layout(self._consents)
        for place, one in enumerate(agreed):
            if place:
                self._consents.addWidget(Divider())
            revoke = Button("Ask again next time", size="small", name=f"Ask again before {one.name} runs")
            revoke.clicked.connect(lambda _=False, one=one: self._model.revoke(one.sha256))
            when = time.strftime("%d %B %Y", time.localtime(one.agreed)) if one.agreed else ""
            row = QHBoxLayout()
            row.setSpacing(Space.xl)
            row.addLayout(
                _words(
                    one.name,
                    f"Agreed {when}. It holds for exactly this content of the file."
                    if when
                    else "It holds for exactly this content of the file.",
                    one.path,
                ),
                1,
            )
            row.addWidget(revoke)
            self._consents.addLayout(row)

    def _open(self, folder: Folder) -> None:
        if not folder.path.exists():
            self._shell.notify(
                "That folder is not there yet",
                f"{folder.title} appear with your first run."
                if folder.title == "Runs"
                else "It is made when it is first needed.",
            )
            return
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder.path)))


def _section(title: str) -> Card:
    card = Card(margins=(20, 16, 20, 18), spacing=Space.gap)
    card.title(title)
    return card


def _words(title: str, help: str, mono: str = "") -> QVBoxLayout:
    words = QVBoxLayout()
    words.setSpacing(Space.hair)
    words.addWidget(Text(title, "label-strong"))
    words.addWidget(Text(help, "secondary", "text_2"))
    if mono:
        words.addWidget(Line(mono, "mono", "text_2"))
    return words


def _line(title: str, help: str, control: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(Space.xl)
    row.addLayout(_words(title, help), 1)
    row.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
    return row
