"""Schemas: a dataclass declares the sections of a model's file once; packing, loading and checks are derived from it.

    @dataclass(frozen=True)
    class Counts(Saved):
        names:  tuple[str, ...] = strings("W", distinct=True)
        counts: NDArray[np.int32] = array("int32", "W", "Y", low=0, below="most")
        scale:  float = fact(float, low=0.0)

A size is a symbol such as ``F``, the same everywhere, or an expression such as ``3*Y+1`` of symbols that are already
bound; a lower-case symbol is local to its dataclass. Fields without a declaration are not in the file: they are
arguments of ``loaded``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch.modelfile.file import ModelFile
from chaffinch.modelfile.header import Header
from chaffinch.modelfile.requirements import Requirements
from chaffinch.modelfile.strings import StringList

_KEY = "section"

AS_STORED = ""  # the type in memory is that of the file


@dataclass(frozen=True)
class Packed:
    """The content of a model for a file: facts for the header, arrays and string lists, each under a name."""

    details: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    strings: Mapping[str, list[str]] = field(default_factory=dict)
    templates: tuple[str, ...] = ()
    droppable: tuple[str, ...] = ()

    def __or__(self, other: "Packed") -> "Packed":
        """The sections of both; those of ``other`` take precedence."""
        return Packed(
            {**self.details, **other.details},
            {**self.arrays, **other.arrays},
            {**self.strings, **other.strings},
            self.templates or other.templates,
            (*self.droppable, *other.droppable),
        )

    def file(self, source: str = "the model", labels: tuple[str, ...] = ()) -> ModelFile:
        """A model file with this content, in memory only; source: its name in messages."""
        lists = {n: s if isinstance(s, StringList) else StringList.of(s) for n, s in self.strings.items()}
        header = Header(recipe="", labels=labels, templates=self.templates, details=dict(self.details))
        return ModelFile(header, self.arrays, lists, source, "")

    def under(self, prefix: str) -> "Packed":
        """The same arrays and string lists with a prefix before their names; facts keep their names."""
        return Packed(
            self.details,
            {prefix + name: a for name, a in self.arrays.items()},
            {prefix + name: s for name, s in self.strings.items()},
            self.templates,
            tuple(prefix + name for name in self.droppable),
        )


@dataclass(frozen=True)
class ArraySection:
    """An array of a file: its type, shape and the constraints that ``Requirements.array`` checks."""

    dtype: str
    shape: tuple[str | int, ...]
    stored: tuple[str, ...]
    checks: Mapping[str, Any]
    optional: bool
    name: str | None


@dataclass(frozen=True)
class StringSection:
    """A list of strings of a file."""

    size: str
    distinct: bool
    made: Callable[[Any], Any]
    optional: bool
    name: str | None


@dataclass(frozen=True)
class FactSection:
    """A small value in a file's header."""

    kind: type | tuple[type, ...]
    check: Callable[[Any], bool] | None
    expected: str
    size: str | None
    made: Callable[[Any], Any] | None
    group: str | None
    name: str | None


@dataclass(frozen=True)
class NestedSection:
    """A field with a schema of its own; the names of its sections get a prefix."""

    kind: type["Saved"]
    prefix: str
    sizes: Mapping[str, str]


def array(
    dtype: str,
    *shape: str | int,
    stored: tuple[str, ...] = (),
    optional: bool = False,
    name: str | None = None,
    **checks: Any,
) -> Any:
    """A field that is an array of the file.

    stored:   types that a file may have instead, the narrowest first; the first that fits is written
    optional: the field is None if the file has no such array
    checks:   finite, potential, low, below, bounds, ascending: see ``Requirements.array``
    """
    made = ArraySection(dtype, shape, stored or (dtype,), checks, optional, name)
    return field(metadata={_KEY: made}, default=None) if optional else field(metadata={_KEY: made})


