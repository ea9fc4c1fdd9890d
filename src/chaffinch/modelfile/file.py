"""Read and write whole model files: a header, named arrays and named string lists."""

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ModelFileError
from chaffinch.files import writing
from chaffinch.modelfile import container
from chaffinch.modelfile.header import Header
from chaffinch.modelfile.strict_json import shown
from chaffinch.modelfile.strings import StringList

EXTENSION = ".chaff"

# The two strings under __metadata__.
HEADER = "chaffinch"
DIGEST = "sha256"

# A string list is two arrays: NAME:utf8 and NAME:ptr.
_UTF8, _PTR = ":utf8", ":ptr"


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The content of a model file; the arrays are read-only.

    source: its name in messages
    digest: SHA-256 over the content; two models are equal if their digests are equal
    """

    header: Header
    arrays: Mapping[str, NDArray[Any]]
    strings: Mapping[str, StringList]
    source: str
    digest: str

    def under(self, prefix: str, header: Header | None = None, *, details: object = None) -> "ModelFile":
        """The sections whose names begin with the prefix, as a file of their own; the prefix is removed.

        header:  its header; None: this file's header with other ``details``, which must be a mapping
        """
        cut = len(prefix)
        if header is None:
            if not isinstance(details, Mapping):
                raise ModelFileError(f"{self.source}: its header lacks the facts of the sections {prefix!r}")
            header = replace(self.header, details=dict(details))
        return replace(
            self,
            header=header,
            arrays={name[cut:]: a for name, a in self.arrays.items() if name.startswith(prefix)},
            strings={name[cut:]: s for name, s in self.strings.items() if name.startswith(prefix)},
        )

    def without(self, prefix: str) -> "ModelFile":
        """The file without the sections whose names begin with the prefix."""
        return replace(
            self,
            arrays={name: a for name, a in self.arrays.items() if not name.startswith(prefix)},
            strings={name: s for name, s in self.strings.items() if not name.startswith(prefix)},
        )

    def fault(self, sentence: str) -> ModelFileError:
        """The error to raise for a fault of the file."""
        return ModelFileError(f"{self.source}: {sentence}")


@dataclass(frozen=True)
class Section:
    """One named section of a model file, for listings."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    droppable: bool


