"""Axes: round tick values, and from values to pixels."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A linear map from values low .. high to pixels start .. end."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        width = self.high - self.low
        share = 0.5 if width == 0 else (value - self.low) / width
        return round(self.start + share * (self.end - self.start), 2)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values that cover low .. high from inside, about so many.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(0, 1340, 4)
    [0.0, 500.0, 1000.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / about
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A tick's label: no needless digits.

    >>> tick_text(0.2), tick_text(1500), tick_text(2e6), tick_text(0.0)
    ('0.2', '1,500', '2M', '0')
    """
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def clipped(text: str, characters: int) -> str:
    """The text, its end replaced by an ellipsis if it is longer."""
    return text if len(text) <= characters else text[: characters - 1] + "…"


def text_width(text: str) -> float:
    """About how many pixels a label takes at the charts' size of type; capitals are wider.

    >>> text_width("noun") < text_width("NOUN")
    True
    """
    return sum(8.8 if c.isupper() else 6.6 for c in text)
