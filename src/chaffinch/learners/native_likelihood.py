"""The likelihood of chains in the core: dual ascent, SGD on whole or pruned lattices, L-BFGS and OWL-QN."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch._core import CrfBatch, CrfObjective, CrfProblem, CrfSdca, CrfSgd
from chaffinch.learners.costs import LabelCosts
from chaffinch.learners.examples import CrfExamples, MonomialExamples, SentenceExamples
from chaffinch.learners.likelihood import FAR, PATH, ROUGH, Lbfgs, PrunedSgd, Sdca, Sgd
from chaffinch.learners.problem import Pass, Problem, State
from chaffinch.scorers import Layout, Linear
from chaffinch.structures import Chain, LocalChain, RuledChain, RuledLocalChain
from chaffinch.structures.ruled import unmet

SDCA_STATE = ("nodes", "pairs", "change", "loss", "smaller", "order", "counts", "mean")
PRUNED_STATE = ("ptr", "labels", "unary", "chain")
LEAST_RATE = 0.001
CALIBRATION_PASSES = 3
CALIBRATED = 500  # sentences on which the step size of SGD is chosen


def fits_likelihood(_learner: Any, problem: Problem) -> bool:
    """Whether sentences are stored end to end, weights have the core's layout, and costs are by label."""
    return (
        isinstance(problem.examples, SentenceExamples)
        and not isinstance(problem.examples, MonomialExamples)
        and problem.scorer.layout.packed
        and (problem.cost is None or isinstance(problem.cost, LabelCosts))
    )


def crf_problem(problem: Problem, *, pruned: bool = False) -> CrfProblem:
    """The problem in the form that the core's likelihood takes."""
    data, chain = problem.examples, problem.structure
    extra: dict[str, Any] = data.native() if isinstance(data, CrfExamples) else {}
    extra |= native_rules(problem, extra, pruned)
    return CrfProblem(
        data.sentences,
        data.ptr,
        data.ids,
        data.y,
        problem.scorer.layout["unary"].rows,
        chain.Y,
        chain.order,
        weight=problem.weight,
        local=isinstance(chain, LocalChain | RuledLocalChain),
        cost=None if problem.cost is None else problem.cost.costs,  # type: ignore[attr-defined]
        values=data.values,
        **extra,
    )


def native_rules(problem: Problem, extra: Mapping[str, Any], pruned: bool) -> dict[str, Any]:
    """The masks, held transitions and states of a chain, as arguments of the core's likelihood.

    extra: further arguments, which may include offsets by token and weights that are not trained
    """
    structure, layout = problem.structure, problem.scorer.layout
    ruled = structure if isinstance(structure, RuledChain) else RuledChain(structure)
    chain, held, states, Y = ruled.chain, ruled.held, ruled.states, ruled.Y
    masks = {"pair": chain.transitions, "start": chain.start, "end": chain.end}
    local = isinstance(structure, LocalChain | RuledLocalChain)
    found: dict[str, Any] = {}
    if held is not None or any(mask is not None for mask in masks.values()):
        first, end = layout["pair"].offset, _chain_end(layout, ruled.order)
        given, fixed = np.zeros(end - first, np.float32), np.zeros(end - first, np.uint8)
        for name, mask in masks.items():
            block, own = _cells(layout, given, name), None if held is None else getattr(held, name)
            if own is not None:
                block[...] = np.where(np.isfinite(own), own, block)
            if mask is not None:
                block[~mask.reshape(block.shape)] = -np.inf
        for name in ("pair", "start", "end", "triple", "first", "last") if held is not None else ():
            if name in {block.name for block in layout}:
                cells = _cells(layout, fixed, name)
                shape = (Y,) * (3 if name == "triple" else cells.ndim)
                at = held.mask(name, len(shape))  # type: ignore[union-attr]
                cells[...] |= np.asarray(at).reshape(cells.shape)
        found["chain"] = given
        if held is not None and pruned:
            found["held"] = fixed
        elif held is not None:
            trainable = extra.get("trainable")
            found["trainable"] = np.ones(layout.size, np.uint8) if trainable is None else trainable.copy()
            found["trainable"][first:end] *= 1 - fixed
    if states is not None and local:
        sentences = problem.examples.sentences
        y = problem.examples.y
        unmet_by_token = [unmet(states, y[a:b], Y) for a, b in pairwise(sentences.tolist())]
        offset = np.concatenate([np.zeros((0, Y), np.float32), *unmet_by_token])
        found["offset"] = offset if extra.get("offset") is None else extra["offset"] + offset
    elif states is not None:
        found["state_label"] = states.label
        found["state_follows"] = np.ascontiguousarray(states.follows, np.uint8)
        found["state_starts"] = np.ascontiguousarray(states.starts, np.uint8)
    return found


