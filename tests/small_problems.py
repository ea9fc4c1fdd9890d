"""Small problems of structured learning, and their optimum by enumeration and SciPy."""

from typing import Any

import numpy as np
from scipy.optimize import minimize

import brute
from chaffinch.learners.choice import document_problem
from chaffinch.learners.examples import DocumentExamples, SentenceExamples
from chaffinch.learners.problem import Problem
from chaffinch.scorers import Example, Layout, Linear
from chaffinch.structures import Chain, Choice


def documents(*, importance: Any, seed: int = 0, **given: Any) -> Problem:
    """Documents as a problem, from what DocumentExamples are made of."""
    return document_problem(DocumentExamples(**given), importance, seed)


def chain_problem(*, N: int = 8, Y: int = 3, F: int = 8, longest: int = 4, seed: int = 0) -> Problem:
    """Noisy sentences, end to end."""
    chance = np.random.default_rng(seed)
    truth = chance.normal(size=(F, Y))
    lengths = chance.integers(1, longest + 1, N)
    sentences = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    T = int(sentences[-1])
    ids = np.stack([np.sort(chance.choice(F, 3, replace=False)) for _ in range(T)]).astype(np.int32)
    y = np.argmax(truth[ids].sum(1) + 0.7 * chance.normal(size=(T, Y)), axis=1).astype(np.int32)
    examples = SentenceExamples(sentences, np.arange(T + 1) * 3, ids.reshape(-1), y)
    return Problem(Chain(Y), Linear(Layout.chain(F, Y)), examples)


def choice_problem(*, N: int = 10, Y: int = 3, F: int = 6, seed: int = 0) -> Problem:
    """Noisy documents."""
    chance = np.random.default_rng(seed)
    truth = chance.normal(size=(F, Y))
    examples = []
    for _ in range(N):
        ids = np.sort(chance.choice(F, 3, replace=False)).astype(np.int32)
        y = int(np.argmax(truth[ids].sum(0) + chance.normal(size=Y)))
        examples.append((Example(np.array([0, 3]), ids), y))
    return Problem(Choice(Y), Linear(Layout.choice(F, Y)), examples)


def enumerated_planes(problem: Problem, slack: bool = False) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each example, the differences [planes, len(w)] and losses [planes] of all its answers."""
    structure, made = problem.costed, []
    for x, y in problem.examples:
        potentials = problem.scorer.potentials(x)
        cost, gold = structure.cost(potentials.shape, y), structure.parts(potentials.shape, y)
        rows, losses = [], []
        for answer in brute.labelings(getattr(structure, "structure", structure), potentials):
            parts = structure.parts(potentials.shape, answer)
            loss = cost.dot(parts)
            w = Linear(problem.scorer.layout)
            w.update(x, gold - parts, loss if slack else 1.0)
            rows.append(w.w.astype(np.float64))
            losses.append(loss)
        made.append((np.stack(rows), np.array(losses)))
    return made


def primal(planes: list[tuple[np.ndarray, np.ndarray]], w: np.ndarray, C: float) -> float:
    """|w|^2 / 2 + C sum of the hinges, by enumeration."""
    return float(w @ w) / 2 + C * sum(float(np.max(losses - rows @ w)) for rows, losses in planes)


def optimum(problem: Problem, C: float, slack: bool = False) -> float:
    """The least primal: the problem with a slack variable per example, by SciPy."""
    planes = enumerated_planes(problem, slack)
    rows = np.concatenate([r for r, _ in planes])
    losses = np.concatenate([v for _, v in planes])
    of = np.repeat(np.arange(len(planes)), [len(v) for _, v in planes])
    W, N = rows.shape[1], len(planes)
    A = np.concatenate([rows, np.eye(N)[of]], axis=1)  # w . d + xi >= loss

    def value(v: np.ndarray) -> Any:
        return v[:W] @ v[:W] / 2 + C * v[W:].sum(), np.concatenate([v[:W], np.full(N, C)])

    start = np.concatenate([np.zeros(W), [losses[of == n].max() for n in range(N)]])
    constraint = {"type": "ineq", "fun": lambda v: A @ v - losses, "jac": lambda _: A}
    found = minimize(
        value,
        start,
        jac=True,
        constraints=[constraint],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    return primal(planes, found.x[:W], C)