def strings(
    size: str,
    *,
    distinct: bool = False,
    made: Callable[[Any], Any] = tuple,
    optional: bool = False,
    name: str | None = None,
) -> Any:
    """A field that is a list of strings of the file; made: makes its value in memory, by default a tuple."""
    section = StringSection(size, distinct, made, optional, name)
    return field(metadata={_KEY: section}, default=None) if optional else field(metadata={_KEY: section})


def fact(
    kind: type | tuple[type, ...],
    *,
    check: Callable[[Any], bool] | None = None,
    expected: str = "",
    size: str | None = None,
    made: Callable[[Any], Any] | None = None,
    group: str | None = None,
    default: Any = MISSING,
    name: str | None = None,
) -> Any:
    """A field that is a value in the file's header.

    kind:     its types; an integer counts as a float
    check:    a condition on the value
    expected: the condition in words, for the message
    size:     the symbol whose size it is, if it is a count, or that is its length, if it is a list
    made:     makes its value in memory
    group:    the object of the header that holds it; None: the header itself
    default:  its value for files that lack it
    """
    section = FactSection(kind, check, expected, size, made, group, name)
    return field(metadata={_KEY: section}, default=default)


def nested(kind: type["Saved"], prefix: str = "", **sizes: str) -> Any:
    """A field with a schema of its own; sizes: what its local symbols are, such as ``rows="e+1"``."""
    return field(metadata={_KEY: NestedSection(kind, prefix, sizes)})


def listed_strings(value: Any) -> bool:
    """Whether a fact is a list of strings."""
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def given() -> Any:
    """A field that is not in the file, after fields that are; it is an argument of ``loaded``."""
    return field()


@dataclass(frozen=True)
class Saved:
    """A dataclass that can be saved in a model file.

    >>> @dataclass(frozen=True)
    ... class Counts(Saved):
    ...     names: tuple[str, ...] = strings("W", distinct=True)
    ...     counts: Any = array("int32", "W", low=0, below=100, stored=("uint8", "int32"))
    ...     scale: float = fact(float, default=1.0)
    >>> packed = Counts(("a", "b"), np.array([3, 4], np.int32), 0.5).packed()
    >>> packed.details, packed.arrays["counts"].dtype, packed.strings
    ({'scale': 0.5}, dtype('uint8'), {'names': ['a', 'b']})
    >>> from chaffinch.modelfile.file import ModelFile
    >>> from chaffinch.modelfile.header import Header
    >>> file = ModelFile(Header(recipe="x"), {"counts": np.array([3, 120], np.uint8)}, packed.strings, "t.chaff", "")
    >>> Counts.loaded(Requirements(file))
    Traceback (most recent call last):
    chaffinch.errors.ModelFileError: t.chaff: array 'counts' holds 120, expected numbers from 0 to below 100
    """

    __hash__: ClassVar[Any] = object.__hash__

    def packed(self, prefix: str = "") -> Packed:
        """The content for a file."""
        made = Packed()
        groups: dict[str, dict[str, Any]] = {}
        for f, section in _sections(type(self)):
            value = getattr(self, f.name)
            match section:
                case NestedSection():
                    made |= value.packed(prefix + section.prefix)
                case FactSection():
                    group = {} if section.group is None else groups.setdefault(section.group, {})
                    group[section.name or f.name] = list(value) if isinstance(value, tuple) else value
                    made |= Packed(details={section.group: group} if section.group else group)
                case StringSection() if value is not None:
                    made |= Packed(strings={prefix + (section.name or f.name): list(value)})
                case ArraySection() if value is not None:
                    made |= Packed(arrays={prefix + (section.name or f.name): _stored(value, section)})
        return made

    @classmethod
    def loaded(cls, need: Requirements, prefix: str = "", **given: Any) -> Self:
        """Load from a file and check every type, size and number; given: the fields that are not in the file."""
        found: dict[str, Any] = dict(given)
        sections = [(f, section) for f, section in _sections(cls) if f.name not in given]
        for f, section in sections:
            match section:
                case StringSection():
                    name, size = prefix + (section.name or f.name), _local(section.size, prefix)
                    if section.optional and name not in need.file.strings:
                        continue
                    found[f.name] = section.made(need.strings(name, size, distinct=section.distinct))
                case FactSection():
                    found[f.name] = _fact(need, section, f)
                    if section.size is not None:
                        value = found[f.name]
                        size = value if isinstance(value, int) else len(value)
                        need.bind(f"its header's {section.name or f.name!r}", section.size, size)
                case NestedSection():
                    for symbol, size in section.sizes.items():
                        inside = prefix + section.prefix + symbol
                        need.bind(f"section {inside!r}", inside, need.size(_local(size, prefix)))
                    found[f.name] = section.kind.loaded(need, prefix + section.prefix)
        arrays = [(f, s, prefix + (s.name or f.name)) for f, s in sections if isinstance(s, ArraySection)]
        arrays = [(f, s, name) for f, s, name in arrays if not s.optional or need.has(name)]
        for _, section, name in arrays:  # all sizes first, since any of them may bound a number
            shape = tuple(_size(need, _local(size, prefix)) for size in section.shape)
            need.array(name, _dtype(need, name, section.stored), shape)
        for f, section, name in arrays:
            checks = {check: _local(limit, prefix) for check, limit in section.checks.items()}
            shape = need.file.arrays[name].shape
            a = need.array(name, _dtype(need, name, section.stored), shape, **checks)
            found[f.name] = a.astype(section.dtype or a.dtype, copy=False)
        return cls(**found)


