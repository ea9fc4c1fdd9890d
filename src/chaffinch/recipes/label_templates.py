"""Templates over decided labels that go with a set of features where it has none of its own."""

from collections.abc import Sequence

from chaffinch.features.templates import FeatureSet


def observed_with(features: FeatureSet) -> list[str]:
    """What label templates look at beside labels: the stem where the features have stems, else the word; the tag."""
    read = {atom.column for template in features.templates for atom in template.atoms}
    return ["stem[0]" if "stem" in read else "lower[0]", *(["pos[0]"] if "pos" in read else [])]


def label_templates(window: int, both_sides: bool, observed: Sequence[str]) -> list[str]:
    """Templates over decided labels: the nearest one, two ... ``window``, the second alone, and with what is observed.

    >>> label_templates(3, False, ["stem[0]"])
    ['y[-1]', 'y[-2]|y[-1]', 'y[-3]|y[-2]|y[-1]', 'y[-2]', 'y[-1]|stem[0]']
    """
    if window == 0:
        return []
    made = []
    for sign in (-1, 1) if both_sides else (-1,):
        for n in range(1, window + 1):
            made.append("|".join(f"y[{o}]" for o in sorted(sign * d for d in range(1, n + 1))))
        made += [f"y[{2 * sign}]"] if window > 1 else []
        made += [f"y[{sign}]|{o}" for o in observed]
    if both_sides:
        made += ["y[-1]|y[1]", *(f"y[-1]|y[1]|{o}" for o in observed)]
    return made
