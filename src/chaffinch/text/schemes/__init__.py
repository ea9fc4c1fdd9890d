"""Tag schemes: detection, validation, conversion, repair, and the mask of allowed transitions."""

from chaffinch.text.schemes.legality import (
    TagFault,
    detect,
    detect_column,
    legal_transitions,
    validate,
    validate_column,
)
from chaffinch.text.schemes.recoding import TagChange, convert, convert_column, repair, repair_column
from chaffinch.text.schemes.spans import TokenSpan, spans, tags_of
from chaffinch.text.schemes.table import (
    BILOU,
    BIO,
    BIOES,
    IO,
    IOB1,
    IOE1,
    IOE2,
    OUTSIDE,
    SCHEMES,
    Scheme,
    scheme_named,
    scheme_of,
    tag_set,
)

__all__ = [
    "BILOU",
    "BIO",
    "BIOES",
    "IO",
    "IOB1",
    "IOE1",
    "IOE2",
    "OUTSIDE",
    "SCHEMES",
    "Scheme",
    "TagChange",
    "TagFault",
    "TokenSpan",
    "convert",
    "convert_column",
    "detect",
    "detect_column",
    "legal_transitions",
    "repair",
    "repair_column",
    "scheme_named",
    "scheme_of",
    "spans",
    "tag_set",
    "tags_of",
    "validate",
    "validate_column",
]