def _sections(cls: type[Saved]) -> Iterator[tuple[Field[Any], Any]]:
    for f in fields(cls):
        if _KEY in f.metadata:
            yield f, f.metadata[_KEY]


def _local(size: Any, prefix: str) -> Any:
    """A size with the prefix before its lower-case symbols."""
    return re.sub(r"[a-z]\w*", lambda m: prefix + m[0], size) if isinstance(size, str) else size


def _size(need: Requirements, size: str | int) -> str | int:
    """A symbol unchanged, an expression as its value."""
    return need.size(size) if isinstance(size, str) and ("+" in size or "*" in size) else size


def _dtype(need: Requirements, name: str, stored: Sequence[str]) -> str:
    """The type in the file if it is one of those stored; otherwise the widest, so that the message names it."""
    a = need.file.arrays.get(name)
    return str(a.dtype) if a is not None and str(a.dtype) in stored else stored[-1]


def _stored(a: NDArray[Any], section: ArraySection) -> NDArray[Any]:
    """The array in the first of these types that holds all its numbers."""
    kinds = section.stored
    if section.dtype == AS_STORED or len(kinds) == 1:
        return np.ascontiguousarray(a, None if section.dtype == AS_STORED else kinds[0])
    low, high = (int(a.min()), int(a.max())) if a.size else (0, 0)
    for kind in kinds[:-1]:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.ascontiguousarray(a, kind)
    return np.ascontiguousarray(a, kinds[-1])


def _fact(need: Requirements, section: FactSection, f: Field[Any]) -> Any:
    name = section.name or f.name
    details = need.file.header.details
    if section.group is not None:
        details = details.get(section.group, {})
        if not isinstance(details, Mapping):
            raise need.fault(f"its header gives {section.group!r} as {details!r}, expected an object")
    if name not in details and f.default is not MISSING:
        return f.default
    value = details.get(name)
    kinds = section.kind if isinstance(section.kind, tuple) else (section.kind,)
    if float in kinds and type(value) is int:
        value = float(value)
    if type(value) not in kinds or (section.check is not None and not section.check(value)):
        words = section.expected or " or ".join(k.__name__ for k in kinds)
        raise need.fault(f"its header gives {name!r} as {value!r}, expected {words}")
    return value if section.made is None else section.made(value)
