"""The data doctor: faults of a corpus, found before a model learns them."""

from chaffinch.doctor.corpus_file import CorpusFile, read_corpus
from chaffinch.doctor.examination import CHECKS, Check, Examination, examine
from chaffinch.doctor.finding import ERROR, HINT, SEVERITIES, WARNING, Finding
from chaffinch.doctor.opinions import Opinions, held_out_opinions

__all__ = [
    "CHECKS",
    "ERROR",
    "HINT",
    "SEVERITIES",
    "WARNING",
    "Check",
    "CorpusFile",
    "Examination",
    "Finding",
    "Opinions",
    "examine",
    "held_out_opinions",
    "read_corpus",
]
