"""Rules that a tagger's answers must obey: ``Tagger.with_rules``, ``chaffinch predict --rules``."""

from chaffinch.search.label_rules import (
    Infeasible,
    Rule,
    before,
    contiguous,
    forbid,
    must,
    needs_earlier,
    never,
    once,
    read_rules,
)

__all__ = [
    "Infeasible",
    "Rule",
    "before",
    "contiguous",
    "forbid",
    "must",
    "needs_earlier",
    "never",
    "once",
    "read_rules",
]
