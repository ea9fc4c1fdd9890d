"""What label templates observe of the input: ``stem[0]`` of ``y[-1]|stem[0]``; templates alike in that share it."""

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.templates import parse
from chaffinch.features.token_rows import FeatureRows
from chaffinch.model.template_encoder import TemplateEncoder


def native_templates(encoder: TemplateEncoder) -> list[tuple[list[int], int, int]]:
    """Of each label template its offsets, how many observations it knows, and their column (-1: none)."""
    columns = observed(encoder)
    return [
        (list(t.offsets), max(1, t.n_observations), list(columns).index(seen) if seen else -1)
        for t, seen in zip(
            encoder.features.label_templates, map(_observed_part, _texts(encoder)), strict=True
        )
    ]


def observations(encoder: TemplateEncoder, rows: FeatureRows) -> NDArray[np.int32]:
    """What label templates observe, each column once: templates that differ in labels alone share theirs."""
    return np.ascontiguousarray(rows.observations[:, list(observed(encoder).values())])


def observed(encoder: TemplateEncoder) -> dict[str, int]:
    """Distinct observed parts of label templates, with the first template that has each."""
    first: dict[str, int] = {}
    for number, text in enumerate(_texts(encoder)):
        if seen := _observed_part(text):
            first.setdefault(seen, number)
    return first


def used_observations(
    encoder: TemplateEncoder, template: NDArray[np.int32], seen: NDArray[np.int64]
) -> list[NDArray[np.bool_]]:
    """Which observations of each label template are in use; templates that observe the same share the answer."""
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


def _observed_part(text: str) -> str:
    """A label template without its labels: ``stem[0]`` of ``y[-1]|stem[0]``."""
    return "|".join(map(str, parse(text)[0].observed))
