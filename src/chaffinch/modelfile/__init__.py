"""The model file: one file without code, checked completely before anything in it is used.

docs/model-file.md specifies the bytes. A recipe saves itself with :func:`write` and loads itself with :func:`read`.
The required sections, with their types, shapes and ranges, are declared once as the fields of a :class:`Saved`
dataclass, or requested with :class:`Requirements`.

>>> import tempfile, numpy as np
>>> from pathlib import Path
>>> path = Path(tempfile.mkdtemp()) / "tiny.chaff"
>>> header = Header(recipe="hmm", labels=("DET", "NOUN"), seed=1, droppable=("feature_names",))
>>> write(path, header, {"pair": np.zeros((2, 2), np.float32)}, {"feature_names": ["w=the", "w=dog"]})
>>> model = read(path)
>>> need = Requirements(model, Y=len(model.header.labels))
>>> need.array("pair", np.float32, ("Y", "Y"), finite=True).shape
(2, 2)
>>> need.strings("feature_names", "F")
StringList(['w=the', 'w=dog'])
"""

from chaffinch.modelfile.compressed import read
from chaffinch.modelfile.file import (
    EXTENSION,
    ModelFile,
    Section,
    as_json,
    drop_names,
    sections,
    write,
)
from chaffinch.modelfile.fingerprint import fingerprint
from chaffinch.modelfile.header import FORMAT, Header
from chaffinch.modelfile.requirements import Requirements
from chaffinch.modelfile.schema import (
    Packed,
    Saved,
    array,
    fact,
    given,
    inside,
    listed_strings,
    nested,
    strings,
)
from chaffinch.modelfile.strings import StringList

__all__ = [
    "EXTENSION",
    "FORMAT",
    "Header",
    "ModelFile",
    "Packed",
    "Requirements",
    "Saved",
    "Section",
    "StringList",
    "array",
    "as_json",
    "drop_names",
    "fact",
    "fingerprint",
    "given",
    "inside",
    "listed_strings",
    "nested",
    "read",
    "sections",
    "strings",
    "write",
]
