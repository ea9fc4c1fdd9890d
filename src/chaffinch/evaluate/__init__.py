"""Scores: of tags, documents, trees and word links; confidence intervals, paired tests, examples of errors."""

from chaffinch.evaluate.alignments import AlignmentScores, link_tally, score_alignments
from chaffinch.evaluate.conventions import CONVENTIONS, SCHEMES, marks_spans
from chaffinch.evaluate.documents import DocumentScores, LabelPair, score_documents
from chaffinch.evaluate.evaluation import Evaluation, evaluate_files
from chaffinch.evaluate.intervals import Comparison, Interval, compare, intervals
from chaffinch.evaluate.label_sets import LabelSets, LabelSetScores, score_label_sets
from chaffinch.evaluate.rates import Rates
from chaffinch.evaluate.spans import TextSpanScores, score_spans
from chaffinch.evaluate.tags import SpanScores, TagPair, TagScorer, TagScores, score_tags
from chaffinch.evaluate.tally import Tally
from chaffinch.evaluate.trees import TreeScores, score_trees, tree_tally

__all__ = [
    "CONVENTIONS",
    "SCHEMES",
    "AlignmentScores",
    "Comparison",
    "DocumentScores",
    "Evaluation",
    "Interval",
    "LabelPair",
    "LabelSetScores",
    "LabelSets",
    "Rates",
    "SpanScores",
    "TagPair",
    "TagScorer",
    "TagScores",
    "Tally",
    "TextSpanScores",
    "TreeScores",
    "compare",
    "evaluate_files",
    "intervals",
    "link_tally",
    "marks_spans",
    "score_alignments",
    "score_documents",
    "score_label_sets",
    "score_spans",
    "score_tags",
    "score_trees",
    "tree_tally",
]
