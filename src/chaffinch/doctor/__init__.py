"""The data doctor: finds faults in a corpus before a model is trained on it."""

from chaffinch.doctor.corpus_file import CorpusFile, read_corpus
from chaffinch.doctor.examination import CHECKS, Check, Examination, examine
from chaffinch.doctor.finding import ERROR, HINT, SEVERITIES, WARNING, Finding
from chaffinch.doctor.out_of_fold import OutOfFold, out_of_fold

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
    "OutOfFold",
    "examine",
    "out_of_fold",
    "read_corpus",
]
