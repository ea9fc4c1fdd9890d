"""Probabilities of tags and spans in answers, calibrated if the model is; best labellings; changes by rules."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Tagger
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_conditionals import Decided, is_markov, span_probabilities
from chaffinch.model.protocols import LatticeModel
from chaffinch.search.label_rules import RuleBook
from chaffinch.serve.answers import Answer
from chaffinch.text.schemes import BIO, Scheme
from chaffinch.text.schemes.legality import SpanArrays
from chaffinch.text.table import TokenTable
from chaffinch.trust.confidence import TOKENS, Confidence, with_decisions

DIGITS = 6  # of probabilities in answers
FEW = 40  # number of tokens up to which plain numbers are faster than arrays


def marginals(model: Tagger, table: TokenTable) -> NDArray[np.float32] | None:
    """p [tokens, labels]; None if the model has none, or none for these sentences."""
    try:
        return model.answering().marginals(table, model.threads)
    except (ConfigError, DataError):
        return None


def certainties(model: Tagger, p: NDArray[np.float32], ids: NDArray[np.int32]) -> list[float]:
    """The probability of each token's tag, calibrated if the model is calibrated by token."""
    own = p[np.arange(len(ids)), ids].astype(np.float64)
    known = model.confidence_
    return _honest(None if known is None or known.unit != TOKENS else known, own)


def honest_marginals(model: Tagger, p: NDArray[np.float32], ids: NDArray[np.int32]) -> NDArray[np.float64]:
    """p [tokens, labels] with the calibrated certainty of each token's tag; other labels share the rest."""
    return with_decisions(p, ids, np.array(certainties(model, p, ids)))


def span_scores(
    model: Tagger, table: TokenTable, found: SpanArrays, scheme: Scheme, known: Decided | None
) -> list[float | None] | None:
    """The probability of each span, calibrated if the model was; None if the model has none."""
    chain = model.answering()
    if scheme == BIO and isinstance(chain, ChainModel) and is_markov(chain):
        outer = chain.labels.outer
        if all(f"B-{found.names[kind]}" in outer for kind in set(found.kind.tolist())):
            p = span_probabilities(chain, table, found, model.threads, known)
            return [*_honest(model.confidence_, p)]
    try:
        by_bounds = [
            {(s.start, s.end): s.probability for s in of_one} for of_one in model.predict_spans(table)
        ]
    except (ConfigError, DataError):
        return None
    pairs = zip(found.lists(), by_bounds, strict=True)
    return [_rounded(of_one.get((s.start, s.end))) for own, of_one in pairs for s in own]


def _honest(known: Confidence | None, p: NDArray[np.float64]) -> list[float]:
    """Rounded probabilities, calibrated if there is a calibration."""
    if known is not None:
        p = known.to_honest(p) if len(p) > FEW else np.array(known.to_honest.few(p.tolist()))
    return p.round(DIGITS).tolist()


def _rounded(p: float | None) -> float | None:
    return None if p is None else round(p, DIGITS)


def least_certainties(found: SpanArrays, ptr: NDArray[np.int64], sure: list[float]) -> list[float | None]:
    """The certainty of the least certain token of each span."""
    first = np.repeat(ptr[:-1], np.diff(found.ptr))
    bounds = zip((first + found.begin).tolist(), (first + found.end).tolist(), strict=True)
    return [min(sure[a:b]) for a, b in bounds]


def without_rules(model: Tagger, table: TokenTable, answers: Sequence[list[str]]) -> list[Answer | None]:
    """For each answer that the rules changed: the tags without rules, and the rules that they break."""
    labels = model.model_.labels
    book = RuleBook(model.rules_, labels.outer, labels.inner, labels.outer_of)
    free = model.model_.decode(table, model.threads).tolist()
    found: list[Answer | None] = []
    for n, (a, b) in enumerate(pairwise(table.ptr.tolist())):
        tags = [labels.outer[y] for y in free[a:b]]
        if tags == answers[n]:
            found.append(None)
            continue
        broken = [*book.all_broken(free[a:b]), *(rule for rule in book.of_tokens if rule.sentence == n)]
        found.append({"tags": tags, "rules": list(map(str, broken))})
    return found


def best_labellings(model: Tagger, table: TokenTable, k: int) -> list[list[Answer]]:
    """The k best labellings with their probabilities; null if the model has no distribution over labellings."""
    if isinstance(model.answering(), LatticeModel):
        return [
            [{"tags": tags, "p": round(p, DIGITS)} for p, tags in d.kbest(k)]
            if d.T
            else [{"tags": [], "p": 1.0}]
            for d in model.distributions(table)
        ]
    return [[{"tags": tags, "p": None} for _, tags in listed] for listed in model.predict_kbest(table, k)]
