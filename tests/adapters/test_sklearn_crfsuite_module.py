"""chaffinch.compat.sklearn_crfsuite beside sklearn-crfsuite itself."""

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn_crfsuite as theirs
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn_crfsuite import metrics as their_metrics

import chaffinch
from chaffinch.compat import sklearn_crfsuite as ours
from chaffinch.compat.sklearn_crfsuite import metrics, scorers

TIGHT = {"epsilon": 1e-8, "delta": 1e-12}


def sequences(n: int = 30, seed: int = 0) -> tuple[list[Any], list[list[str]]]:
    chance = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        kinds = chance.integers(0, 3, int(chance.integers(1, 6)))
        X.append(
            [
                {"k": str((k + (chance.random() < 0.2)) % 3), "size": float(chance.normal(k)), "bias": 1.0}
                for k in kinds
            ]
        )
        y.append(["CAB"[k] for k in kinds])
    return X, y


def test_parameters_are_those_of_sklearn_crfsuite() -> None:
    a, b = (inspect.signature(module.CRF).parameters for module in (theirs, ours))
    assert list(b) == list(a)
    assert [p.default for p in b.values()] == [p.default for p in a.values()]
    assert ours.CRF(c1=0.5).get_params() == theirs.CRF(c1=0.5).get_params()


@pytest.mark.parametrize(
    "params", [{}, {"c1": 0.3, "c2": 0.1}, {"all_possible_transitions": True, "min_freq": 2}]
)
def test_labels_probabilities_and_attributes_are_those_of_sklearn_crfsuite(params: dict[str, Any]) -> None:
    X, y = sequences()
    a, b = (module.CRF(**params, **TIGHT).fit(X, y) for module in (theirs, ours))
    fresh, gold = sequences(40, seed=1)
    for given in (X, fresh, [x[:1] for x in X], []):
        found, told = b.predict(given), a.predict(given)
        assert found.dtype == told.dtype
        assert found.shape == told.shape
        assert found.tolist() == told.tolist()
    assert b.predict_single(X[0]) == a.predict_single(X[0])
    assert b.score(fresh, gold) == pytest.approx(a.score(fresh, gold))
    for p, q in zip(b.predict_marginals(fresh), a.predict_marginals(fresh), strict=True):
        for ours_at, theirs_at in zip(p, q, strict=True):
            assert ours_at == pytest.approx(theirs_at, abs=1e-4)
    assert b.predict_marginals_single([]) == a.predict_marginals_single([]) == []
    assert b.classes_ == a.classes_
    assert b.attributes_ == a.attributes_
    assert b.num_attributes_ == a.num_attributes_
    assert b.state_features_ == pytest.approx(a.state_features_, abs=2e-4)
    assert b.transition_features_ == pytest.approx(a.transition_features_, abs=2e-4)
    assert b.training_log_.last_iteration["loss"] == pytest.approx(
        a.training_log_.last_iteration["loss"], abs=2e-5
    )
    assert b.size_ == Path(b.modelfile.name).stat().st_size


def test_attributes_are_none_before_fit() -> None:
    crf = ours.CRF()
    names = "tagger_ classes_ size_ num_attributes_ attributes_ state_features_ transition_features_ training_log_"
    assert all(getattr(crf, name) is None for name in names.split())
    with pytest.raises(ValueError, match="not trained"):
        crf.predict([[{"a": 1}]])
    with pytest.raises(ValueError, match="both X_dev"):
        crf.fit([[{"a": 1}]], [["x"]], X_dev=[[{"a": 1}]])
    with pytest.raises(ValueError, match="Parameter not found"):
        ours.CRF("ap", c1=1.0).fit([[{"a": 1}]], [["x"]])
    with pytest.raises(ValueError, match="nothing to train on"):
        crf.fit([], [])
    assert crf.tagger_ is None
    with pytest.raises(ValueError, match="has no parameter"):
        crf.set_params(depth=3)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_every_algorithm_learns_and_is_pickled(algorithm: str, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = sequences()
    crf = ours.CRF(algorithm, max_iterations=20, verbose=True).fit(X, y, X[:5], y[:5])
    assert crf.score(X, y) > 0.7
    printed = capsys.readouterr().out
    assert "Iter 1" in printed
    assert "Acc(item/seq)" in printed
    assert "Support" in printed
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict(X).tolist() == crf.predict(X).tolist()
    assert again.get_params() == crf.get_params()
    path = Path(again.modelfile.name)
    assert path.exists()
    del again
    assert not path.exists()


def test_a_named_file_is_written_and_read(tmp_path: Path) -> None:
    X, y = sequences()
    path = str(tmp_path / "m.chaff")
    crf = ours.CRF(model_filename=path).fit(X, y)
    assert ours.CRF(model_filename=path).predict(X).tolist() == crf.predict(X).tolist()
    assert chaffinch.load(path).predict(X) == crf.predict(X).tolist()
    del crf
    assert Path(path).exists()
    original = theirs.CRF(model_filename=str(tmp_path / "a.crfsuite")).fit(X, y)
    assert (
        ours.CRF(model_filename=str(tmp_path / "a.crfsuite")).predict(X).tolist()
        == original.predict(X).tolist()
    )


def test_scikit_learn_clones_validates_and_searches() -> None:
    X, y = sequences(24)
    crf = ours.CRF(c2=0.5, max_iterations=30)
    assert clone(crf).get_params() == crf.get_params()
    assert "c2=0.5" in repr(crf)
    assert cross_val_score(crf, X, y, cv=3).mean() > 0.6
    search = GridSearchCV(crf, {"c2": [0.1, 1.0]}, cv=2, scoring=scorers.flat_accuracy).fit(X, y)
    assert search.best_params_["c2"] in (0.1, 1.0)
    assert 0 < cross_val_score(crf, X, y, cv=3, scoring=scorers.sequence_accuracy, n_jobs=2).mean() <= 1


def test_metrics_are_those_of_sklearn_crfsuite() -> None:
    a, b = [["x", "z", "y"], ["x", "x"]], [["y", "z", "y"], ["x", "y"]]
    assert metrics.flat_accuracy_score(a, b) == their_metrics.flat_accuracy_score(a, b) == 3 / 5
    for name in ("flat_precision_score", "flat_recall_score", "flat_f1_score"):
        for average in ("micro", "macro", "weighted"):
            found = getattr(metrics, name)(a, b, average=average, zero_division=0)
            assert found == getattr(their_metrics, name)(a, b, average=average, zero_division=0)
    assert metrics.flat_fbeta_score(a, b, beta=2, average="macro") == pytest.approx(
        their_metrics.flat_fbeta_score(a, b, beta=2, average="macro")
    )
    assert metrics.flat_classification_report(
        a, b, labels=["x", "y"], digits=3
    ) == their_metrics.flat_classification_report(a, b, labels=["x", "y"], digits=3)
    assert metrics.sequence_accuracy_score(a, b) == 0
    assert metrics.sequence_accuracy_score([], []) == 0
    assert metrics.sequence_accuracy_score([[1, 2], [3], [4]], [[1, 2], [4], [4]]) == 2 / 3
    with pytest.raises(AttributeError):
        _ = scorers.nothing
