"""Online learning of sentences in blocks, for training sets that are not in memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.knobs import knob
from chaffinch.learners.block_sgd import ExampleBlocks, Pace, ahead, mixtures, ranges
from chaffinch.learners.examples import SentenceExamples
from chaffinch.learners.learner import Learner
from chaffinch.learners.native_chain import chain_trainer
from chaffinch.learners.online import OnlineLearner, Perceptron
from chaffinch.learners.problem import Pass, Problem, State
from chaffinch.scorers import Linear

_NONE = SentenceExamples(
    np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32)
)


@dataclass(frozen=True, kw_only=True)
class BlockOnline(Learner):
    """The updates of an online rule, in the order of :func:`mixtures`, which needs a few blocks in memory at a time.

    Sentences in memory, given in this order, make the same model, bit by bit.

    sizes: int64 [blocks], the sizes of blocks of sentences in memory; None: the examples are :class:`ExampleBlocks`
    """

    rule: OnlineLearner = field(default_factory=Perceptron)
    mixed: int = knob(8, "blocks in memory at a time; their sentences are shuffled together", low=1)
    sizes: Any = None

    def passes(self, problem: Problem, threads: int = 0, state: State | None = None) -> Iterator[Pass]:
        """Train epoch by epoch; a checkpoint may be written after any mixture of blocks."""
        rule, layout = self.rule, problem.scorer.layout
        blocks = isinstance(problem.examples, ExampleBlocks)
        sizes = problem.examples.sizes if blocks else np.asarray(self.sizes)
        starts = np.cumsum(sizes) - sizes
        trainer = chain_trainer(rule, Problem(problem.structure, problem.scorer, _NONE))
        first, done, wrong, pace = 1, 0, 0, Pace("sentences")
        if state is not None:
            first, done, wrong, time = (int(n) for n in state["place"])
            trainer.resume(state["w"], state["u"], state["sigma"], time)
        del state  # as large as the trainer's tables
        if not blocks:
            _take(trainer, problem.examples)

        def kept(epoch: int, done: int, wrong: int) -> State:
            w, u, sigma, time = trainer.state()
            return {"w": w, "u": u, "sigma": sigma, "place": np.array([epoch, done, wrong, time])}

        def scorer() -> Linear:
            return Linear(layout, trainer.weights(rule.average))

        for epoch in range(first, rule.epochs + 1):
            order = mixtures(sizes, self.mixed, rule.seed, epoch)
            made: Iterator[Any] = ahead(problem, order[done:], threads) if blocks else iter(order[done:])
            for number, mixture in enumerate(order[done:], done + 1):
                which = mixture.order
                if blocks:
                    _take(trainer, _NONE)  # frees the sentences before the next ones are made
                    _take(trainer, next(made))
                else:
                    which = ranges(starts[mixture.blocks], sizes[mixture.blocks])[which]
                wrong += trainer.epoch(which)[2]
                rate = pace(len(which))
                if number < len(order):
                    here = partial(kept, epoch, number, wrong)
                    yield Pass(epoch, rate, None, rule.epochs, state=here, part=(number, len(order)))
            share, done, wrong = wrong / max(1, len(problem.examples)), 0, 0
            yield Pass(epoch, {"wrong": share}, scorer, rule.epochs, state=partial(kept, epoch + 1, 0, 0))
        if first > rule.epochs:
            yield Pass(rule.epochs, {}, scorer, rule.epochs, state=dict)

    def generic(self, problem: Problem) -> Iterator[Pass]:
        """The loop over the protocols, for sentences in memory."""
        sizes = np.asarray(self.sizes)
        starts = np.cumsum(sizes) - sizes

        def order(epoch: int) -> NDArray[np.int64]:
            parts = mixtures(sizes, self.mixed, self.rule.seed, epoch)
            return np.concatenate([ranges(starts[m.blocks], sizes[m.blocks])[m.order] for m in parts])

        return self.rule.loop(problem, order)


def _take(trainer: Any, examples: SentenceExamples) -> None:
    trainer.take(examples.sentences, examples.ptr, examples.ids, examples.y, examples.values)
