"""The sheet of a model of the Hugging Face Hub: what it is, its licence, and its way here."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from tpu_studio.gui.plan.fetch_sheet import FetchSheet
from tpu_studio.viewmodels.hubfetch import HubFetch, HubView

SENTENCE = "A language model on the Hugging Face Hub, as its owner publishes it."


class HubSheet(FetchSheet):
    def __init__(self, over: QWidget, model: HubFetch) -> None:
        name = model.state.value.name
        super().__init__(over, name, SENTENCE, page=lambda: model.state.value.card, stop=model.stop, noun="models")
        self._model = model
        self.put_facts()
        self.put_rest()
        self.follow(model.state.subscribe(self._draw), model.tick)

    def _go(self) -> None:
        token = self.token.text().strip()
        if self._model.state.value.entry is None:
            self._model.look_up(token)
        else:
            self._model.download(token)

    def _draw(self, view: HubView) -> None:
        self.draw_fetch(view, view.facts, wants_token=view.wants_token)
        self.go.setVisible(not view.doing and not view.whole)
        self.go.setText("Look up" if view.entry is None else "Download")
