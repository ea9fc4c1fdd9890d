"""A smaller encoder: only the features that have weights, and only the strings that they contain."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.encoder import FeatureEncoder
from chaffinch.features.own import OwnFeatures
from chaffinch.features.templates import Template, parse

# Prefix of values that no kept feature has. Text never holds this character, so no word equals one of these values.
GONE = "\x00"


@dataclass(frozen=True)
class Reduction:
    """encoder: the smaller one   order: int64 [kept], the old id of each new feature"""

    encoder: FeatureEncoder
    order: NDArray[np.int64]


def reduced(
    encoder: FeatureEncoder, features: NDArray[np.bool_], observations: Sequence[NDArray[np.bool_]]
) -> Reduction:
    """Keep these features [F] and, for each label template, these observations; the others become unknown.

    >>> from chaffinch.text.table import TokenTable
    >>> encoder = FeatureEncoder(["w[0]", "w[-1]|w[0]"])
    >>> rows = encoder.fit(TokenTable.from_lists({"w": [["a", "b", "a"]]}))
    >>> kept = np.array([name.startswith("w[0]") for name in encoder.names(range(encoder.n_features))])
    >>> small = reduced(encoder, kept, []).encoder
    >>> small.n_features, small.names(small.transform([["a", "b"]]).ids)
    (2, ['w[0]=a', 'w[0]=b'])
    """
    own, before = encoder.own, features
    if own is not None:  # only the templates' features; the user's own follow below
        mine, number = own.split(np.flatnonzero(features))
        features = np.zeros(own.T, bool)
        features[number[~mine]] = True
    index = encoder.index()
    template, key = index.feature_template, index.feature_key
    kept = np.flatnonzero(features)
    order = kept[np.lexsort((key[kept], template[kept]))]
    bounds, keys = index.observation_ptr, index.observation_key
    seen = [keys[bounds[l] : bounds[l + 1]][mask] for l, mask in enumerate(observations)]
    at = order if own is None or own.place is None else own.place[order].astype(np.int64)
    used = _used_values(encoder, at, observations)
    smaller = replace(
        index,
        feature_template=template[order],
        feature_key=key[order],
        observation_ptr=np.cumsum([0, *map(len, seen)]).astype(bounds.dtype),
        observation_key=np.concatenate([*seen, keys[:0]]),
        values=tuple(_blanked(values, used.get(c)) for c, values in enumerate(index.values)),
    )
    if own is None:
        return Reduction(encoder.with_index(smaller, None), order)
    chosen = np.sort(number[mine]).astype(np.int32)
    left = OwnFeatures(
        own.index.kept(chosen),
        len(order),
        np.arange(len(order) + len(chosen), dtype=np.int32) if own.order is not None else None,
    )
    attributes = chosen + own.T
    which = np.concatenate([at, attributes if own.place is None else own.place[attributes]])
    assert len(which) == int(before.sum())
    return Reduction(encoder.with_index(smaller, left), which.astype(np.int64))


def _used_values(
    encoder: FeatureEncoder, features: NDArray[np.int64], observations: Sequence[NDArray[np.bool_]]
) -> dict[int, set[str]]:
    """The strings in the names of kept features and observations, by the number of the column computed from words."""
    by_column: dict[str, set[str]] = {}
    forms = {str(t): t for text in encoder.templates for t in parse(text)}
    singles = _by_first_mark([t for t in forms.values() if not t.label_offsets])
    for name in encoder.names(features.astype(np.int32)):
        _note(name, singles, by_column)
    for l, (mask, label) in enumerate(zip(observations, encoder.label_templates, strict=True)):
        seen = parse(label.text)[0].observed
        observed = _by_first_mark([Template(seen)] if seen else [])
        for o in np.flatnonzero(mask).tolist() if seen else ():
            _note(encoder.observation_name(l, o), observed, by_column)
    return {
        c: set().union(*(by_column.get(column, set()) for column in columns))
        for c, columns in encoder.value_columns().items()
    }


# Templates and the marks before their values in a feature's name, by the first mark: ``w[-1]=``, ``|w[0]=``.
Marks = dict[str, list[tuple[Template, list[str]]]]


def _by_first_mark(templates: Sequence[Template]) -> Marks:
    found: Marks = {}
    for template in templates:
        marks = [f"{'|' if i else ''}{atom}=" for i, atom in enumerate(template.atoms)]
        if template.window:
            marks = [f"{template}="]
        if marks:
            found.setdefault(marks[0], []).append((template, marks))
    return found


def _note(name: str, templates: Marks, by_column: dict[str, set[str]]) -> None:
    """Parse a feature's name by the template that made it; an ambiguous name counts under all that match."""
    first, _, _ = name.partition("=")
    for template, marks in templates.get(first + "=", ()):
        rest, values = name, []
        for mark in marks:
            before, found, rest = rest.partition(mark)
            if not found:
                break
            values.append(before)
        else:
            for atom, value in zip(template.atoms, [*values[1:], rest], strict=False):
                by_column.setdefault(atom.column, set()).add(value)


def _blanked(values: Sequence[str], used: set[str] | None) -> list[str]:
    if used is None:
        return list(values)
    return [value if value in used else f"{GONE}{i:x}" for i, value in enumerate(values)]