def write(
    path: str | Path,
    header: Header,
    arrays: Mapping[str, NDArray[Any]] | None = None,
    strings: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write a model file completely or not at all; the same content always gives the same bytes."""
    if Path(path).suffix == ".gz":
        raise ModelFileError(f"{path}: model files are not compressed; end its name in {EXTENSION}")
    try:
        tensors, sections_there = _tensors(arrays or {}, strings or {})
        _check_droppable(header, sections_there)
        text = header.text()
        metadata = {HEADER: text, DIGEST: _digest(text, tensors)}
        pieces = container.packed(metadata, tensors)
        front = [next(pieces), next(pieces)]  # errors are raised before a file is opened
    except ModelFileError as e:
        raise ModelFileError(f"{path}: cannot be written: {e}") from None
    with writing(path) as stream:
        stream.writelines(front)
        stream.writelines(pieces)


def read(path: str | Path) -> ModelFile:
    """Read a model file and verify every size, name and checksum; an error is one sentence.

    The file is read into memory, not mapped, so that the checked bytes are those in use even if the file changes.
    """
    try:
        size = _size(path)
        with Path(path).open("rb", buffering=0) as stream:
            directory = container.read_directory(stream, size)
            metadata = container.metadata_of(directory)
            if HEADER not in metadata:
                raise ModelFileError(
                    f"is a safetensors file, but not a model of Chaffinch: it has no {HEADER!r}"
                )
            header = Header.parsed(metadata[HEADER])
            if metadata.keys() != {HEADER, DIGEST}:
                raise ModelFileError(
                    f"its metadata are {shown(sorted(metadata))}, expected {HEADER} and {DIGEST}"
                )
            tensors = container.read_arrays(stream, directory, size)
        digest = _digest(metadata[HEADER], tensors)
        if digest != metadata[DIGEST]:
            raise ModelFileError("is damaged: its content does not match its SHA-256 checksum")
        arrays, strings = _sections(tensors)
        _check_droppable(header, arrays.keys() | strings.keys())
    except ModelFileError as e:
        other = foreign_model(path)
        if other is not None:
            raise ModelFileError(
                f"{path}: is {other}, which Chaffinch does not read; train a model on the data of that model: "
                "chaffinch train DATA -o MODEL"
            ) from None
        raise ModelFileError(f"{path}: {e}") from None
    except OSError as e:
        raise ModelFileError(f"{path}: cannot be read: {e.strerror}") from None
    return ModelFile(header, arrays, strings, str(path), digest)


def drop_names(path_in: str | Path, path_out: str | Path) -> list[Section]:
    """Copy a model file without its droppable sections; returns the dropped sections."""
    model = read(path_in)
    header = model.header
    gone = [section for section in sections(model) if section.droppable]
    lean = replace(header, droppable=(), dropped=tuple(sorted({*header.dropped, *header.droppable})))
    write(
        path_out,
        lean,
        {name: a for name, a in model.arrays.items() if name not in header.droppable},
        {name: s for name, s in model.strings.items() if name not in header.droppable},
    )
    return gone


def sections(model: ModelFile) -> list[Section]:
    """The sections of a model file with their sizes, largest first."""
    droppable = set(model.header.droppable)
    found = [
        Section(name, container.code_of(a), a.shape, a.nbytes, name in droppable)
        for name, a in model.arrays.items()
    ]
    found += [
        Section(name, "strings", (len(s),), s.nbytes, name in droppable) for name, s in model.strings.items()
    ]
    return sorted(found, key=lambda section: (-section.bytes, section.name))


def as_json(model: ModelFile) -> str:
    """The whole content as JSON text for human readers, one array row per line; it cannot be read back.

    Numbers that JSON lacks are written as the strings "nan", "inf" and "-inf".
    """
    header = json.dumps(asdict(model.header), ensure_ascii=False, indent=2, sort_keys=True)
    arrays = []
    for name, array in sorted(model.arrays.items()):
        front = json.dumps({"dtype": container.code_of(array), "shape": array.shape})[:-1]
        arrays.append(f'"{name}": {front}, "values": {_rows(array)}}}')
    strings = []
    for name, listed in sorted(model.strings.items()):
        lines = ",\n".join(json.dumps(s, ensure_ascii=False) for s in listed)
        strings.append(f'"{name}": [\n{lines}\n]')
    members = (f'"header": {header}', _object("arrays", arrays), _object("strings", strings))
    return "{\n" + ",\n".join(members) + "\n}\n"


def _size(path: str | Path) -> int:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise ModelFileError("no such file") from None
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError("is not a file" if not stat.S_ISDIR(status.st_mode) else "is a directory")
    return status.st_size


def _digest(text: str, tensors: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 over the header's text and the arrays sorted by name, each preceded by its name, type and shape."""
    digest = hashlib.sha256(f"{text}\n".encode())
    for name in sorted(tensors):
        a = container.little_endian(tensors[name])
        shape = ",".join(map(str, a.shape))
        digest.update(f"{name} {container.code_of(a)} [{shape}]\n".encode())
        digest.update(container.raw(a))
    return digest.hexdigest()


def _tensors(
    arrays: Mapping[str, NDArray[Any]], strings: Mapping[str, Sequence[str]]
) -> tuple[dict[str, NDArray[Any]], set[str]]:
    """The arrays of the container, and the names of the sections that they form."""
    tensors = dict(arrays)
    for name in tensors:
        if ":" in name or name in strings:
            raise ModelFileError(
                f"{shown(name)} cannot name an array: it has a ':' or names a string list too"
            )
    for name, listed in strings.items():
        if ":" in name:
            raise ModelFileError(f"{shown(name)} cannot name a string list: it has a ':'")
        try:
            kept = listed if isinstance(listed, StringList) else StringList.of(listed)
        except ModelFileError as e:
            raise ModelFileError(f"string list {name!r}: {e}") from None
        tensors[name + _UTF8], tensors[name + _PTR] = kept.utf8, kept.ptr
    return tensors, {*arrays, *strings}


def _sections(
    tensors: Mapping[str, NDArray[Any]],
) -> tuple[dict[str, NDArray[Any]], dict[str, StringList]]:
    """The inverse of ``_tensors``."""
    arrays = {name: a for name, a in tensors.items() if ":" not in name}
    strings = {}
    for half in sorted(tensors.keys() - arrays.keys()):
        name, _, kind = half.partition(":")
        if name in arrays or f":{kind}" not in (_UTF8, _PTR):
            raise ModelFileError(f"array {half!r} is neither a plain array nor half of a string list")
        if name + _UTF8 not in tensors or name + _PTR not in tensors:
            raise ModelFileError(f"string list {name!r} lacks one of its two arrays, {_UTF8} and {_PTR}")
        if f":{kind}" == _UTF8:
            continue
        try:
            strings[name] = StringList(tensors[name + _UTF8], tensors[name + _PTR])
        except ModelFileError as e:
            raise ModelFileError(f"string list {name!r} {e}") from None
    return arrays, strings


def _check_droppable(header: Header, there: set[str]) -> None:
    for name in header.droppable:
        if name not in there:
            raise ModelFileError(f"its header calls {shown(name)} droppable, but there is no such section")
    for name in header.dropped:
        if name in there:
            raise ModelFileError(f"its header calls {shown(name)} dropped, but the section is there")


def _object(name: str, members: list[str]) -> str:
    return f'"{name}": {{\n' + ",\n".join(members) + "\n}"


def _rows(array: NDArray[Any]) -> str:
    if array.ndim == 0:
        return _number(array[()])
    if array.ndim == 1:
        return "[" + ", ".join(map(_number, array)) + "]"
    return "[\n" + ",\n".join(map(_rows, array)) + "\n]"


def _number(value: Any) -> str:
    """The shortest decimal text that gives the same number in its own precision."""
    if isinstance(value, np.bool_):
        return "true" if value else "false"
    return str(value) if np.isfinite(value) else f'"{value}"'


# -- model files of other tools, recognised by their first bytes ----------------------------------------------------

SEEN = 1 << 16  # number of bytes that are read

# The first bytes of a file, and the kind of file.
STARTS: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(start, re.DOTALL), name)
    for start, name in (
        (rb"svm_type ", "a model of LIBSVM"),
        (rb"\x80[\x02-\x05]", "a pickle (pickle, joblib, scikit-learn)"),
        (rb"x[\x01\x5e\x9c\xda]|\x1f\x8b", "a compressed file (joblib, gzip)"),
        (rb"PK\x03\x04", "a zip archive (PyTorch, Keras, NumPy)"),
        (rb"\x89HDF", "an HDF5 file (Keras)"),
    )
)


def foreign_model(path: str | Path) -> str | None:
    """The name of another tool's model format, or None if the first bytes are not recognised."""
    try:
        if not Path(path).is_file():  # reading a pipe would block
            return None
        with Path(path).open("rb") as stream:
            start = stream.read(SEEN)
    except OSError:
        return None
    return named_by_start(start)


def named_by_start(start: bytes) -> str | None:
    """The name of another tool's model format by the first bytes of a file, or None.

    >>> named_by_start(b"svm_type c_svc\\n")
    'a model of LIBSVM'
    """
    if start[8:9] == b"{":  # a directory after its length: a safetensors file, possibly ours
        return None
    return next((name for begins, name in STARTS if begins.match(start)), None)
