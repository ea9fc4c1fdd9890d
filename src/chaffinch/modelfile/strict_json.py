"""Strict JSON: no duplicate keys, no NaN, no numbers beyond 64 bits, no lone surrogates."""

import json
import math
from typing import Any, NoReturn

from chaffinch.errors import ModelFileError

MOST_DEPTH = 32


def parsed(text: bytes | str, what: str) -> Any:
    """The value of a JSON text; ``what`` names it in messages."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_no_constant,
        )
        return checked_value(value)
    except UnicodeDecodeError as e:
        raise ModelFileError(f"{what} is not UTF-8: byte {e.start} is {text[e.start]!r}") from None
    except json.JSONDecodeError as e:
        raise ModelFileError(f"{what} is not JSON: {e.msg} at character {e.pos}") from None
    except RecursionError:
        raise ModelFileError(f"{what} is JSON nested deeper than {MOST_DEPTH} levels") from None
    except ModelFileError as e:
        raise ModelFileError(f"{what} {e}") from None


def canonical(value: Any) -> str:
    """The canonical JSON text of a value: keys sorted, no spaces, characters not escaped.

    >>> canonical({"b": (1, 2.5), "a": "é"})
    '{"a":"é","b":[1,2.5]}'
    """
    return json.dumps(
        checked_value(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
    )


def checked_value(value: Any, depth: int = 0) -> Any:
    """A plain copy of a JSON value (tuples become lists); ModelFileError if JSON cannot represent it."""
    if depth > MOST_DEPTH:
        raise ModelFileError(f"is JSON nested deeper than {MOST_DEPTH} levels")
    match value:
        case None | bool():
            return value
        case int():
            return _in_range(int(value))
        case float():
            return _finite(float(value))
        case str():
            return _whole_characters(value)
        case list() | tuple():
            return [checked_value(v, depth + 1) for v in value]
        case dict():
            for key in value:
                if not isinstance(key, str):
                    raise ModelFileError(f"has the key {shown(key)}, expected a string")
                _whole_characters(key)
            return {key: checked_value(v, depth + 1) for key, v in value.items()}
    raise ModelFileError(f"has {shown(value)}, a {type(value).__name__}, which JSON cannot represent")


def shown(value: Any) -> str:
    """A value for messages: shortened, on one line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise ModelFileError(f"has the key {shown(twice)} twice")
    return made


def _integer(digits: str) -> int:
    if len(digits) > 20:
        raise ModelFileError(f"has the number {digits[:20]}..., which is beyond 64 bits")
    return _in_range(int(digits))


def _number(digits: str) -> float:
    return _finite(float(digits))


def _no_constant(name: str) -> NoReturn:
    raise ModelFileError(f"has {name}, which is not JSON")


def _in_range(value: int) -> int:
    if not -(2**63) <= value < 2**64:
        raise ModelFileError(f"has the number {shown(value)}, which is beyond 64 bits")
    return value


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ModelFileError(f"has the number {value}, expected a finite one")
    return value


def _whole_characters(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ModelFileError(f"has {shown(text)}, which holds half a character (a lone surrogate)") from None
    return text
