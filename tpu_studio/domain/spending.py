"""What a run had spent when: its curve of dollars read both ways, so that any other curve can stand along the cost.

Used by the plots' axis *by cost* and by comparing. Pure; one thread at a time.
"""

from __future__ import annotations

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from tpu_studio.wire import metrics

Floats = npt.NDArray[np.float64]
_KNOTS: Final = 2000  # between which dollars grow evenly, as the guardian counts them
_EVER: Final = 1e300


class Dollars(Protocol):
    """A curve of what was spent so far, as the store keeps it (`workflow.ports.Curve`)."""

    @property
    def version(self) -> int: ...

    def __len__(self) -> int: ...

    def window(self, x_min: float, x_max: float, buckets: int, axis: str = "step") -> tuple[Floats, Floats, Floats]: ...


class Spending:
    """Seconds since 1970 to US dollars and back. What a damaged run tells beyond all figures counts as nothing, and
    dollars never fall."""

    def __init__(self, curve: Dollars) -> None:
        self.curve = curve
        self._version: int | None = None
        self._knots: tuple[Floats, Floats] = np.empty(0), np.empty(0)

    @property
    def is_known(self) -> bool:
        """Whether anything was spent at all: where time costs nothing there is no such axis."""
        return self.total > 0.0

    @property
    def total(self) -> float:
        """US dollars at the last report; 0 before the first."""
        _, dollars = self._read()
        return float(dollars[-1]) if len(dollars) else 0.0

    def at(self, t: Floats | float) -> Floats | float:
        """Dollars spent by *t*, seconds since 1970."""
        times, dollars = self._read()
        if not len(times):
            return t * 0.0
        spent = np.asarray(np.interp(t, times, dollars))
        return spent if spent.ndim else float(spent)

    def between(self, least: float, most: float) -> tuple[float, float]:
        """From when to when the dollars spent were *least* to *most*, or a little longer."""
        times, dollars = self._read()
        first = int(np.searchsorted(dollars, least, side="left")) - 1
        last = int(np.searchsorted(dollars, most, side="right"))
        return float(times[first]) if first >= 0 else -_EVER, float(times[last]) if last < len(times) else _EVER

    def when(self, usd: float) -> float:
        """The last moment by which no more than *usd* was spent, seconds since 1970."""
        times, dollars = self._read()
        last = int(np.searchsorted(dollars, usd, side="right"))
        if last in (0, len(times)):
            return _EVER if last else -_EVER
        share = (usd - dollars[last - 1]) / (dollars[last] - dollars[last - 1])
        return float(times[last - 1] + share * (times[last] - times[last - 1]))

    def _read(self) -> tuple[Floats, Floats]:
        if self._version != self.curve.version:
            self._version = self.curve.version
            times, _, dollars = self.curve.window(-_EVER, _EVER, _KNOTS, "time")
            good = np.isfinite(dollars) & (np.abs(dollars) <= metrics.LARGEST)
            self._knots = times[good], np.maximum.accumulate(np.maximum(dollars[good], 0.0))
        return self._knots
