"""The catalogues that count in this process: what came with the program, and what Google told since.

Prices and offers are read in the background (``places``) and put here; whoever makes a plan hands in `catalogues`. The
planner itself knows nothing of this (an import contract): its catalogue is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping

from tpu_studio.domain.catalogue import Catalogue, Catalogues, catalogue

_files: dict[str, dict[str, Mapping[str, object]]] = {}
_renewed: dict[str, Catalogue] = {}


def catalogues() -> Catalogues:
    """As they are now; what is renewed later is not in it."""
    return Catalogues(catalogue(), dict(_renewed))


def catalogue_at(place: str) -> Catalogue:
    return catalogues().at(place)


def use(place: str, files: Mapping[str, Mapping[str, object] | None]) -> None:
    """From now on *place* has these files of the catalogue; None: the one that came with the program again."""
    kept = {name: file for name, file in {**_files.get(place, {}), **files}.items() if file is not None}
    _files[place], _renewed[place] = kept, Catalogue(kept)


def forget_renewed() -> None:
    """Every place has the catalogue that came with the program."""
    _files.clear()
    _renewed.clear()
