"""Scores: of tags, documents, trees and word links; intervals, paired tests, errors worth reading."""

from chaffinch.evaluate.conventions import CONVENTIONS, SCHEMES, marks_spans
from chaffinch.evaluate.rates import Rates
from chaffinch.evaluate.tags import SpanScores, TagPair, TagScorer, TagScores, score_tags

__all__ = [
    "CONVENTIONS",
    "SCHEMES",
    "Rates",
    "SpanScores",
    "TagPair",
    "TagScorer",
    "TagScores",
    "marks_spans",
    "score_tags",
]
