"""Embedded samples: small synthetic corpora; a seed gives the same corpus on every machine."""

from chaffinch.samples.catalogue import SAMPLES, Sample, load, preview, sample
from chaffinch.samples.chance import SEED
from chaffinch.samples.export import export
from chaffinch.samples.ingredients import ingredients
from chaffinch.samples.letters import letters
from chaffinch.samples.pairs import pairs
from chaffinch.samples.posts import posts
from chaffinch.samples.questions import questions
from chaffinch.samples.quotations import quotations
from chaffinch.samples.reviews import reviews
from chaffinch.samples.topics import topics
from chaffinch.samples.trees import trees

__all__ = [
    "SAMPLES",
    "SEED",
    "Sample",
    "export",
    "ingredients",
    "letters",
    "load",
    "pairs",
    "posts",
    "preview",
    "questions",
    "quotations",
    "reviews",
    "sample",
    "topics",
    "trees",
]
