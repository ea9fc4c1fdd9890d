"""Observations of label templates (``stem[0]`` of ``y[-1]|stem[0]``), and the names of contexts of labels.

Templates that observe the same share their observations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.rows import FeatureRows
from chaffinch.features.templates import parse
from chaffinch.model.encoders import TemplateEncoder
from chaffinch.model.evidence import Named, Seen
from chaffinch.scorers.contexts import ContextTemplate, context_keys


def native_templates(encoder: TemplateEncoder) -> list[ContextTemplate]:
    """For each label template its offsets, its number of observations, and their column (-1: none)."""
    columns = observed(encoder)
    return [
        ContextTemplate(list(t.offsets), max(1, t.n_observations), list(columns).index(seen) if seen else -1)
        for t, seen in zip(
            encoder.features.label_templates, map(_observed_part, _texts(encoder)), strict=True
        )
    ]


def observations(encoder: TemplateEncoder, rows: FeatureRows) -> NDArray[np.int32]:
    """The observations of label templates, each column once: templates that differ only in labels share one."""
    return np.ascontiguousarray(rows.observations[:, list(observed(encoder).values())])


def observed(encoder: TemplateEncoder) -> dict[str, int]:
    """The distinct observations of label templates, with the first template that has each."""
    first: dict[str, int] = {}
    for number, text in enumerate(_texts(encoder)):
        if seen := _observed_part(text):
            first.setdefault(seen, number)
    return first


def used_observations(
    encoder: TemplateEncoder, template: NDArray[np.int32], seen: NDArray[np.int64]
) -> list[NDArray[np.bool_]]:
    """The observations of each label template that are in use; templates that observe the same share them."""
    templates = encoder.features.label_templates
    parts = [_observed_part(text) for text in _texts(encoder)]
    masks = {part: np.zeros(max(1, t.n_observations), bool) for part, t in zip(parts, templates, strict=True)}
    for l, part in enumerate(parts):
        masks[part][seen[template == l]] = True
    if "" in masks:
        masks[""][:] = True
    return [masks[part] for part in parts]


def _texts(encoder: TemplateEncoder) -> list[str]:
    return [t.text for t in encoder.features.label_templates]


@cache
def _observed_part(text: str) -> str:
    """A label template without its labels: ``stem[0]`` of ``y[-1]|stem[0]``."""
    return "|".join(map(str, parse(text)[0].observed))


SYMBOLS = ("<s>", "</s>", "?")  # before the start, after the end, not yet decided


@dataclass(frozen=True, eq=False)
class Contexts:
    """The contexts that have weights: those seen at a position, and their names.

    labels: inner   template, key: of each context
    """

    encoder: TemplateEncoder
    labels: tuple[str, ...]
    template: NDArray[np.int32]
    key: NDArray[np.uint64]

    @cached_property
    def _row(self) -> dict[tuple[int, int], int]:
        every = zip(self.template.tolist(), self.key.tolist(), strict=True)
        return {context: row for row, context in enumerate(every)}

    @cached_property
    def _templates(self) -> list[ContextTemplate]:
        return native_templates(self.encoder)

    def rows(self, observed: NDArray[np.int32], t: int, decided: Sequence[int]) -> list[int]:
        """The contexts seen at t, given the observations and the labels so far (-1: not decided)."""
        seen = context_keys(self._templates, len(self.labels), observed, t, decided)
        return [row for context in seen if (row := self._row.get(context)) is not None]

    def names(self, rows: Sequence[int]) -> list[Named]:
        """The names of these contexts, and the tokens that they read."""
        chosen = list(rows)
        template = self.template[chosen]
        names = context_names(self.encoder, self.labels, template, self.key[chosen])
        return list(zip(names, (self._seen[l] for l in template.tolist()), strict=True))

    @cached_property
    def _seen(self) -> list[Seen]:
        """The tokens that each template reads, for their labels or for observations."""
        parsed = [parse(t.text)[0] for t in self.encoder.features.label_templates]
        return [Seen(str(template), tuple(sorted({a.offset for a in template.atoms}))) for template in parsed]


def context_names(
    encoder: TemplateEncoder,
    labels: Sequence[str],
    template: NDArray[np.int32],
    key: NDArray[np.uint64],
) -> list[str]:
    """A name for each context, given by its template and key."""
    return [
        _name(encoder, (*labels, *SYMBOLS), l, number)
        for l, number in zip(template.tolist(), key.tolist(), strict=True)
    ]


def _name(encoder: TemplateEncoder, codes: Sequence[str], l: int, key: int) -> str:
    described = encoder.features.label_templates[l]
    seen = []
    for offset in described.offsets:
        key, code = divmod(key, len(codes))
        seen.append(f"y[{offset}]={codes[code]}")
    if parse(described.text)[0].observed:
        seen.append(encoder.features.observation_name(l, key))
    return "|".join(seen)
