"""The CRF's objective: gradient against differences, value against enumeration, the same for any thread count."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from chaffinch import _core

Sizes = dict[str, int]


def _rows(rng: np.random.Generator, tokens: int, F: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    lengths = rng.integers(0, 5, tokens)
    ptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return ptr, rng.integers(0, F, int(ptr[-1])).astype(np.int32)


def problem(seed: int, Y: int = 3, F: int = 7, order: int = 1, lengths=(3, 1, 4, 2), **more):
    rng = np.random.default_rng(seed)
    sentences = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    T = int(sentences[-1])
    ptr, ids = _rows(rng, T, F)
    y = rng.integers(0, Y, T).astype(np.int32)
    if more.pop("soft", False):
        more["soft"] = rng.dirichlet(np.ones(Y), T).astype(np.float32)
    if more.pop("partial", False):
        allowed = rng.random((T, Y)) < 0.5
        allowed[np.arange(T), y] = True
        more["allowed"] = allowed.astype(np.uint8)
    if more.pop("weighted", False):
        more["weight"] = rng.uniform(0.5, 3, len(lengths)).astype(np.float32)
    if more.pop("offset", False):
        more["offset"] = rng.normal(size=(T, Y)).astype(np.float32)
    if more.pop("valued", False):
        more["values"] = rng.normal(size=len(ids)).astype(np.float32)
    if more.pop("margin", False):
        more["cost"] = (rng.uniform(0.5, 3, (Y, Y)) * (1 - np.eye(Y))).astype(np.float32)
    if more.pop("bigrams", False):
        more["observed"] = rng.integers(-1, 4, (T, 2)).astype(np.int32)
        more["observations"] = [4, 4]
    return _core.CrfProblem(sentences, ptr, ids, y, F, Y, order, **more), (sentences, ptr, ids, y, more)


def weights(seed: int, p, Y: int) -> NDArray[np.float64]:
    """Random weights, zero in the padding."""
    w = np.random.default_rng(seed).normal(size=p.size)
    return np.where(used(p, Y), w, 0.0)


def used(p, Y: int) -> NDArray[np.bool_]:
    """Where w holds weights rather than padding."""
    S, (pair, start, end, triple, _, last, rows) = p.stride, p.blocks
    on = np.zeros(p.size, bool)
    on[: start + 2 * S].reshape(-1, S)[:, :Y] = True
    on[triple : last + (Y * Y if last > triple else 0)] = True
    YY = (Y * Y + 7) // 8 * 8
    on[rows:].reshape(-1, YY)[:, : Y * Y] = True
    assert pair <= start < end
    return on


KINDS = [
    {},
    {"order": 2},
    {"soft": True},
    {"soft": True, "order": 2, "bigrams": False},
    {"partial": True},
    {"partial": True, "order": 2},
    {"weighted": True, "offset": True},
    {"bigrams": True},
    {"bigrams": True, "soft": True},
    {"margin": True},
    {"margin": True, "order": 2, "weighted": True},
    {"valued": True},
    {"valued": True, "order": 2, "weighted": True},
    {"valued": True, "partial": True},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_gradient_is_the_derivative_of_the_objective(kind):
    Y = 3
    p, _ = problem(1, Y, **kind)
    f = _core.CrfObjective64(p, 0.7, 1)
    w = weights(2, p, Y)
    gradient, scratch = np.empty(p.size), np.empty(p.size)
    f(w, gradient)
    for k in np.flatnonzero(used(p, Y)):
        step = np.zeros(p.size)
        step[k] = 1e-5
        slope = (f(w + step, scratch) - f(w - step, scratch)) / 2e-5
        assert gradient[k] == pytest.approx(slope, abs=2e-7)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_objective_is_what_enumeration_finds(kind):
    Y, c2 = 3, 0.7
    p, given = problem(3, Y, **kind)
    w = weights(4, p, Y)
    value = _core.CrfObjective64(p, c2, 1)(w, np.empty(p.size))
    assert value == pytest.approx(enumerated(w, p, given, Y) + c2 * float(w @ w), rel=1e-9)


def enumerated(w, p, given, Y: int) -> float:
    """The weighted loss of all sentences by listing every labelling."""
    sentences, ptr, ids, y, more = given
    S, (pair, start, end, triple, first, last, rows) = p.stride, p.blocks
    YY = (Y * Y + 7) // 8 * 8
    second = last > triple
    total = 0.0
    for n in range(len(sentences) - 1):
        tokens = range(sentences[n], sentences[n + 1])
        T = len(tokens)

        def score(labels, tokens=tokens, T=T):
            s = w[start + labels[0]] + w[end + labels[-1]]
            for i, t in enumerate(tokens):
                values = more.get("values", np.ones(len(ids)))
                s += sum(values[k] * w[ids[k] * S + labels[i]] for k in range(ptr[t], ptr[t + 1]))
                if "offset" in more:
                    s += float(more["offset"][t, labels[i]])
                if "cost" in more:
                    s += float(more["cost"][y[t], labels[i]])
                if i == 0:
                    continue
                s += w[pair + labels[i - 1] * S + labels[i]]
                at = rows
                for template, size in enumerate(more.get("observations", [])):
                    o = more["observed"][t, template]
                    if o >= 0:
                        s += w[at + o * YY + labels[i - 1] * Y + labels[i]]
                    at += size * YY
                if second and i >= 2:
                    s += w[triple + (labels[i - 2] * Y + labels[i - 1]) * Y + labels[i]]
            if second and T > 1:
                s += w[first + labels[0] * Y + labels[1]] + w[last + labels[-2] * Y + labels[-1]]
            return s

        everything = list(product(range(Y), repeat=T))
        scores = np.array([score(labels) for labels in everything])
        if "allowed" in more:
            ok = [
                all(more["allowed"][t, c] for t, c in zip(tokens, labels, strict=True))
                for labels in everything
            ]
            gold = np.logaddexp.reduce(scores[ok])
        elif "soft" in more:
            q = [
                np.prod([more["soft"][t, c] for t, c in zip(tokens, labels, strict=True)])
                for labels in everything
            ]
            gold = float(np.dot(q, scores))
        else:
            gold = score([int(y[t]) for t in tokens])
        k = float(more["weight"][n]) if "weight" in more else 1.0
        total += k * (np.logaddexp.reduce(scores) - gold)
    return float(total)


def test_any_number_of_threads_gives_the_same_bytes():
    p, _ = problem(5, Y=5, F=300, lengths=[7] * 200)
    w = weights(6, p, 5).astype(np.float32)
    results = []
    for threads in (1, 2, 3):
        gradient = np.empty(p.size, np.float32)
        value = _core.CrfObjective(p, 1.0, threads)(w, gradient)
        results.append((value, gradient.tobytes()))
    assert results[0] == results[1] == results[2]


def test_single_precision_agrees_with_double():
    p, _ = problem(7, Y=5, F=50, lengths=[6] * 100)
    w = weights(8, p, 5).astype(np.float32)
    narrow, wide = np.empty(p.size, np.float32), np.empty(p.size)
    value = _core.CrfObjective(p, 1.0, 1)(w, narrow)
    assert value == pytest.approx(_core.CrfObjective64(p, 1.0, 1)(w.astype(np.float64), wide), rel=1e-6)
    np.testing.assert_allclose(narrow, wide, atol=1e-4)


def test_weights_that_are_not_trained_have_no_gradient_and_no_penalty():
    p, (sentences, ptr, ids, y, _) = problem(9)
    trainable = np.ones(p.size, np.uint8)
    trainable[:8] = 0
    fixed = _core.CrfProblem(sentences, ptr, ids, y, 7, 3, trainable=trainable)
    w = weights(10, p, 3)
    a, b = np.empty(p.size), np.empty(p.size)
    whole = _core.CrfObjective64(p, 1.0, 1)(w, a)
    part = _core.CrfObjective64(fixed, 1.0, 1)(w, b)
    assert whole - part == pytest.approx(float(w[:8] @ w[:8]))
    assert not b[:8].any()
    np.testing.assert_array_equal(a[8:], b[8:])


def test_what_does_not_fit_is_refused():
    sentences, ptr = np.array([0, 2]), np.array([0, 1, 2])
    ids, y = np.array([0, 1], np.int32), np.array([0, 1], np.int32)
    _core.CrfProblem(sentences, ptr, ids, y, 2, 2)
    with pytest.raises(ValueError, match="feature id"):
        _core.CrfProblem(sentences, ptr, ids, y, 1, 2)
    with pytest.raises(ValueError, match="label"):
        _core.CrfProblem(sentences, ptr, ids, y, 2, 1)
    with pytest.raises(ValueError, match="sentences"):
        _core.CrfProblem(np.array([0, 1]), ptr, ids, y, 2, 2)
    with pytest.raises(ValueError, match="weights must be > 0"):
        _core.CrfProblem(sentences, ptr, ids, y, 2, 2, weight=np.array([0], np.float32))
