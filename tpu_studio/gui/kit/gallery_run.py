"""The gallery's run page: sidebar, stages, four numbers, four plots, what happened. All figures are invented."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, PageHeader, Scroll
from tpu_studio.gui.kit.events import EventLine, EventList
from tpu_studio.gui.kit.gallery_sheets import page_of
from tpu_studio.gui.kit.nav import NavItem, Sidebar
from tpu_studio.gui.kit.numbers import BigNumberRow
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.timeline import Stage, StageTimeline
from tpu_studio.gui.kit.tokens import Space

STAGES = (
    Stage("Queued", "done", "2 min"),
    Stage("Getting TPU", "done", "3 min 10 s"),
    Stage("Setting up", "done", "1 min 42 s"),
    Stage("Compiling", "done", "48 s"),
    Stage("Training", "current", "18 of about 30 min", 0.62, 2.6),
    Stage("Saving", "ahead", "about 20 s"),
    Stage("Cleaned up", "ahead", "about 1 min"),
)


def sidebar(chosen: str = "runs") -> Sidebar:
    bar = Sidebar(
        [
            NavItem("home", "Home", "house", "Ctrl+1"),
            NavItem("runs", "Runs", "activity", "Ctrl+2"),
            NavItem("compare", "Compare", "git-compare-arrows", "Ctrl+3"),
            NavItem("data", "Data", "database", "Ctrl+4"),
            NavItem("account", "Account & quota", "shield-check", "Ctrl+5"),
        ]
    )
    bar.select(chosen)
    bar.set_live("home", "Live")
    bar.show_money(True)
    bar.money.set_money("$4.12", 0.165, "Your monthly cap is $25.00")
    bar.person.set_person("Mina Reyes", "flowers-lab project")
    return bar


def run_page() -> QWidget:
    from tpu_studio.gui.plots.specimen import specimen_plots

    window = QWidget()
    window.resize(1440, 900)
    whole = QHBoxLayout(window)
    whole.setContentsMargins(0, 0, 0, 0)
    whole.setSpacing(0)
    whole.addWidget(sidebar())
    page, column = page_of(margin=Space.dashboard)
    whole.addWidget(page, 1)
    about = "Vision Transformer, small · Flowers, 102 kinds · Cloud TPU v5e, 8 chips, us-east5-b"
    column.addWidget(
        PageHeader(
            "flowers-vit-3",
            about,
            Pill("Training 62%", "accent", dot=True),
            Button("Share report", "quiet", icon="share"),
            Button("Stop & keep model", "danger", icon="square"),
        )
    )
    stages = Card(margins=(22, 15, 22, 13))
    stages.body.addWidget(StageTimeline(STAGES))
    column.addWidget(stages)
    four = BigNumberRow("Loss", "Speed", "Cost so far", "Time left")
    four.tile("Loss").set_number("0.412", "", "was 0.468 ten minutes ago", icon="trending-down", tone="ok")
    four.tile("Speed").set_number("3,184", "pictures/s", "34% below what this TPU can do", icon="gauge", tone="warn")
    four.tile("Cost so far").set_number("$1.84", "of $5.00", "about $2.75 at the end", share=0.37)
    four.tile("Time left").set_number("12", "min", "finishes at about 14:52", icon="clock")
    column.addWidget(four)
    plots = specimen_plots()
    upper, lower = QHBoxLayout(), QHBoxLayout()
    for line in (upper, lower):
        line.setSpacing(Space.gap)
    for key, stretch in (("curve", 6), ("quality", 5)):
        card = Card(margins=(19, 14, 19, 12))
        card.body.addWidget(plots[key])
        upper.addWidget(card, stretch)
    for key in ("speed", "cost"):
        card = Card(margins=(19, 14, 19, 12))
        card.body.addWidget(plots[key])
        lower.addWidget(card, 1)
    happened = Card(margins=(19, 14, 19, 12))
    happened.title("What happened", Button("Open full log", "link", size="small"), role="plot-title")
    said = EventList()
    said.set_lines(
        [
            EventLine("14:39", "save", "Saved a checkpoint (step 4,000)", "ok"),
            EventLine("14:36", "hourglass", "TPU is waiting for pictures", "warn"),
            EventLine("14:34", "trending-up", "New best validation accuracy: 84%", "ok"),
            EventLine("14:29", "save", "Saved a checkpoint (step 2,000)", "ok"),
            EventLine("14:21", "play", "First training step", "accent"),
            EventLine("14:20", "cpu", "Model built for the TPU in 48 s"),
        ]
    )
    happened.body.addWidget(Scroll(said), 1)
    lower.addWidget(happened, 1)
    column.addLayout(upper, 29)
    column.addLayout(lower, 27)
    return window
