"""What a classifier of texts may be told beside its recipe and its features."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob


@dataclass(frozen=True, kw_only=True)
class DocumentOptions:
    """Weights of labels, the threshold of several labels, the size of the file, word clusters, phrases."""

    class_weight: str | None = knob(
        None, "weights of the texts by label: balanced, or a list such as spam=2,ham=0.5"
    )
    threshold: float = knob(
        0.5, "several labels: the lowest probability at which a label is predicted", low=0.0, high=1.0
    )
    bits: int | None = knob(None, "bits per weight: 8 or 32; by default 8 if the recipe allows it", low=8)
    smallest: float | None = knob(
        None,
        "drop features whose largest absolute weight is below this fraction of the overall maximum",
        low=0.0,
        high=1.0,
    )
    calibrate: bool | None = knob(
        None,
        "compute out-of-fold scores, to calibrate probabilities and to drop only weights that cost no accuracy; "
        "by default yes",
    )
    choose: bool | None = knob(
        None,
        "choose features, recipe and penalty, as far as they are not given, by cross-validation within the training "
        "data; by default if no recipe is named",
    )
    clusters: str | None = knob(None, "file of word clusters: path, word")
    phrases: str | None = knob(
        None, "file of phrases with labels: trees with a label at every node, or short documents"
    )


def label_weights(written: str) -> str | dict[str, float]:
    """What a user wrote of class weights, as the classifier takes it.

    >>> label_weights("balanced"), label_weights("spam=2,ham=0.5")
    ('balanced', {'spam': 2.0, 'ham': 0.5})
    """
    if written == "balanced":
        return written
    found = {}
    for piece in written.split(","):
        name, equals, number = piece.strip().rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            equals = ""
        if not equals or not name or not 0 <= found[name] < inf:
            raise ConfigError(
                f"class_weight must be 'balanced' or a list such as 'spam=2,ham=0.5', got {piece.strip()!r}"
            )
    return found


def as_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are set, as arguments of the classifier; clusters and phrases belong to the features."""
    made = {name: v for name, v in options.items() if name not in ("clusters", "phrases") and v is not None}
    if "class_weight" in made:
        made["class_weight"] = label_weights(made["class_weight"])
    return made
