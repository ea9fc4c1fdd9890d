"""A feature extractor that builds strings, one token at a time: slow, short, and easy to believe."""

from chaffinch.features.templates import FeatureSet, Template


def extract(features: FeatureSet, columns: dict[str, list[str | None]]) -> list[set[str]]:
    """The features of every token of one sentence, from the values of its columns."""
    T = len(next(iter(columns.values())))
    return [
        {f for t in features.templates if not t.label_offsets for f in _of(t, columns, i, features.boundary)}
        for i in range(T)
    ]


def observations(features: FeatureSet, columns: dict[str, list[str | None]]) -> list[list[str | None]]:
    """What every label template observes at every token of one sentence."""
    T = len(next(iter(columns.values())))
    labelled = [Template(t.observed) for t in features.templates if t.label_offsets]
    return [[next(iter(_of(t, columns, i, features.boundary)), None) for t in labelled] for i in range(T)]


def _of(template: Template, columns: dict[str, list[str | None]], i: int, boundary: bool) -> list[str]:
    if template.window:
        inside = {_at(columns[a.column], i + a.offset, boundary=False) for a in template.atoms}
        return [f"{template}={v}" for v in inside if v is not None]
    parts = []
    for a in template.atoms:
        v = _at(columns[a.column], i + a.offset, boundary)
        if v is None:
            return []
        parts.append(f"{a}={v}")
    return ["|".join(parts) or "bias"]


def _at(values: list[str | None], i: int, boundary: bool) -> str | None:
    if i < 0:
        return f"__BOS{i}" if boundary else None
    if i >= len(values):
        return f"__EOS+{i - len(values) + 1}" if boundary else None
    return values[i]
