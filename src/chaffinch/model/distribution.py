"""The distribution of a chain over all labellings of one sentence, and its queries."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import DataError
from chaffinch.model.labels import LabelSet
from chaffinch.model.protocols import LatticeModel
from chaffinch.model.temperature import tempered
from chaffinch.structures import Chain, Parts
from chaffinch.text.table import TokenTable

CLOSING = (("E", "S"), ("L", "U"))  # of BIOES and BILOU: the last of several tokens, and a single one


@dataclass(frozen=True, eq=False)
class SentenceDistribution:
    """p(y|x) = exp(s(x, y)) / Z(x) over the labellings of a sentence x, in terms of the labels that users see.

    A labelling of outer labels stands for all inner ones with these outer labels; its probability is
    their sum.

    to_honest: maps the chain's probability of a span to a calibrated one; None: uncalibrated
    """

    chain: Chain
    potentials: Parts
    labels: LabelSet
    to_honest: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None

    @property
    def T(self) -> int:
        """The number of tokens."""
        return len(self.potentials["unary"])

    @cached_property
    def log_z(self) -> float:
        """The logarithm of the sum of exp(score) over all labellings."""
        return self.chain.logsum(self.potentials)[0]

    @cached_property
    def marginals(self) -> NDArray[np.floating]:
        """p(y_t|x): [T, labels]."""
        return self.labels.collapsed(self._inner_marginals)

    @cached_property
    def pair_marginals(self) -> NDArray[np.floating]:
        """p(y_t, y_{t+1}|x): [T-1, labels, labels]."""
        Y = self.chain.Y
        if self.chain.order == 2:
            raise DataError("pair marginals need a chain of order 1; this one has order 2")
        pair = self.potentials["pair"]
        by_position = np.broadcast_to(pair, (max(self.T - 1, 0), Y, Y))
        parts = {**dict(self.potentials.items()), "pair": np.ascontiguousarray(by_position)}
        if self.T < 2:
            return np.zeros((0, len(self.labels.outer), len(self.labels.outer)))
        joint = self.chain.logsum(Parts(**parts))[1]["pair"]
        onto = np.eye(len(self.labels.outer))[self.labels.outer_of]
        return onto.T @ joint @ onto

    def posterior(self) -> list[str]:
        """The labelling with the highest expected accuracy of all that the rules of the model allow.

        It gives each token its most probable label, unless these labels together break a rule.
        """
        return [
            self.labels.outer[i]
            for i in posterior_labels(self.chain, self.potentials, self.labels, self.marginals)
        ]

    def best(self) -> list[str]:
        """The most probable labelling (Viterbi)."""
        return self._outer(self.chain.argmax(self.potentials))

    def kbest(self, k: int) -> list[tuple[float, list[str]]]:
        """The k most probable labellings with their probabilities exp(score - log Z), best first."""
        found = self.chain.kbest(self.potentials, k)
        return [(exp(score - self.log_z), self._outer(y)) for score, y in found]

    def probability(self, labels: Sequence[str]) -> float:
        """p(labels|x) of a whole sentence's labels."""
        if len(labels) != self.T:
            raise DataError(f"expected a label for each of {self.T} tokens, found {len(labels)}")
        return self.probability_of(dict(enumerate(labels)))

    def probability_of(self, fixed: Mapping[int, str]) -> float:
        """The probability that these tokens have these labels, summed over the others."""
        return self._mass({t: [label] for t, label in fixed.items()})

    def span_probability(self, start: int, end: int, label: str) -> float:
        """The probability that tokens start .. end-1 are a span of this kind, exactly.

        With labels in BIO that is B, then I, and no I after it; in BIOES and BILOU the tags of the span; labels
        without a scheme, and those with I alone, are runs with another label, or nothing, on either side. A calibrated
        tagger maps that probability to the precision of spans with that probability on held-out data.
        """
        if not 0 <= start < end <= self.T:
            raise DataError(
                f"expected a span within 0..{self.T}, the tokens of the sentence, got {start}..{end}"
            )
        begin, inside = f"B-{label}", f"I-{label}"
        outer = self.labels.outer
        closing = next((c for c in CLOSING if any(f"{letter}-{label}" in outer for letter in c)), None)
        barred: dict[int, str] = {}
        if closing is not None:  # the last tag says that the span ends
            last, alone = closing
            letters = [alone] if end == start + 1 else ["B", *"I" * (end - start - 2), last]
            tags = [f"{letter}-{label}" for letter in letters]
            if not set(tags) <= set(outer):
                return 0.0
            wanted = {t: [tag] for t, tag in enumerate(tags, start)}
        elif begin not in outer and inside in outer:  # only I: runs
            wanted = {t: [inside] for t in range(start, end)}
            barred = {start - 1: inside, end: inside}
        elif begin in outer:
            wanted = {start: [begin]} | {t: [inside] for t in range(start + 1, end)}
            barred = {end: inside}
        else:
            wanted = {t: [label] for t in range(start, end)}
            barred = {start - 1: label, end: label}
        for t, bar in barred.items():
            if 0 <= t < self.T:
                wanted[t] = [other for other in self.labels.outer if other != bar]
        p = self._mass(wanted)
        return p if self.to_honest is None else float(self.to_honest(np.array([p]))[0])

    @cached_property
    def entropy(self) -> float:
        """- sum_y p(y|x) log p(y|x), over inner labellings: log Z - E[score]."""
        log_z, expected = self.chain.logsum(self.potentials)
        total = 0.0
        for name, p in expected.items():
            s = self.potentials[name]
            total += float((p[p > 0].astype(np.float64) * s[p > 0]).sum())
        return max(0.0, log_z - total)

    def sample(self, n: int, seed: int) -> list[list[str]]:
        """n labellings drawn from p(y|x)."""
        return [self._outer(y) for y in self.chain.sample(self.potentials, n=n, seed=seed)]

    @cached_property
    def _inner_marginals(self) -> NDArray[np.float32]:
        return self.chain.logsum(self.potentials)[1]["unary"].astype(np.float32)

    def _mass(self, wanted: Mapping[int, Sequence[str]]) -> float:
        """The probability that each of these tokens has one of its labels."""
        allowed = np.ones((self.T, self.chain.Y), bool)
        for t, names in wanted.items():
            unknown = [name for name in names if name not in self.labels.outer]
            if unknown or not 0 <= t < self.T:
                known = ", ".join(self.labels.outer[:12])
                raise DataError(f"token {t}, label {(unknown or names)[0]!r}: labels are {known}")
            places = [self.labels.outer.index(name) for name in names]
            allowed[t] = np.isin(self.labels.outer_of, places)
        try:
            return exp(min(0.0, self.chain.logsum(self.potentials, allowed=allowed)[0] - self.log_z))
        except DataError:  # no labelling is allowed
            return 0.0

    def _outer(self, y: NDArray[np.int32]) -> list[str]:
        return [self.labels.outer[i] for i in self.labels.outer_of[y].tolist()]


def posterior_labels(
    chain: Chain, potentials: Parts, labels: LabelSet, marginals: NDArray[np.floating]
) -> list[int]:
    """The outer labels of the possible labelling with the highest sum of ``marginals`` [T, outer labels]."""
    likeliest = marginals.argmax(axis=1)
    masks = (chain.transitions, chain.start, chain.end)
    free = all(mask is None for mask in masks) and not any(
        np.isneginf(b).any() for _, b in potentials.items()
    )
    if free or not len(likeliest):
        found: list[int] = likeliest.tolist()
        return found
    gains = marginals.astype(np.float64)[:, labels.outer_of]
    return labels.outer_of[chain.posterior(potentials, gains=gains)].tolist()


def distributions(
    model: LatticeModel,
    table: TokenTable,
    threads: int,
    to_honest: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
) -> Iterator[SentenceDistribution]:
    """The distribution of each sentence of a table, in order; that of a pruned chain is over the labels it tries."""
    for chain, parts in model.lattices(table, threads):
        potentials = tempered(_double(parts), model.temperature)
        yield SentenceDistribution(chain, potentials, model.lattice_labels, to_honest)


def _double(parts: Parts) -> Parts:
    return Parts(**{name: block.astype(np.float64) for name, block in parts.items()})
