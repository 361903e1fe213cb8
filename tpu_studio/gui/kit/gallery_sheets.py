"""The sheets of the gallery, and what the kit's tests lay out at 150%. Figures, names and prices are invented."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.bars import MemoryBar, MemoryPart, ProgressBar, QuotaBar
from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.card import Card, Divider, FactRow, PageHeader, Strip, Surface
from tpu_studio.gui.kit.choose import CheckBox, ChoiceCard, ChoiceGroup, Segmented, SwitchRow
from tpu_studio.gui.kit.events import EventLine, EventList
from tpu_studio.gui.kit.explainer import Explainer, Help
from tpu_studio.gui.kit.fields import ComboBox, Field, LineEdit
from tpu_studio.gui.kit.notice import Notice
from tpu_studio.gui.kit.numberedit import DecimalBox, SpinBox
from tpu_studio.gui.kit.pill import IconTile, Pill
from tpu_studio.gui.kit.rail import Step, StepRail
from tpu_studio.gui.kit.rows import CheckRow, Note, SummaryRow
from tpu_studio.gui.kit.slider import MoneySlider
from tpu_studio.gui.kit.spark import SparkLine
from tpu_studio.gui.kit.states import DropZone, EmptyState, Loading, Skeleton, WayOut
from tpu_studio.gui.kit.table import Cell, Column, Table
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.tokens import Space

_CURVE = (3.3, 2.4, 1.9, 1.5, 1.3, 1.1, 1.0, 0.85, 0.8, 0.7, 0.72, 0.62, 0.6, 0.55, 0.58, 0.5, 0.52, 0.47, 0.5, 0.45)


def row_of(*widgets: QWidget, stretch: bool = True) -> QLayout:
    row = QHBoxLayout()
    row.setSpacing(Space.m)
    for widget in widgets:
        row.addWidget(widget)
    if stretch:
        row.addStretch(1)
    return row


def page_of(width: int = 1440, height: int = 900, margin: int = Space.page) -> tuple[QWidget, QVBoxLayout]:
    window = Surface()
    window.resize(width, height)
    column = QVBoxLayout(window)
    column.setContentsMargins(margin, Space.card, margin, Space.card)
    column.setSpacing(Space.gap)
    return window, column


def controls() -> QWidget:
    window, column = page_of()
    column.addWidget(
        PageHeader("Controls", "Buttons, choices and fields.", Button("Share report", "quiet", icon="share"))
    )
    wide = QHBoxLayout()
    wide.setSpacing(Space.gap)
    column.addLayout(wide, 1)
    left, right = Card(), Card()
    wide.addWidget(left, 3)
    wide.addWidget(right, 2)
    off = Button("Not yet")
    off.setEnabled(False)
    left.body.addLayout(
        row_of(
            Button("Start training", "primary", icon="play"),
            Button("Stop & keep model", "danger", icon="square"),
            Button("Check again", icon="refresh-cw"),
            Button("Save as template", "quiet"),
            off,
        )
    )
    left.body.addLayout(
        row_of(
            Button("Change", size="small"),
            Button("Try us-west4-a", "primary", size="small"),
            Button("Use recommended", "link", icon="wand-sparkles"),
            IconButton("settings", "Settings"),
            IconTile("laptop", "ok"),
            IconTile("cloud", "violet"),
        )
    )
    left.body.addLayout(
        row_of(
            Pill("Finished", "ok"),
            Pill("Training 62%", "accent", dot=True),
            Pill("Input-bound 34%", "warn", icon="hourglass"),
            Pill("Failed", "bad"),
            Pill("Stopped by you"),
        )
    )
    grid = QGridLayout()
    grid.setHorizontalSpacing(Space.card)
    grid.setVerticalSpacing(Space.l)
    for index in range(2):
        grid.setColumnStretch(index, 1)
    wrong = Field("Learning rate", DecimalBox(0.001, suffix="recommended"), explain=True)
    wrong.set_error("Above 1 the loss explodes. 0.001 is a safe start.")
    fields = (
        Field("Batch size", SpinBox(1000, 1, 65_536), "Pictures per step; 125 on each chip", explain=True),
        Field("Epochs", SpinBox(30, 1, 1000, suffix="passes"), "246,000 pictures in all", explain=True),
        wrong,
        Field(
            "Precision",
            Segmented([("bf16", "bfloat16"), ("f32", "float32")], name="Precision"),
            "Half the memory, same accuracy here",
            explain=True,
        ),
        Field("Optimizer", ComboBox([("adamw", "AdamW"), ("sgd", "SGD")])),
        Field("Search", LineEdit(placeholder="Find a run", icon="search")),
    )
    for index, field in enumerate(fields):
        grid.addWidget(field, index // 2, index % 2)
    left.body.addLayout(grid)
    cards = [
        ChoiceCard("v5e · 8 chips", "Good first choice", "34 min · $2.10–2.90"),
        ChoiceCard("v6e · 8 chips", "Twice as fast", "16 min · $2.60–3.50"),
        ChoiceCard("v5e · 1 chip", "Cheapest per hour", "4 h 20 · $2.70–3.60", icon="cpu"),
    ]
    group = ChoiceGroup(cards, name="Chips")
    group.set_value("v5e · 8 chips")
    left.body.addWidget(group)
    left.body.addWidget(SwitchRow("Rent it as spot", "About 55% cheaper. Google may take it back.", True))
    left.body.addWidget(SwitchRow("Early stopping", "After 5 checks without a better result.", False))
    left.body.addWidget(CheckBox("Keep Research & Development copies", True))
    left.body.addStretch(1)
    right.title("Estimate", Pill("Up to date"))
    right.body.addWidget(Line("$2.10 – $2.90", "big-number"))
    right.body.addWidget(Text("about 34 minutes on 8 chips", "secondary", "text_2"))
    slider = MoneySlider(5, 10, name="Spending limit")
    slider.set_estimate(2.1, 2.9)
    right.body.addWidget(FactRow("Spending limit", "$5.00"))
    right.body.addWidget(slider)
    right.body.addWidget(Divider())
    right.body.addWidget(FactRow("Each chip gets", "125 pictures per step"))
    right.body.addWidget(FactRow("Speed", "2,900 – 3,600 pictures/s"))
    memory = MemoryBar()
    memory.set_memory(
        [MemoryPart("Weights", 1.9e9), MemoryPart("Optimizer", 3.5e9), MemoryPart("Pictures", 4.4e9)],
        16e9,
        "9.8 of 16 GB",
    )
    right.body.addWidget(FactRow("Memory on each chip", "9.8 of 16 GB"))
    right.body.addWidget(memory)
    note = "1,000 does not divide into blocks of 128. 1,024 is 2% faster for the same price."
    right.body.addWidget(Note("Chips are part idle", note, "warn", action="Use 1,024"))
    right.body.addStretch(1)
    right.body.addWidget(Button("Start training", "primary", size="main", icon="play").stretch())
    right.body.addWidget(Text("Nothing is charged until the TPU starts.", "caption", "text_3"))
    return window


def rows() -> QWidget:
    window, column = page_of()
    column.addWidget(Strip("Practice: nothing here is real"))
    head = QHBoxLayout()
    head.setSpacing(Space.card)
    column.addLayout(head)
    rail = StepRail(4)
    rail.set_steps(
        [
            Step("model", "Model", "ViT, small", "done"),
            Step("data", "Data", "Flowers", "done"),
            Step("settings", "Settings", "2 suggestions", "current", "warn"),
            Step("where", "Where", "Cloud TPU v5e"),
        ]
    )
    head.addWidget(rail, 1)
    summaries = QVBoxLayout()
    summaries.setSpacing(Space.l)
    head.addLayout(summaries, 5)
    summaries.addWidget(
        SummaryRow("Model", "Vision Transformer, small", "22 million weights · good first choice", icon="brain")
    )
    summaries.addWidget(
        SummaryRow("Data", "Flowers, 102 kinds", "8,189 pictures · 330 MB · in your bucket", icon="images")
    )
    finding = "The only difference is twice the batch size."
    summaries.addWidget(Note("flowers-vit-3 is the best so far", finding, action="Plan the next run from this one"))
    summaries.addStretch(1)
    card = Card(margins=1)
    table = Table(
        [
            Column("Run"),
            Column("Status", 130),
            Column("Where", 210),
            Column("Loss over time", 130),
            Column("Accuracy", 100, "number"),
            Column("Cost", 90, "number"),
        ],
        name="Recent runs",
        all_rows=True,
    )
    long = "a-run-with-a-very-long-name-that-somebody-typed-in-one-go-because-they-could-7"
    table.set_rows(
        [
            (str(index), _table_row(name, status, kind))
            for index, (name, status, kind) in enumerate(
                [
                    ("flowers-vit-3", "Training 62%", "accent"),
                    (long, "Finished", "ok"),
                    ("reviews-bert", "Stopped", "neutral"),
                ]
            )
        ]
    )
    card.body.addWidget(table)
    column.addWidget(card)
    low = QHBoxLayout()
    low.setSpacing(Space.gap)
    column.addLayout(low)
    check = Card(margins=(1, 1, 1, 8), spacing=0)
    check.body.addWidget(CheckRow("Signed in", "mina@flowers-lab.example", state="Done"))
    request = "Your role is Viewer. Ask the owner for “TPU Admin”."
    check.body.addWidget(
        CheckRow(
            "You may not create TPUs yet",
            request,
            icon="circle-x",
            tone="bad",
            action="Write to the owner",
            blocking=True,
        )
    )
    low.addWidget(check, 3)
    bars = Card()
    bars.title("Quota")
    for used, allowed in ((8, 16), (28, 32), (0, 0)):
        bars.body.addWidget(QuotaBar(used, allowed, name="us-east5-b, on-demand"))
    bars.body.addWidget(ProgressBar(0.62, name="Progress"))
    bars.body.addWidget(SparkLine(_CURVE, "Loss fell from 3.3 to 0.45"))
    low.addWidget(bars, 2)
    column.addStretch(1)
    return window


def _table_row(name: str, status: str, kind: str) -> list[Cell | str]:
    return [
        Cell(name, "Vision Transformer, small", strong=True),
        Cell(status, pill=kind, dot=kind == "accent"),
        Cell("Cloud TPU v5e · 8 chips", icon="cloud"),
        Cell(spark=_CURVE, words="Loss fell from 3.3 to 0.45"),
        Cell("83.6%"),
        Cell("$1,234.56"),
    ]


def states() -> QWidget:
    window, column = page_of()
    column.addWidget(PageHeader("States", "How empty, loading, error, confirm, explain and notices look."))
    grid = QGridLayout()
    grid.setSpacing(Space.gap)
    column.addLayout(grid, 1)
    for index in range(3):
        grid.setColumnStretch(index, 1)
    empty = Card(margins=0)
    text = "Your first one takes about two minutes and costs nothing."
    empty.body.addWidget(
        EmptyState(
            "No runs yet", text, action="Train a tiny model here", action_icon="play", alternative="Take the tour"
        )
    )
    grid.addWidget(empty, 0, 0)
    busy = Card()
    loading = Loading("Checking what your project may use", usual="Usually done in 10 seconds.", stop="Stop checking")
    loading.set_progress(0.36, "4 of 11 zones")
    for shapes in loading.findChildren(Skeleton):
        shapes.show_now()
    busy.body.addWidget(loading)
    busy.body.addStretch(1)
    grid.addWidget(busy, 0, 1)
    error = Card()
    error.title("Google has no free v5e right now in us-east5-b")
    error.body.addWidget(
        Text("This is about supply, not about your account. Nothing was charged.", "secondary", "text_2")
    )
    error.body.addWidget(WayOut(1, "Try us-west4-a", "Free chips seen 4 minutes ago. Same price.", "Try us-west4-a"))
    error.body.addWidget(WayOut(2, "Wait in line here", "We ask every 2 minutes for up to 3 hours.", "Wait in line"))
    error.body.addWidget(WayOut(3, "Train on this computer instead", "About 3 h 10. Free.", "Train here"))
    error.body.addStretch(1)
    grid.addWidget(error, 0, 2)
    drop = Card()
    drop.body.addWidget(DropZone("Drop pictures here", "A folder with one folder inside for each kind."))
    notice = Notice("Deleted flowers-vit-1", "It stays in the trash for 30 days.", "ok", action="Undo")
    drop.body.addWidget(notice)
    drop.body.addStretch(1)
    grid.addWidget(drop, 1, 0)
    told = "The TPU finishes each step and then waits for the next pictures. A third of what you pay for is waiting."
    explainer = Explainer(
        "Input-bound",
        told,
        [
            Help("Keep the small pictures in memory", "Do it next run", "cache"),
            Help("Store the data near the TPU", "Copy it", "copy"),
        ],
        badge=("34%", "warn"),
    )
    grid.addWidget(_inside(explainer), 1, 1, 1, 2)
    said = EventList()
    said.set_lines(
        [
            EventLine("14:39", "save", "Saved a checkpoint (step 4,000)", "ok"),
            EventLine("14:36", "hourglass", "TPU is waiting for pictures", "warn"),
            EventLine("14:20", "cpu", "Model built for the TPU in 48 s"),
        ]
    )
    happened = Card()
    happened.title("What happened", Button("Open full log", "link", size="small"), role="plot-title")
    happened.body.addWidget(said)
    happened.body.addStretch(1)
    grid.addWidget(happened, 2, 1, 1, 2)
    return window


def _inside(floating: QWidget) -> QWidget:
    """A dialog or popup laid into the sheet as if it stood there."""
    from PySide6.QtCore import Qt

    floating.setWindowFlags(Qt.WindowType.Widget)
    return floating


def settle(sheet: QWidget) -> None:
    """Grow to what the words need (a real page scrolls), and bring plots up to date without waiting for their beat."""
    layout = sheet.layout()
    if layout is not None:
        sheet.resize(sheet.width(), max(sheet.height(), layout.totalHeightForWidth(sheet.width())))
        layout.activate()
    for child in sheet.findChildren(QWidget):
        refresh = getattr(child, "refresh", None)
        if callable(refresh) and hasattr(child, "drawn"):
            refresh()
            refresh()
