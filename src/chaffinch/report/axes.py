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


@dataclass(frozen=True)
class LogScale(Scale):
    """The same of logarithms: equal factors are equally far apart. All values are above 0."""

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        return Scale(math.log(self.low), math.log(self.high), self.start, self.end)(math.log(value))


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten within low .. high; if they are fewer than three, round multiples of them too.

    >>> log_ticks(0.002, 300)
    [0.01, 0.1, 1.0, 10.0, 100.0]
    >>> log_ticks(0.15, 3)
    [0.2, 0.5, 1.0, 2.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for times in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 7)):
        found = [float(f"{m}e{d}") for d in decades for m in times if low <= float(f"{m}e{d}") <= high]
        if len(found) > 2:
            break
    return found


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values within low .. high, about as many as asked for.

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
