"""The header: a description of the model in JSON; nothing in it depends on when, where or by whom it was trained."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chaffinch import __version__
from chaffinch.errors import ModelFileError
from chaffinch.modelfile.strict_json import canonical, parsed, shown

# Increased when an older reader would misread a file; every format from 1 on stays readable.
FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Header:
    """The description of a model in its file.

    recipe:     the recipe that made it, which decides its sections
    settings:   every knob, with its value
    labels:     the labels, by id
    templates:  the feature templates, in their own notation
    scheme:     the tag scheme of the labels, for models of spans
    tokeniser:  how text was cut into tokens
    seed:       the seed of the training
    data:       the fingerprint of the training data
    scores:     the scores measured in training, by name
    details:    other small values that the recipe needs
    droppable:  the sections that explain the model and that prediction does not need
    dropped:    the droppable sections that were dropped
    library:    the version of Chaffinch that wrote it
    format:     the version of the format
    """

    recipe: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    scheme: str | None = None
    tokeniser: str | None = None
    seed: int | None = None
    data: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    droppable: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    library: str = __version__
    format: int = FORMAT

    def text(self) -> str:
        """The canonical JSON text, with the same checks as in reading.

        >>> Header(recipe="crf", labels=("B", "I"), seed=7, library="0.1.0").text()[:60]
        '{"data":null,"details":{},"droppable":[],"dropped":[],"forma'
        """
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for name in _LISTS:
            fields[name] = list(fields[name])
        for name in _OBJECTS:
            fields[name] = dict(fields[name])
        try:
            text = canonical(fields)
        except ModelFileError as e:
            raise ModelFileError(f"its header {e}") from None
        Header.parsed(text)
        return text

    @classmethod
    def parsed(cls, text: str) -> "Header":
        """The header of a JSON text; every field is checked to have its declared type."""
        fields = parsed(text, "its header")
        if not isinstance(fields, dict):
            raise ModelFileError("its header is not a JSON object")
        version = fields.get("format")
        if type(version) is not int or version < 1:
            raise ModelFileError(f"its header has the format {shown(version)}, expected a number from 1")
        if version > FORMAT:
            raise ModelFileError(
                f"has format {version}, but this version of Chaffinch ({__version__}) reads formats up to "
                f"{FORMAT}: install a newer one (pip install --upgrade chaffinch)"
            )
        known = {f.name for f in dataclasses.fields(cls)}
        if fields.keys() != known:
            odd = min(fields.keys() ^ known)
            raise ModelFileError(
                f"its header {'lacks' if odd in known else 'has the unknown key'} {shown(odd)}"
            )
        for name, value in fields.items():
            expected, fits = _RULES[name]
            if not fits(value):
                raise ModelFileError(f"its header has {shown(value)} as {name}, expected {expected}")
        for name in _LISTS:
            fields[name] = tuple(fields[name])
        return cls(**fields)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_optional_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _are_distinct(value: Any) -> bool:
    return _are_texts(value) and len(set(value)) == len(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_seed(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(type(v) in (int, float) for v in value.values())


_RULES = {
    "recipe": ("a string", _is_text),
    "settings": ("an object", _is_object),
    "labels": ("distinct strings", _are_distinct),
    "templates": ("a list of strings", _are_texts),
    "scheme": ("a string or null", _is_optional_text),
    "tokeniser": ("a string or null", _is_optional_text),
    "seed": ("a whole number >= 0 or null", _is_seed),
    "data": ("a string or null", _is_optional_text),
    "scores": ("an object of numbers", _are_numbers),
    "details": ("an object", _is_object),
    "droppable": ("distinct strings", _are_distinct),
    "dropped": ("distinct strings", _are_distinct),
    "library": ("a string", _is_text),
    "format": ("a whole number", lambda value: type(value) is int),
}
_LISTS = ("labels", "templates", "droppable", "dropped")
_OBJECTS = ("settings", "scores", "details")
