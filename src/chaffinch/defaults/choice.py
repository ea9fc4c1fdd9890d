"""The record of a choice of settings by cross-validation within the training data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class DefaultChoice:
    """The chosen settings, their out-of-fold accuracy, and the other candidates.

    accuracy, error: the out-of-fold accuracy on the training examples, and its standard error
    folds:           the number of folds; 0: a third of the examples was held out
    examples, whole: the number of these examples, and of all in the training data; 0: the same
    tried, sample:   the accuracy of other candidates, and the number of examples it was measured on
    unit, measure:   the name of the examples; the name of the measure, empty for plain accuracy
    """

    features: str
    recipe: str
    settings: Mapping[str, Any]
    accuracy: float
    error: float
    folds: int
    examples: int
    sample: int
    tried: Mapping[str, float] = field(default_factory=dict)
    unit: str = "documents"
    measure: str = ""
    whole: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a model file."""
        own = {
            name: value
            for name, value in vars(self).items()
            if name not in ("examples", "unit", "measure", "whole")
        }
        named = {"measure": self.measure} if self.measure else {}
        return {
            **own,
            self.unit: self.examples,
            **named,
            "settings": dict(self.settings),
            "tried": dict(self.tried),
            "told": self.summary(),
        }

    def summary(self) -> str:
        """The choice in one line.

        >>> chosen = DefaultChoice("sentences", "ridge", {"C": 0.3}, 0.431, 0.009, 5, 8544, 8544, {"words": 0.38})
        >>> chosen.summary()
        'chose sentences, ridge, C 0.3: 43.1 % ± 0.9 in 5 folds of the training data; words 38.0'
        """
        settings = "".join(f", {name} {value:g}" for name, value in self.settings.items())
        order = sorted(self.tried, key=lambda name: -self.tried[name])
        if self.sample == self.examples:
            order = [name for name in order if name != self.features]
        rest = ", ".join(f"{name} {100 * self.tried[name]:.1f}" for name in order)
        where = "" if self.sample == self.examples else f"on {self.sample:,} {self.unit}: "
        measure = f"{self.measure} " if self.measure else ""
        part = "" if self.whole in (0, self.examples) else f"{self.examples:,} {self.unit} of "
        folds = f"in {self.folds} folds" if self.folds else "on a held-out third"
        return (
            f"chose {self.features}, {self.recipe}{settings}: {measure}{100 * self.accuracy:.1f} % ± "
            f"{100 * self.error:.1f} {folds} of {part}the training data"
            + (f"; {where}{rest}" if rest else "")
        )
