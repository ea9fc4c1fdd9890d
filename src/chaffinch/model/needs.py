"""The needs of labels in a model file: rules such as ``B needs A``, as the header records them."""

from collections.abc import Sequence
from dataclasses import dataclass

from chaffinch.errors import ConfigError
from chaffinch.model.labels import LabelSet
from chaffinch.modelfile import Requirements, Saved, fact, listed_strings
from chaffinch.search.legality import Need, parsed_needs


@dataclass(frozen=True)
class SavedNeeds(Saved):
    """The needs, each in the notation of the setting ``need``."""

    needs: Sequence[str] = fact(
        list, check=listed_strings, expected="a list of rules", group="legality", default=(), omit=True
    )

    @classmethod
    def of(cls, needs: Sequence[Need]) -> "SavedNeeds":
        """The needs as text."""
        return cls(tuple(map(str, needs)))


def loaded_needs(need: Requirements, labels: LabelSet | None = None) -> tuple[Need, ...]:
    """The needs of a file, checked; labels: those that they may name, if these are known."""
    try:
        needs = parsed_needs(", ".join(SavedNeeds.loaded(need).needs))
    except ConfigError as e:
        raise need.fault(f"its rules are damaged: {e}") from None
    if labels is not None and any(not {n.label, n.needs, n.since} <= {*labels.outer, None} for n in needs):
        raise need.fault("its rules name labels that it does not have")
    return needs
