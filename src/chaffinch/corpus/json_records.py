"""JSON records: one object per line or an array of them, every value checked on access.

A line file is streamed; an array is a single JSON value and is loaded whole.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn

from chaffinch.corpus.lines import BOM, LONGEST_LINE, decoded, empty_file, lines, listed, whole_decoded
from chaffinch.corpus.losses import Losses, accepted
from chaffinch.errors import DataError
from chaffinch.files import display_name, reading, without_packing
from chaffinch.text.document import ValueLabel

# Characters of an unexpected value that a message shows.
SHOWN = 60


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object and its place (``posts.jsonl:12`` or ``tasks.json: item 3``); ``line`` if it has its own.

    >>> r = Record("posts.jsonl:12", {"text": "ok", "start": "4"})
    >>> r.string("text")
    'ok'
    >>> r.integer("start")
    Traceback (most recent call last):
    chaffinch.errors.DataError: posts.jsonl:12: expected 'start' to be a whole number, found "4"
    """

    where: str
    value: dict[str, Any]
    line: int | None = None

    def __contains__(self, key: str) -> bool:
        return self.value.get(key) is not None

    def string(self, key: str) -> str:
        """A required string."""
        found = self._present(key)
        if isinstance(found, str):
            return found
        raise self._refusal(key, "a string", found)

    def integer(self, key: str) -> int:
        """A required whole number."""
        found = self._present(key)
        if isinstance(found, int) and not isinstance(found, bool):
            return found
        raise self._refusal(key, "a whole number", found)

    def number(self, key: str) -> float | None:
        """A number, or None if there is none."""
        found = self.value.get(key)
        if found is None:
            return None
        if isinstance(found, int | float) and not isinstance(found, bool) and isfinite(found):
            return float(found)
        raise self._refusal(key, "a finite number", found)

    def array(self, key: str) -> list[Any]:
        """A list; empty if the key is absent or null."""
        found = self.value.get(key)
        if found is None:
            return []
        if isinstance(found, list):
            return found
        raise self._refusal(key, "a list", found)

    def record(self, key: str) -> "Record":
        """A required nested object."""
        found = self._present(key)
        if isinstance(found, dict):
            return Record(f"{self.where}: {key}", found)
        raise self._refusal(key, "an object", found)

    def records(self, key: str) -> Iterator["Record"]:
        """A list of objects; empty if the key is absent or null."""
        for i, item in enumerate(self.array(key), start=1):
            place = f"{self.where}: {key} {i}"
            if not isinstance(item, dict):
                raise DataError(f"{place}: expected an object, found {shown(item)}")
            yield Record(place, item)

    def identifier(self, key: str) -> str | int | None:
        """A string or a whole number unchanged, another number as a string; None if absent."""
        found = self.value.get(key)
        return found if isinstance(found, int) and not isinstance(found, bool) else self.scalar(key)

    def scalar(self, key: str) -> str | None:
        """A string; a number or truth value becomes a label that keeps the value; None if absent."""
        found = self.value.get(key)
        if found is None:
            return None
        if isinstance(found, str):
            return found
        if isinstance(found, int | float):
            return ValueLabel(found)
        raise self._refusal(key, "a string or a number", found)

    def _present(self, key: str) -> Any:
        if key not in self.value:
            has = listed(self.value) or "no keys at all"
            raise DataError(f"{self.where}: expected a key {key!r}, found {has}")
        return self.value[key]

    def _refusal(self, key: str, expected: str, found: Any) -> DataError:
        return DataError(f"{self.where}: expected {key!r} to be {expected}, found {shown(found)}")


def line_records(path: str | Path, losses: Losses | None = None) -> Iterator[Record]:
    """One object per line, streamed; blank lines are skipped."""
    return _line_records(path, lines(path), losses)