def _cells(layout: Layout, flat: NDArray[Any], name: str) -> NDArray[Any]:
    """A view of one block of a chain's flat array, which begins with the pairs, without padding."""
    block = layout[name]
    at = block.offset - layout["pair"].offset
    rows = flat[at : at + block.size].reshape(block.rows, block.stride)
    found: NDArray[Any] = rows[:, : block.columns]
    return found[0] if block.rows == 1 and name in ("start", "end") else found


def _chain_end(layout: Layout, order: int) -> int:
    """Where the blocks of label pairs and triples end."""
    last = layout["last" if order == 2 else "end"]
    return int(_core.padded(last.offset + last.size))


class _Run:
    """The weights of one training run, and the records of its passes."""

    def __init__(self, problem: Problem, state: State | None) -> None:
        self.native = crf_problem(problem)
        self.scorer = problem.scorer
        self.w: NDArray[np.float32] = np.array(problem.scorer.w)
        self.done = 0
        if state is not None:
            self.w[:] = state["w"]
            self.done = int(state["done"][0])

    def record(self, number: int, objective: float, gap: float | None = None, state: Any = None) -> Pass:
        """The record of a pass; ``state`` makes what the learner needs besides w to resume."""
        self.done = number
        scores = {"objective": objective} | ({} if gap is None else {"gap": gap})
        scorer, w = self.scorer, self.w

        def kept() -> State:
            return {"w": w, "done": np.array([number]), **({} if state is None else state())}

        return Pass(number, scores, lambda: scorer.with_weights(w), state=kept)

    def over(self) -> Pass:
        """The last pass before an interruption of the training."""
        scorer, w = self.scorer, self.w
        return Pass(self.done, {}, lambda: scorer.with_weights(w), state=lambda: {"w": w})


def sgd_passes(learner: Sgd, problem: Problem, threads: int, state: State | None) -> Iterator[Pass]:
    """Stochastic gradient descent; resumes from any weights."""
    if learner.calibrate:
        share = min(1.0, CALIBRATED / max(len(problem.examples), 1))
        learner = replace(learner, rate=calibrated_rate(sampled(problem), learner, share))
    return _sgd(learner, _Run(problem, state), problem.seed, threads, state)


def _sgd(learner: Sgd, run: _Run, seed: int, threads: int, state: State | None) -> Iterator[Pass]:
    native = CrfSgd(run.native, learner.c2, learner.rate_or_default, learner.epochs, seed)
    if state is not None:
        native.restore(state["state"])
        if run.done >= learner.epochs:
            yield run.over()
    for number in range(run.done + 1, learner.epochs + 1):
        loss = native.run(run.w, threads)
        objective = loss + learner.c2 * float(np.vdot(run.w, run.w))
        yield run.record(number, objective, state=lambda: {"state": native.state()})


def lbfgs_passes(learner: Lbfgs, problem: Problem, threads: int, state: State | None) -> Iterator[Pass]:
    """L-BFGS or OWL-QN, from any weights; it resumes from a checkpoint with an empty memory."""
    return _lbfgs(learner, _Run(problem, state), problem.seed, threads, state)


def _lbfgs(learner: Lbfgs, run: _Run, seed: int, threads: int, state: State | None) -> Iterator[Pass]:
    if state is None and learner.start is not None and learner.c1 == 0:
        start = replace(learner.start, c2=learner.c2)
        for one in _sgd(start, run, seed, threads, None):
            yield replace(one, state=dict)
    if learner.c1 > 0:
        yield from _owl_qn(learner, run, threads, state)
        return
    fisher = learner.fisher or learner.start is not None
    native = CrfBatch(run.native, 0.0, learner.c2, run.w, fisher=fisher, threads=threads)
    before, small = native.value, 0
    started = run.done
    for number in range(started + 1, started + learner.steps + 1):
        moved = native.run(run.w)
        fall = (before - native.value) / max(abs(native.value), 1e-300)
        before = native.value
        yield run.record(number, before, fall)
        small = small + 1 if fall < learner.tolerance else 0
        if not moved or small == 2:
            return


