"""spaCy: a pipeline component, and training from docs; needs the extra [spacy]."""

from chaffinch.compat.spacy.component import Chaffinch
from chaffinch.compat.spacy.training import train

__all__ = ["Chaffinch", "train"]