def records(path: str | Path, losses: Losses | None = None) -> Iterator[Record]:
    """Objects, one per line (streamed) or in one JSON array or object (loaded whole); the file's start decides."""
    with reading(path) as stream:
        head, number = b"", 0
        while not head.strip():
            head = stream.readline(LONGEST_LINE + 2)
            number += 1
            if not head:
                raise empty_file(path)
            if number == 1:
                head = head.removeprefix(BOM)
        if head.strip() == b"{" or head.lstrip().startswith(b"["):
            yield from _array_records(path, number, whole_decoded(path, head + stream.read()), losses)
        else:
            yield from _line_records(path, _lines_from(path, stream, head, number), losses)


def first_object(head: bytes) -> dict[str, Any]:
    """The object on the first line of a file with this start; empty if the line holds none, or is cut off."""
    try:
        value = json.loads(head.removeprefix(BOM).lstrip().partition(b"\n")[0])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def compact(value: Any) -> str:
    """A JSON value on one line, readable in any script."""
    return _ENCODER.encode(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False)


@contextmanager
def writing_json(out: IO[str], path: str | Path) -> Iterator[Callable[[Any], None]]:
    """A function that writes one more value: on its own line, or into one array if the name ends in .json."""
    array = without_packing(Path(path).name).endswith(".json")
    count = 0

    def put(value: Any) -> None:
        nonlocal count
        before = "" if not array else ",\n" if count else "[\n"
        out.write(before + compact(value) + ("" if array else "\n"))
        count += 1

    yield put
    if array:
        out.write("\n]\n" if count else "[]\n")


def as_text(value: Any) -> str:
    """A JSON value as text: a string unchanged, null as the empty string, other values as JSON.

    >>> as_text("x"), as_text(7), as_text({"a": True}), as_text(None)
    ('x', '7', '{"a": true}', '')
    """
    return value if isinstance(value, str) else "" if value is None else compact(value)


def shown(value: Any) -> str:
    """A value as messages quote it."""
    text = json.dumps(value, ensure_ascii=False, default=str)  # tables have more types than JSON
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _lines_from(path: str | Path, stream: BinaryIO, line: bytes, number: int) -> Iterator[tuple[int, str]]:
    """A line that was read already, and those after it."""
    while line:
        yield number, decoded(path, number, line)
        line = stream.readline(LONGEST_LINE + 2)
        number += 1


def _line_records(
    path: str | Path, numbered: Iterable[tuple[int, str]], losses: Losses | None
) -> Iterator[Record]:
    name = display_name(path)

    def made(numbered_line: tuple[int, str]) -> Record | None:
        number, line = numbered_line
        where = f"{name}:{number}"
        return _record(where, _parsed(where, line), number) if line.strip() else None

    return accepted(numbered, made, losses)


def _array_records(path: str | Path, first_line: int, text: str, losses: Losses | None) -> Iterator[Record]:
    name = display_name(path)
    value = _parsed(name, text, first_line)
    items = enumerate(value if isinstance(value, list) else [value], start=1)
    return accepted(items, lambda item: _record(f"{name}: item {item[0]}", item[1]), losses)


def _record(where: str, value: Any, line: int | None = None) -> Record:
    if not isinstance(value, dict):
        raise DataError(f"{where}: expected a JSON object, found {shown(value)}")
    return Record(where, value, line)


def _parsed(where: str, text: str, first_line: int | None = None) -> Any:
    """A JSON value; ``first_line`` is given if the text has several lines."""
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise DataError(f"{where}: is not usable JSON: nested too deeply") from None
    except json.JSONDecodeError as e:
        place = where if first_line is None else f"{where}:{first_line + e.lineno - 1}"
        raise DataError(f"{place}: is not valid JSON: {e.msg} at column {e.colno}") from None
    except ValueError as e:
        raise DataError(f"{where}: is not usable JSON: {e}") from None
    if "\\u" in text:
        _check_characters(where, value)
    return value


def _refused_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refused_constant)


def _check_characters(where: str, value: Any) -> None:
    """Refuse escapes that UTF-8 cannot hold: half a surrogate pair, or NUL."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, str):
            if "\0" in item:
                raise DataError(f"{where}: a string holds a NUL character (\\u0000)")
            if any("\ud800" <= c <= "\udfff" for c in item):
                raise DataError(f"{where}: a string holds half a surrogate pair, which is not a character")
