"""Rescue: models of other tools, read from their own files or objects into models of ours."""

from chaffinch.rescue.agreement import Answer, ModelAgreement, verify
from chaffinch.rescue.foreign import ForeignFile, ForeignFormat, ForeignObject, Rescued
from chaffinch.rescue.registry import FORMATS, OBJECTS, format_of, rescued, rescued_object

__all__ = [
    "FORMATS",
    "OBJECTS",
    "Answer",
    "ForeignFile",
    "ForeignFormat",
    "ForeignObject",
    "ModelAgreement",
    "Rescued",
    "format_of",
    "rescued",
    "rescued_object",
    "verify",
]
