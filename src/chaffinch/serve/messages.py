"""The bodies of requests, as plain dataclasses; msgspec decodes them and derives their JSON schema."""

from dataclasses import dataclass
from typing import Any

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
    """POST /predict. ``tasks`` and what follows it are Label Studio's."""

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

    A row of a data file may stand in place of the input.
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

    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What an answer should have beside the prediction.

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
    """The name of the one form in which the input was given; DataError if it is none, or several."""
    forms = ("text", "texts", "tokens", "sentences", "source")
    given = [name for name in forms if getattr(body, name) is not None]
    if len(given) != 1 or given[0] not in allowed:
        found = " and ".join(given) or "none of them"
        raise DataError(f"expected one of {', '.join(allowed)} in the request, found {found}")
    return given[0]
