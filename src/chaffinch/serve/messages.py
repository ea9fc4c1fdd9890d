"""The bodies of requests, as plain dataclasses; msgspec decodes them and derives their JSON schema."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, get_type_hints

from chaffinch.errors import ConfigError, DataError

MOST_KBEST = 100
Token = str | list[str]  # a word, or a word and its further columns


class RequestError(Exception):
    """A request that is answered with an error: its HTTP status, and one sentence that says what to do."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(slots=True, kw_only=True)
class Input:
    """The input of a request, in one of these forms."""

    model: str | None = None
    version: str | None = None
    text: str | None = None
    texts: list[str] | None = None
    tokens: list[Token] | None = None
    sentences: list[list[Token]] | None = None
    source: list[str] | None = None
    target: list[str] | None = None


@dataclass(slots=True, kw_only=True)
class PredictBody(Input):
    """POST /predict. ``tasks`` and the fields after it are Label Studio's."""

    others: ClassVar[tuple[str, ...]] = ("tasks", "label_config", "project", "params")

    kbest: int | None = None
    probabilities: bool | None = None
    rules: dict[str, list[Any]] | None = None
    tasks: list[dict[str, Any]] | None = None
    label_config: str | None = None
    project: str | int | None = None
    params: dict[str, Any] | None = None


@dataclass(slots=True, kw_only=True)
class ExplainBody(Input):
    """POST /explain: why a token (``position``) or a text got its label, and not another one (``instead``).

    A row of a data file may replace the input.
    """

    data: str | None = None
    row: int | None = None
    position: int | None = None
    instead: str | None = None


@dataclass(slots=True, kw_only=True)
class CorrectionBody(Input):
    """POST /corrections: the right answer to a text, or to a row of a data file."""

    data: str | None = None
    row: int | None = None
    tags: list[str] | None = None
    label: str | None = None
    labels: list[str] | None = None


@dataclass(slots=True, kw_only=True)
class LearnBody:
    """POST /learn."""

    model: str | None = None


@dataclass(slots=True, kw_only=True)
class VersionBody:
    """POST /versions: the version that is to answer."""

    version: str
    model: str | None = None


@dataclass(slots=True, kw_only=True)
class NextBody:
    """POST /next: how many rows of a data file to label next."""

    n: int = 20
    model: str | None = None
    data: str | None = None
    seed: int = 0


@dataclass(slots=True, kw_only=True)
class CompareBody(Input):
    """POST /compare: one input, answered by several models."""

    models: list[str]


@dataclass(slots=True, kw_only=True)
class DoccanoBody:
    """POST /doccano/{model}."""

    others: ClassVar[tuple[str, ...]] = ("text",)

    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of an answer besides the prediction.

    kbest:         how many of the best answers; 0: none
    probabilities: None: certainties, if the model has them; True: those of all labels too; False: none at all
    """

    kbest: int = 0
    probabilities: bool | None = None

    @classmethod
    def of(cls, body: PredictBody) -> "Asked":
        """What a request asks for, checked."""
        if body.kbest is not None and not 1 <= body.kbest <= MOST_KBEST:
            raise ConfigError(f"kbest must be from 1 to {MOST_KBEST}, got {body.kbest}")
        return cls(body.kbest or 0, body.probabilities)


def one_input(body: Input, *allowed: str) -> str:
    """The name of the form in which the input was given; DataError if there is none, or several."""
    forms = ("text", "texts", "tokens", "sentences", "source")
    given = [name for name in forms if getattr(body, name) is not None]
    if len(given) != 1 or given[0] not in allowed:
        found = " and ".join(given) or "none of them"
        raise DataError(f"expected one of {', '.join(allowed)} in the request, found {found}")
    return given[0]


class BodyReader:
    """Decodes and checks bodies of one kind.

    An unknown field is an error, since it is most often misspelt. Other tools may add fields of their own: a body
    comes from another tool if it has one of the fields in the kind's ``others``.
    """

    def __init__(self, kind: Any) -> None:
        import msgspec

        self._invalid = msgspec.MsgspecError, UnicodeDecodeError, RecursionError
        self._lenient = msgspec.json.Decoder(kind).decode
        self._others: tuple[str, ...] = getattr(kind, "others", ())
        self._names: list[str] = []
        self._strict = self._lenient
        if isinstance(kind, type) and is_dataclass(kind):
            hints = get_type_hints(kind)
            named: list[Any] = [
                (f.name, hints[f.name]) + (() if f.default is MISSING else (f.default,)) for f in fields(kind)
            ]
            made = msgspec.defstruct(kind.__name__, named, kw_only=True, forbid_unknown_fields=True)
            self._names = [name for name, *_ in named]
            self._strict = msgspec.json.Decoder(made).decode

    def read(self, body: bytes) -> Any:
        """The body; an empty one has no fields."""
        try:
            return self._strict(body or b"{}")
        except self._invalid as e:
            unknown = re.search("unknown field `(.*)`", str(e))
            if unknown is None:
                raise RequestError(400, f"the body is not valid: {e}") from None
        try:
            made = self._lenient(body)
        except self._invalid as e:
            raise RequestError(400, f"the body is not valid: {e}") from None
        if any(getattr(made, name) is not None for name in self._others):
            return made
        known = [name for name in self._names if name not in self._others]
        raise RequestError(400, f"there is no field {_unknown(unknown[1], known)}")


def known_parameters(query: Mapping[str, str], known: Iterable[str]) -> None:
    """Raise if a query has an unknown parameter."""
    names = list(known)
    for name in query:
        if name not in names:
            raise RequestError(400, f"there is no parameter {_unknown(name, names)}")


def _unknown(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"{name!r}: did you mean {near[0]!r}?" if near else f"{name!r}; there are {', '.join(known)}"
