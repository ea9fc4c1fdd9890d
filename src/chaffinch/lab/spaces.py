"""Where tuning looks: for each knob worth trying, the values or the range that settings are drawn from."""

import math
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from chaffinch.errors import ConfigError
from chaffinch.knobs import Knob
from chaffinch.lab.baseline import read_value, turned


class Space(Protocol):
    """Values to draw from."""

    def draw(self, chance: random.Random) -> Any:
        """One of them."""


@dataclass(frozen=True)
class Among:
    """One of a few values, each as likely as another."""

    values: tuple[Any, ...]

    def draw(self, chance: random.Random) -> Any:
        """One of them."""
        return self.values[int(chance.random() * len(self.values))]


@dataclass(frozen=True)
class Between:
    """A number between two, every order of magnitude as likely as another; rounded to two digits."""

    low: float
    high: float
    whole: bool = False

    def draw(self, chance: random.Random) -> Any:
        """One of them."""
        value = math.exp(math.log(self.low) + chance.random() * (math.log(self.high) - math.log(self.low)))
        return max(1, round(value)) if self.whole else float(f"{value:.2g}")


# The features as a whole, by the name of their preset: not a knob, but drawn like one.
FEATURES = "features"

# By the name of the knob; a recipe is tuned over those that it has.
SPACES: dict[str, Space] = {
    # how hard the weights are held
    "c1": Among((0.0, 0.0, 0.03, 0.1, 0.3)),
    "c2": Between(0.03, 10.0),
    "C": Between(0.02, 20.0),
    "l2": Between(1e-7, 1e-3),
    "alpha": Between(0.01, 3.0),
    "aggressiveness": Between(0.01, 1.0),
    # how far and how fast
    "epochs": Among((5, 10, 20, 30)),
    "rate": Between(0.003, 1.0),
    # what is counted
    "order": Among((1, 2)),
    "unknown": Among(("suffix", "classes")),
    "transition_smoothing": Among(("deleted", "add-k", "witten-bell", "kneser-ney")),
    "min_count": Among((1, 1, 2, 3)),
    # what a text is taken for
    FEATURES: Among(("words", "more-words", "words+characters", "mail", "sentences", "questions", "tf-idf")),
    "stopwords": Among(("none", "none", "english")),
    "stemming": Among(("none", "none", "stem")),
    "min_df": Among((1, 2, 2, 3)),
}


# Where a recipe means something else by a knob's name.
SPACES_OF: dict[str, dict[str, Space]] = {"maxent": {"l2": Between(0.003, 10.0)}}

# What the table would draw in vain: a recipe that looks at the knob only in some other of its ways.
IDLE = {"crf": ("rate",)} | dict.fromkeys(("ridge", "svm", "crammer-singer", "logistic"), ("epochs",))


def space_of(recipe: str, known: Mapping[str, Knob], fixed: Collection[str] = ()) -> dict[str, Space]:
    """What is tuned of a recipe: its knobs in the table, without those that the user fixed.

    >>> from chaffinch.kinds import TAGS
    >>> list(space_of("hmm", TAGS.settings_of("hmm"), fixed=["order"]))
    ['unknown', 'transition_smoothing']
    """
    found: dict[str, Space] = {}
    table = SPACES | SPACES_OF.get(recipe, {})
    if "ngram_high" in known and FEATURES not in fixed:
        found[FEATURES] = table[FEATURES]
    for k in known.values():
        if k.name not in table or k.name in fixed or k.name in IDLE.get(recipe, ()):
            continue
        space = table[k.name]
        if k.choices is not None and isinstance(space, Among):
            space = Among(tuple(v for v in space.values if v in k.choices))
        found[k.name] = space
    return found


def written_space(param: str, text: str, recipe: str, known: Mapping[str, Knob]) -> tuple[str, Space]:
    """The knob and the space that a user wrote: ``0.01..10`` for a range, ``a,b,c`` for a few values.

    >>> from chaffinch.kinds import TAGS
    >>> written_space("c2", "0.1..10", "crf", TAGS.settings_of("crf"))
    ('c2', Between(low=0.1, high=10.0, whole=False))
    """
    if ".." in text:
        low, _, high = text.partition("..")
        ends = [turned({param: read_value(param, end, recipe, known)}, recipe, known) for end in (low, high)]
        name = next(iter(ends[0]))
        a, b = ends[0][name], ends[1][name]
        if isinstance(a, str | bool) or not 0 < a < b:
            raise ConfigError(f"{param}: a range goes from a number above 0 to a larger one, got {text!r}")
        return name, Between(float(a), float(b), isinstance(a, int))
    values = [turned({param: read_value(param, v, recipe, known)}, recipe, known) for v in text.split(",")]
    name = next(iter(values[0]))
    return name, Among(tuple(v[name] for v in values))


def drawn(spaces: Mapping[str, Space], chance: random.Random) -> dict[str, Any]:
    """One setting of every knob."""
    return {name: space.draw(chance) for name, space in spaces.items()}
