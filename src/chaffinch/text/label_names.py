"""Names of labels that differ only in their spelling."""

import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence


def look_alikes(counts: Mapping[str, int]) -> dict[str, str]:
    """Each label mapped to the most frequent one that differs only in case, width, spaces or dashes.

    >>> look_alikes({"spam": 9, "Spam ": 2, "ham": 5, "a": 1, "A": 1})
    {'Spam ': 'spam'}
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for label in counts:
        groups[_folded(label)].append(label)
    found: dict[str, str] = {}
    for group in groups.values():
        usual = max(group, key=lambda label: counts[label])
        found |= {label: usual for label in group if label != usual}
    return found


def look_alike_remark(labels: Sequence[str]) -> str | None:
    """A remark on the labels that look alike; None if there are none.

    >>> look_alike_remark(["ham", "spam"]), look_alike_remark(["spam", "Spam "])[:41]
    (None, "the labels 'Spam ' and 'spam' differ only")
    """
    alike = look_alikes(dict.fromkeys(labels, 1))
    if not alike:
        return None
    pairs = [f"{a!r} and {b!r}" for a, b in list(alike.items())[:3]]
    more = f", and {len(alike) - 3} more pairs," if len(alike) > 3 else ""
    return (
        f"the labels {', '.join(pairs)}{more} differ only in case, spaces or dashes: they are learned as "
        "different labels; chaffinch doctor shows where they occur"
    )


def _folded(label: str) -> str:
    """The label without case, width and kind of dash; single letters, as of handwriting, keep their case."""
    plain = unicodedata.normalize("NFKC", label).strip()
    plain = plain.casefold() if len(plain) > 1 else plain
    return plain.replace("_", "-").replace(" ", "-") if plain.strip("_- ") else plain
