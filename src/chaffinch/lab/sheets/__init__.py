"""Question sheets: what models of each kind are asked about a corpus, and what their answers are made of."""

from chaffinch.lab.sheets.labels import LabelSheet
from chaffinch.lab.sheets.links import LinkSheet
from chaffinch.lab.sheets.sheet import Confusion, QuestionSheet, place
from chaffinch.lab.sheets.tags import TagSheet
from chaffinch.lab.sheets.trees import TreeSheet

__all__ = ["Confusion", "LabelSheet", "LinkSheet", "QuestionSheet", "TagSheet", "TreeSheet", "place"]