def _owl_qn(learner: Lbfgs, run: _Run, threads: int, state: State | None) -> Iterator[Pass]:
    """Follow a path of falling L1 penalties from weights of zero, then rounds of steps under the requested penalty.

    A round moves an active set of weights and ends when two steps have lowered f only a little. It is the last round
    if no other weight has a reason to leave zero, or if the whole round has lowered f only a little.
    """
    c1, number, last = learner.c1, run.done, run.done + learner.steps
    path = PATH if state is None and not run.w.any() else ()
    native = CrfBatch(run.native, c1 * max((*path, 1.0)), learner.c2, run.w, fisher=True, threads=threads)

    def steps(most: int, tolerance: float, times: int) -> Iterator[tuple[float, float]]:
        """Step until ``times`` steps in a row lower f by less than the tolerance: f for the requested c1, its fall."""
        before, small = native.value, 0
        for _ in range(most):
            moved = native.run(run.w)
            fall = (before - native.value) / max(abs(native.value), 1e-300)
            before = native.value
            yield native.value - (native.c1 - c1) * float(np.abs(run.w).sum(dtype=np.float64)), fall
            small = small + 1 if fall < tolerance else 0
            if not moved or small == times:
                return

    for i, _ in enumerate(path):
        for objective, _ in steps(last - number - 1, ROUGH, 1):
            number += 1
            yield replace(run.record(number, objective), model=None, state=dict)
        native.widen(c1 * (*path, 1.0)[i + 1])
    while number < last:
        begun = native.value
        for objective, fall in steps(last - number, learner.tolerance, 2):
            number += 1
            yield run.record(number, objective, fall)
        lowered = begun - native.value < learner.tolerance * abs(native.value)
        if native.widen(c1) == 0 or lowered:
            return


def sdca_passes(learner: Sdca, problem: Problem, threads: int, state: State | None) -> Iterator[Pass]:
    """Dual coordinate ascent from weights of zero, then L-BFGS if the optimum is still far."""
    run = _Run(problem, state)
    still = learner.still * min(1.0, learner.c2 + learner.hold)
    native = CrfSdca(
        run.native,
        learner.c2,
        still=still,
        skip_quiet=True,
        seed=problem.seed,
        c1=learner.c1,
        hold=learner.hold,
    )
    if state is not None and "nodes" in state:
        nodes, pairs, change, loss, smaller, order, counts, mean = (state[name] for name in SDCA_STATE)
        native.restore(nodes, pairs, change, loss, smaller, order, counts, float(mean[0]))
        if learner.c1 > 0:
            native.restore_held(state["sums"], *state["held"].tolist())
    gap = np.inf if state is None or "gap" not in state else float(state["gap"][0])

    def memory() -> State:
        nodes, pairs, change, loss, smaller, order, counts, mean = native.state()
        arrays = (nodes, pairs, change, loss, smaller, order, counts, np.array([mean]))
        found: dict[str, NDArray[Any]] = dict(zip(SDCA_STATE, arrays, strict=True))
        found["gap"] = np.array([gap])
        if learner.c1 > 0:
            sums, *held = native.held()
            found |= {"sums": sums, "held": np.array(held)}
        return found

    def keep() -> None:
        if learner.kept is not None and learner.c1 == 0:
            learner.kept.state, learner.kept.w = native.state(), run.w.copy()

    def keep_marginals() -> None:
        """Keep the marginals under w: at the optimum they are the duals, however it was reached."""
        if learner.kept is not None and learner.c1 == 0:
            native = CrfSdca(run.native, learner.c2, seed=problem.seed)
            native.start_at(run.w)
            learner.kept.state, learner.kept.w = native.state(), run.w.copy()

    near = gap < learner.tolerance or (run.done >= learner.epochs and gap <= FAR * learner.tolerance)
    if near or (run.done >= learner.epochs and learner.finish is None):  # it was finished
        keep()
        yield run.over()
        return
    for number in range(run.done + 1, learner.epochs + 1):
        met = native.run(run.w)
        gap = met.gap
        try:
            yield run.record(number, met.loss + met.penalty, gap, memory)
        except GeneratorExit:
            keep()
            raise
        if gap < learner.tolerance:
            keep()
            return
    if learner.finish is None or gap <= FAR * learner.tolerance:
        keep()
    if learner.finish is not None and gap > FAR * learner.tolerance:
        del native, memory
        finish = replace(learner.finish, c1=learner.c1, c2=learner.c2, start=None, fisher=True)
        try:
            yield from _lbfgs(finish, run, problem.seed, threads, None)
        except GeneratorExit:
            keep_marginals()
            raise
        keep_marginals()


