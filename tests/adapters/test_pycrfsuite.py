"""What users of python-crfsuite have is read and trained as python-crfsuite does."""

from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._core import AttributeIndex, CrfObjective64, CrfProblem

names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=4)
numbers = st.floats(-100, 100, width=32) | st.integers(-5, 5) | st.booleans()
leaves = names | numbers | names.map(str.encode) | st.lists(names, max_size=3) | st.sets(names, max_size=3)
dicts = st.recursive(
    st.dictionaries(names, leaves, max_size=4),
    lambda inner: st.dictionaries(names, leaves | inner, max_size=3),
    max_leaves=8,
)
tokens = dicts | st.lists(names | names.map(str.encode), max_size=4) | st.sets(names, max_size=4)


@given(st.lists(tokens, max_size=4))
@settings(max_examples=300, deadline=None)
def test_tokens_are_flattened_as_python_crfsuite_flattens_them(x: list[Any]) -> None:
    index = AttributeIndex()
    _, ptr, ids, values = index.read([x], True, True)
    values = np.ones(len(ids), np.float32) if values is None else values
    called = index.names(ids)
    for t, theirs in enumerate(pycrfsuite.ItemSequence(x).items()):
        here = slice(ptr[t], ptr[t + 1])
        ours = dict(zip(called[here], values[here].tolist(), strict=True))
        assert set(ours) == set(theirs)
        for name, value in theirs.items():
            if ours[name] != np.float32(
                value
            ):  # ItemSequence shows the last of equal names, CRFsuite adds them
                assert flattened(x[t]).count(name) > 1


def flattened(token: Any, before: str = "") -> list[str]:
    """The names of all features of a token, those that occur twice listed twice."""
    found = []
    for key in token:
        text = before + (key.decode() if isinstance(key, bytes) else key)
        value = token[key] if isinstance(token, dict) else None
        if isinstance(value, dict | list | set):
            found += flattened(value, text + ":")
        elif isinstance(value, str | bytes):
            found.append(text + ":" + (value.decode() if isinstance(value, bytes) else value))
        else:
            found.append(text)
    return found


def _sequences(seed: int = 0) -> tuple[list[Any], list[list[str]]]:
    """Noisy sequences whose features have values."""
    chance = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(30):
        T = int(chance.integers(1, 6))
        kinds = chance.integers(0, 3, T)
        X.append(
            [
                {
                    "k": str((k + (chance.random() < 0.2)) % 3),
                    "size": float(np.float32(chance.normal(k))),
                    "bias": 1.0,
                }
                for k in kinds
            ]
        )
        y.append(["ABC"[k] for k in kinds])
    return X, y


@pytest.mark.parametrize("c2", [0.1, 1.0])
def test_crfsuites_optimum_is_that_of_our_objective_on_features_with_values(
    c2: float, tmp_path: Path
) -> None:
    """Its loss is our objective at its weights, to 6 digits, and our gradient there is zero."""
    X, y = _sequences()
    logged: list[str] = []
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.message = logged.append
    trainer.set_params({"c2": c2, "epsilon": 1e-9, "delta": 1e-12, "period": 5, "max_iterations": 2000})
    for x, labels in zip(X, y, strict=True):
        trainer.append(x, labels)
    trainer.train(str(tmp_path / "m.crfsuite"))
    loss = float([line for line in logged if line.startswith("Loss:")][-1].split()[1])
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m.crfsuite"))
    theirs = tagger.info()

    index = AttributeIndex()
    sentences, ptr, ids, values = index.read(X, True, True)
    names, labels = index.names(np.arange(len(index), dtype=np.int32)), sorted({t for s in y for t in s})
    place = {label: i for i, label in enumerate(labels)}
    gold = np.array([place[t] for s in y for t in s], np.int32)
    F, Y = len(names), len(labels)
    problem = CrfProblem(sentences, ptr, ids, gold, F, Y, values=values)
    S, pair = problem.stride, problem.blocks[0]
    w, trained = np.zeros(problem.size), np.zeros(problem.size, np.uint8)
    for (name, label), weight in theirs.state_features.items():
        at = names.index(name) * S + place[label]
        w[at], trained[at] = weight, 1
    for (before, after), weight in theirs.transitions.items():
        at = pair + place[before] * S + place[after]
        w[at], trained[at] = weight, 1
    problem = CrfProblem(sentences, ptr, ids, gold, F, Y, values=values, trainable=trained)
    gradient = np.empty(problem.size)
    ours = CrfObjective64(problem, c2, 1)(w, gradient)
    assert ours == pytest.approx(loss, rel=1e-6)
    assert np.abs(gradient).max() < 1e-3
