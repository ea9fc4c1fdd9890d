"""What the tests of learning on share: trained taggers, held-out sentences, and their mistakes."""

from functools import cache

import numpy as np

import chaffinch
from chaffinch import Tagger, samples
from chaffinch.errors import ConfigError
from chaffinch.text.table import TokenTable

N, HELD_OUT = 600, 600
sample = cache(samples.load)


def part(start: int, end: int, name: str = "ingredients") -> TokenTable:
    return TokenTable.from_documents(sample(name)[start:end])


@cache
def fitted_once(end: int, recipe: str = "crf", folds: int | None = None) -> Tagger:
    return Tagger(recipe, folds=folds, seed=1, threads=1).fit(part(0, end))


def trained(end: int = N) -> Tagger:
    """A tagger of its own for each test; the first that asks trains it."""
    return twin(fitted_once(end))


def uncalibrated(end: int, recipe: str = "crf") -> Tagger:
    """The same without the folds that calibrate it."""
    return twin(fitted_once(end, recipe, 0))


def answers(tagger: Tagger, table: TokenTable) -> list[list[str]]:
    return tagger.predict(table)


def mistakes(tagger: Tagger, table: TokenTable) -> list[int]:
    pairs = zip(answers(tagger, table), table.lists("y"), strict=True)
    return [n for n, (found, gold) in enumerate(pairs) if found != gold]


def sentence(table: TokenTable, n: int) -> TokenTable:
    return table.of_sentences(np.arange(table.n_sentences) == n)


def twin(tagger: Tagger) -> Tagger:
    made = object.__new__(Tagger)
    vars(made).update(vars(tagger))
    return made


def refusal_of(tagger: Tagger, lesson: TokenTable) -> str | None:
    try:
        tagger.partial_fit(lesson)
    except ConfigError as e:
        return str(e)
    return None


def reloaded(tagger: Tagger, path) -> Tagger:
    tagger.save(path)
    made = chaffinch.load(path)
    made.threads = 1
    return made