def fits_pruned(learner: PrunedSgd, problem: Problem) -> bool:
    """Whether the core's likelihood fits the problem and the chain is of the first order."""
    return fits_likelihood(learner, problem) and problem.structure.order == 1


def pruned_passes(learner: PrunedSgd, problem: Problem, _threads: int, state: State | None) -> Iterator[Pass]:
    """SGD on lattices of the likely labels of each token; it returns sparse weights."""
    c2, rate, epochs = learner.c2, learner.rate_or_default, learner.epochs
    native = _core.PrunedSgd(
        crf_problem(problem, pruned=True), c2, rate, epochs, learner.threshold, learner.most, problem.seed
    )
    done = 0
    if state is not None:
        ptr, labels, unary, chain = (state[name] for name in PRUNED_STATE)
        native.load(ptr, labels, unary, chain)
        native.restore(state["state"])
        done = int(state["done"][0])
        if done >= epochs:
            yield Pass(done, {}, native.weights, state=lambda: state)
    for number in range(done + 1, epochs + 1):
        loss = native.run()
        if number == 1 and learner.all_pairs:
            native.widen()
        _, _, unary, chain = native.weights()
        objective = loss + c2 * float(np.vdot(unary, unary) + np.vdot(chain, chain))
        del unary, chain

        def kept(number: int = number) -> State:
            named: dict[str, NDArray[Any]] = dict(zip(PRUNED_STATE, native.weights(), strict=True))
            return {**named, "state": native.state(), "done": np.array([number])}

        yield Pass(number, {"objective": objective}, native.weights, state=kept)


def calibrated_rate(problem: Problem, learner: Sgd, share: float = 1.0) -> float:
    """The initial step size for which a few passes of SGD over a sample of sentences reach the lowest objective.

    It is the learner's own, halved for as long as halving helps. It is never increased: a step that is too large for
    the sample is too large for all sentences, but a sample takes fewer steps and so would prefer larger ones.

    share: the sample as a fraction of all sentences, by which the penalty is scaled
    """
    native, c2, rate = crf_problem(problem), share * learner.c2, learner.rate_or_default
    scratch = np.empty(native.size, np.float32)

    def reached(size: float) -> float:
        w = np.zeros(native.size, np.float32)
        sgd = CrfSgd(native, c2, size, CALIBRATION_PASSES, problem.seed)
        for _ in range(CALIBRATION_PASSES):
            sgd.run(w)
        value = CrfObjective(native, c2, 1)(w, scratch)
        return value if np.isfinite(value) else np.inf

    best = reached(rate)
    while rate > LEAST_RATE and (value := reached(rate / 2)) < best:
        rate, best = rate / 2, value
    return rate


def sampled(problem: Problem) -> Problem:
    """A problem of at most ``CALIBRATED`` evenly spaced sentences: certain labels, order 1, token features only."""
    data, N = problem.examples, len(problem.examples)
    chosen = np.zeros(N, bool)
    chosen[np.unique(np.arange(min(N, CALIBRATED)) * N // max(min(N, CALIBRATED), 1))] = True
    tokens = np.repeat(chosen, np.diff(data.sentences))
    counts = np.diff(data.ptr)
    examples = SentenceExamples(
        np.concatenate([[0], np.cumsum(np.diff(data.sentences)[chosen])]).astype(np.int64),
        np.concatenate([[0], np.cumsum(counts[tokens])]).astype(np.int64),
        np.ascontiguousarray(data.ids[np.repeat(tokens, counts)]),
        np.ascontiguousarray(data.y[tokens]),
        values=None if data.values is None else np.ascontiguousarray(data.values[np.repeat(tokens, counts)]),
    )
    F, Y = problem.scorer.layout["unary"].rows, problem.structure.Y
    weight = None if problem.weight is None else problem.weight[chosen]
    return Problem(Chain(Y), Linear(Layout.packed_chain(F, Y)), examples, weight, problem.cost, problem.seed)
