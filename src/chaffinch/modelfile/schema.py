"""Schemas: a dataclass declares the sections of a model's file once; packing, loading and checks are derived from it.

    @dataclass(frozen=True)
    class Counts(Saved):
        names:  tuple[str, ...] = strings("W", distinct=True)
        counts: NDArray[np.int32] = array("int32", "W", "Y", low=0, below="most")
        scale:  float = fact(float, low=0.0)

A size is a symbol such as ``F``, the same everywhere, or an expression such as ``3*Y+1`` of symbols that are already
bound; ``F+1`` binds F if it is not bound. A lower-case symbol is local to its dataclass. Fields without a declaration
are not in the file: they are arguments of ``loaded``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
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
    each: str | None
    made: Callable[[Any], Any] | None


@dataclass(frozen=True)
class StringSection:
    """A list of strings of a file."""

    size: str
    distinct: bool
    made: Callable[[Any], Any]
    optional: bool
    name: str | None
    each: str | None


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
    omit: bool


@dataclass(frozen=True)
class NestedSection:
    """A field with a schema of its own; the names of its sections get a prefix."""

    kind: type["Saved"]
    prefix: str
    sizes: Mapping[str, str]
    optional: bool


@dataclass(frozen=True)
class InsideSection:
    """A field with content of its own in the file: sections under a prefix, facts in an object of the header."""

    kind: Any
    prefix: str
    facts: str | None
    by: str | None
    each: bool
    optional: bool
    coded: tuple[Callable[[Packed], Packed], Callable[[ModelFile], ModelFile]] | None
    sizes: Mapping[str, str]


def array(
    dtype: str,
    *shape: str | int,
    stored: tuple[str, ...] = (),
    optional: bool = False,
    name: str | None = None,
    each: str | None = None,
    made: Callable[[Any], Any] | None = None,
    **checks: Any,
) -> Any:
    """A field that is an array of the file.

    stored:   types that a file may have instead, the narrowest first; the first that fits is written
    optional: the field is None if the file has no such array
    each:     the field is a tuple of arrays NAME.0, NAME.1 ...; this symbol is their number, and sizes in lower case
              are symbols such as ``NAME.0.size``
    made:     converts the stored array to the value in memory
    checks:   finite, potential, low, below, bounds, ascending, sums: see ``Requirements.array``
    """
    section = ArraySection(dtype, shape, stored or (dtype,), checks, optional, name, each, made)
    default: Any = None if optional else MISSING if each is None else ()
    return field(metadata={_KEY: section}, default=default)


def strings(
    size: str,
    *,
    distinct: bool = False,
    made: Callable[[Any], Any] = tuple,
    optional: bool = False,
    name: str | None = None,
    each: str | None = None,
) -> Any:
    """A field that is a list of strings of the file.

    made: converts the stored list to the value in memory, by default a tuple
    each: a symbol or the name of another field. A symbol: the field is a tuple of lists NAME.0, NAME.1 ..., and the
          symbol is their number. A field of strings: the field is a dict of lists by these strings
    """
    section = StringSection(size, distinct, made, optional, name, each)
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
    omit: bool = False,
) -> Any:
    """A field that is a value in the file's header.

    kind:     its types; an integer counts as a float
    check:    a condition on the value
    expected: the condition in words, for the message
    size:     the symbol that it binds: to its value if it is a count, to its length if it is a list
    made:     converts the stored value to the value in memory
    group:    the object of the header that holds it; None: the header itself
    default:  its value for files that lack it
    omit:     it is not written if it has its default
    """
    section = FactSection(kind, check, expected, size, made, group, name, omit)
    return field(metadata={_KEY: section}, default=default)


def nested(kind: type["Saved"], prefix: str = "", *, optional: bool = False, **sizes: str) -> Any:
    """A field with a schema of its own.

    optional: the field is None if the file has no section with this prefix
    sizes:    values of its local symbols, such as ``rows="e+1"``
    """
    made = {_KEY: NestedSection(kind, prefix, sizes, optional)}
    return field(metadata=made, default=None) if optional else field(metadata=made)


def inside(
    kind: Any,
    prefix: str = "",
    *,
    facts: str | None = None,
    by: str | None = None,
    each: bool = False,
    optional: bool = False,
    coded: tuple[Callable[[Packed], Packed], Callable[[ModelFile], ModelFile]] | None = None,
    **sizes: str,
) -> Any:
    """A field that packs itself, such as an encoder: its sections get a prefix, its facts an object of the header.

    kind:     its class; ``loaded`` gets a :class:`ModelFile`, or :class:`Requirements` if the class is a ``Saved``.
              If ``kind`` is ModelFile, the field packs itself and is loaded as a file; the caller loads the model
    facts:    the name of the object; None: the name of the field
    by:       ``kind`` is a table of classes, and the fact of this name is the key
    each:     the field is a tuple of such objects; the header has a list, and the prefixes are 0., 1. ...
    optional: the field is None if the header has no such object
    coded:    functions that change its sections before they are written and after they are read
    sizes:    symbols that it binds, by attribute, such as ``F="n_features"``
    """
    section = InsideSection(kind, prefix, facts, by, each, optional, coded, sizes)
    return field(metadata={_KEY: section}, default=None if optional else MISSING)


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
            name = getattr(section, "name", None) or f.name
            match section:
                case NestedSection() if value is not None:
                    made |= value.packed(prefix + section.prefix)
                case InsideSection() if value is not None:
                    made |= _packed_inside(section, section.facts or f.name, value).under(prefix)
                case FactSection() if not (section.omit and value == f.default):
                    group = {} if section.group is None else groups.setdefault(section.group, {})
                    group[name] = list(value) if isinstance(value, tuple) else value
                    made |= Packed(details={section.group: group} if section.group else group)
                case StringSection() if value is not None:
                    made |= Packed(strings={n: list(v) for n, v in _each(prefix + name, section, value)})
                case ArraySection() if value is not None:
                    arrays = {n: _stored(v, section) for n, v in _each(prefix + name, section, value)}
                    made |= Packed(arrays=arrays)
        return made

    @classmethod
    def absent(cls, need: Requirements, prefix: str = "") -> bool:
        """Whether a file lacks it: the first of its facts, or every section if it has no facts."""
        for f, section in _sections(cls):
            if isinstance(section, InsideSection):
                return need.file.header.details.get(section.facts or f.name) is None
            if isinstance(section, FactSection):
                return need.file.header.details.get(section.group or section.name or f.name) is None
        return not any(need.begins(prefix + (section.name or f.name)) for f, section in _sections(cls))

    @classmethod
    def loaded(cls, need: Requirements, prefix: str = "", **given: Any) -> Self:
        """Load from a file and check every type, size and number; given: the fields that are not in the file."""
        found: dict[str, Any] = dict(given)
        sections = [(f, section) for f, section in _sections(cls) if f.name not in given]
        for f, section in sections:
            match section:
                case StringSection():
                    value = _strings(need, section, prefix, prefix + (section.name or f.name), found)
                    if value is not None:
                        found[f.name] = value
                case FactSection():
                    found[f.name] = _fact(need, section, f)
                    if section.size is not None:
                        value = found[f.name]
                        size = value if isinstance(value, int) else len(value)
                        need.bind(f"its header's {section.name or f.name!r}", section.size, size)
                case InsideSection() if section.by is None or section.by in found:
                    _load_inside(need, section, f, prefix, found)
                case NestedSection() if not section.optional or need.begins(prefix + section.prefix):
                    if all(need.bound(_local(size, prefix)) for size in section.sizes.values()):
                        found[f.name] = _nested(need, section, prefix)
        arrays = [
            (f, section, *one)
            for f, section in sections
            if isinstance(section, ArraySection)
            for one in _names(need, section, prefix, prefix + (section.name or f.name))
        ]
        for f, section in sections:
            if isinstance(section, ArraySection) and section.each is not None:
                found[f.name] = ()
        for _, section, name, local in arrays:  # all sizes first, since any of them may bound a number
            sizes = [_size(need, name, axis, _local(size, local)) for axis, size in enumerate(section.shape)]
            need.array(name, _dtype(need, name, section.stored), tuple(sizes))
        for f, section in sections:  # nested schemas with sizes that the arrays have bound
            late = isinstance(section, NestedSection) and f.name not in found
            if late and (not section.optional or need.begins(prefix + section.prefix)):
                found[f.name] = _nested(need, section, prefix)
        for f, section, name, local in arrays:
            checks = {check: _local(limit, local) for check, limit in section.checks.items()}
            shape = need.file.arrays[name].shape
            a = need.array(name, _dtype(need, name, section.stored), shape, **checks)
            a = a.astype(section.dtype or a.dtype, copy=False)
            value = a if section.made is None else section.made(a)
            found[f.name] = value if section.each is None else (*found[f.name], value)
        return cls(**found)


def _packed_inside(section: InsideSection, name: str, value: Any) -> Packed:
    """The content of an object, or of each of several."""
    parts = [one.packed() for one in value] if section.each else [value.packed()]
    facts = [dict(part.details) for part in parts]
    made = Packed(details={name: facts if section.each else facts[0]})
    for i, part in enumerate(parts):
        coded = part if section.coded is None else section.coded[0](part)
        own = f"{section.prefix}{i}." if section.each else section.prefix
        made |= replace(coded, details={}).under(own)
    return made


def _load_inside(
    need: Requirements, section: InsideSection, f: Field[Any], prefix: str, found: dict[str, Any]
) -> None:
    """Load an object, or each of several, and bind its sizes."""
    name = section.facts or f.name
    given = need.file.header.details.get(name)
    if given is None and section.optional:
        return
    if not isinstance(given, list if section.each else Mapping):
        expected = "a list" if section.each else "an object"
        raise need.fault(f"its header gives {name!r} as {given!r}, expected {expected}")
    kind = section.kind if section.by is None else section.kind[found[section.by]]
    values: list[Any] = []
    for i, facts in enumerate(given if isinstance(given, list) else [given]):
        own = prefix + section.prefix + (f"{i}." if section.each else "")
        inner = need.inside(own, facts, None if section.coded is None else section.coded[1])
        if kind is ModelFile:
            values.append(inner.file)
        else:
            values.append(kind.loaded(inner if issubclass(kind, Saved) else inner.file))
    found[f.name] = tuple(values) if section.each else values[0]
    for symbol, attribute in section.sizes.items():
        need.bind(f"its header's {name!r}", _local(symbol, prefix), getattr(values[0], attribute))


def _nested(need: Requirements, section: NestedSection, prefix: str) -> Any:
    inner = prefix + section.prefix
    for symbol, size in section.sizes.items():
        need.bind(f"section {inner + symbol!r}", inner + symbol, need.size(_local(size, prefix)))
    return section.kind.loaded(need, inner)


def _each(name: str, section: ArraySection | StringSection, value: Any) -> list[tuple[str, Any]]:
    """The sections of a field by name: one, or one for each of its entries."""
    if section.each is None:
        return [(name, value)]
    entries = value.items() if isinstance(value, Mapping) else enumerate(value)
    return [(f"{name}.{key}", entry) for key, entry in entries]


def _names(need: Requirements, section: ArraySection, prefix: str, name: str) -> list[tuple[str, str]]:
    """The names of the arrays of a field that the file must have, and the prefix of their local symbols."""
    if section.each is None:
        return [(name, prefix)] if not section.optional or need.has(name) else []
    return [(f"{name}.{i}", f"{name}.{i}.") for i in range(need.size(_local(section.each, prefix)))]


def _strings(
    need: Requirements, section: StringSection, prefix: str, name: str, found: Mapping[str, Any]
) -> Any:
    """The strings of a field; None if it is optional and the file has none."""
    if section.each is None:
        if section.optional and name not in need.file.strings:
            return None
        size = _local(section.size, prefix)
        return section.made(need.strings(name, size, distinct=section.distinct))

    def one(key: Any) -> Any:
        size = _local(section.size, f"{name}.{key}.")
        return section.made(need.strings(f"{name}.{key}", size, distinct=section.distinct))

    if section.each in found:
        return {key: one(key) for key in found[section.each]}
    return tuple(map(one, range(need.size(_local(section.each, prefix)))))


def _sections(cls: type[Saved]) -> Iterator[tuple[Field[Any], Any]]:
    for f in fields(cls):
        if _KEY in f.metadata:
            yield f, f.metadata[_KEY]


def _local(size: Any, prefix: str) -> Any:
    """A size with the prefix before its lower-case symbols."""
    return re.sub(r"[a-z]\w*", lambda m: prefix + m[0], size) if isinstance(size, str) else size


def _size(need: Requirements, name: str, axis: int, size: str | int) -> str | int:
    """A symbol unchanged, an expression as its value; ``F+1`` binds F to the size of the array if it is not bound."""
    if not isinstance(size, str) or not ("+" in size or "*" in size):
        return size
    symbol, _, rest = size.partition("+")
    if rest.isdigit() and not need.bound(symbol):
        a = need.file.arrays.get(name)
        fits = a is not None and axis < a.ndim
        need.bind(
            f"array {name!r}", symbol, max(0, a.shape[axis] - int(rest)) if fits and a is not None else 0
        )
    return need.size(size)


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
