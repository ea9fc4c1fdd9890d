"""chaffinch.compat.pycrfsuite beside python-crfsuite itself: the same labels, weights, numbers and errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite as theirs
import pytest

import chaffinch
from chaffinch.compat import pycrfsuite as ours
from chaffinch.compat.pycrfsuite._logparser import TrainLogParser

TIGHT = {"epsilon": 1e-8, "delta": 1e-12}


def sequences(n: int = 30, seed: int = 0) -> tuple[list[Any], list[list[str]]]:
    """Noisy sequences whose features have values, some of them negative."""
    chance = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        kinds = chance.integers(0, 3, int(chance.integers(1, 6)))
        X.append(
            [
                {
                    "k": str((k + (chance.random() < 0.2)) % 3),
                    "size": float(np.float32(chance.normal(k))),
                    "bias": 1.0,
                    "rare": [f"r{chance.integers(0, 9)}"],
                }
                for k in kinds
            ]
        )
        y.append(["CAB"[k] for k in kinds])
    return X, y


def trained(
    module: Any, X: Any, y: Any, path: Path, algorithm: str = "lbfgs", **params: Any
) -> tuple[Any, list[str]]:
    """An opened tagger, and the log of its training."""
    trainer, log = module.Trainer(algorithm, params, verbose=False), []
    trainer.message = log.append
    for x, labels in zip(X, y, strict=True):
        trainer.append(x, labels)
    trainer.train(str(path))
    tagger = module.Tagger()
    tagger.open(str(path))
    return tagger, log


def losses(log: list[str]) -> list[float]:
    return [float(line.split()[1]) for line in log if line.startswith("Loss:")]


SETTINGS: list[dict[str, Any]] = [
    {},
    {"c2": 0.1},
    {"c1": 0.5, "c2": 0.1},
    {"c1": 2.0, "c2": 0.0},
    {"feature.minfreq": 3},
    {"feature.possible_states": True},
    {"feature.possible_transitions": True, "c2": 0.05},
]


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_lbfgs_ends_where_crfsuite_does(params: dict[str, Any], tmp_path: Path) -> None:
    X, y = sequences()
    a, their_log = trained(theirs, X, y, tmp_path / "a", **params, **TIGHT)
    b, our_log = trained(ours, X, y, tmp_path / "b", **params, **TIGHT)
    assert losses(our_log)[-1] == pytest.approx(losses(their_log)[-1], abs=2e-6)
    number = [line for line in their_log if line.startswith("Number of features")]
    assert number == [line for line in our_log if line.startswith("Number of features")]
    assert b.labels() == a.labels()
    told, found = a.info(), b.info()
    assert found.labels == told.labels
    assert found.attributes == told.attributes
    for name in ("state_features", "transitions"):
        assert getattr(found, name) == pytest.approx(getattr(told, name), abs=2e-4)
    fresh, _ = sequences(40, seed=1)
    for x in X + fresh:
        best = a.tag(x)
        assert b.tag(x) == best
        assert b.probability(best) == pytest.approx(a.probability(best), abs=1e-4)
        for t in range(len(x)):
            for label in a.labels():
                assert b.marginal(label, t) == pytest.approx(a.marginal(label, t), abs=1e-4)


def test_owl_qn_takes_crfsuites_steps(tmp_path: Path) -> None:
    """With c1 the line search is the same, so are the losses of all iterations and the zeros."""
    X, y = sequences(60)
    a, their_log = trained(theirs, X, y, tmp_path / "a", c1=0.3, c2=0.1)
    b, our_log = trained(ours, X, y, tmp_path / "b", c1=0.3, c2=0.1)
    assert losses(our_log) == pytest.approx(losses(their_log), rel=1e-5)
    assert b.info().state_features.keys() == a.info().state_features.keys()
    assert [b.tag(x) for x in X] == [a.tag(x) for x in X]


def test_default_tolerances_give_nearly_the_same_model(tmp_path: Path) -> None:
    X, y = sequences(60)
    a, their_log = trained(theirs, X, y, tmp_path / "a", c2=0.1)
    b, our_log = trained(ours, X, y, tmp_path / "b", c2=0.1)
    assert losses(our_log)[-1] == pytest.approx(losses(their_log)[-1], rel=1e-4)
    agree = [b.tag(x) == a.tag(x) for x in X]
    assert np.mean(agree) > 0.95


def test_l2sgd_minimises_the_same_objective(tmp_path: Path) -> None:
    X, y = sequences()
    _, log = trained(ours, X, y, tmp_path / "b", "l2sgd", max_iterations=5)
    _, best = trained(theirs, X, y, tmp_path / "a", **TIGHT)
    assert losses(log)[-1] == pytest.approx(losses(best)[-1], rel=1e-5)


ONLINE: list[tuple[str, dict[str, Any]]] = [
    ("ap", {}),
    ("ap", {"max_iterations": 3}),
    ("averaged-perceptron", {"feature.possible_states": True}),
    ("pa", {}),
    ("pa", {"type": 0, "max_iterations": 9}),
    ("passive-aggressive", {"type": 2, "c": 0.3}),
    ("pa", {"error_sensitive": False, "averaging": False, "c": 0.05, "max_iterations": 7}),
    ("arow", {}),
    ("arow", {"variance": 0.3, "gamma": 2.0, "max_iterations": 5}),
]


@pytest.mark.parametrize(("algorithm", "params"), ONLINE, ids=str)
def test_online_algorithms_take_crfsuites_steps(
    algorithm: str, params: dict[str, Any], tmp_path: Path
) -> None:
    """Of one sequence there is one order."""
    for x, labels in zip(*sequences(12), strict=True):
        a, their_log = trained(theirs, [x], [labels], tmp_path / "a", algorithm, **params)
        b, our_log = trained(ours, [x], [labels], tmp_path / "b", algorithm, **params)
        assert losses(our_log) == pytest.approx(losses(their_log), abs=2e-6)
        for name in ("state_features", "transitions"):
            told, found = getattr(a.info(), name), getattr(b.info(), name)
            for key in {*told, *found}:
                assert found.get(key, 0) == pytest.approx(told.get(key, 0), abs=5e-6)


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_online_algorithms_learn_from_many_sequences(algorithm: str, tmp_path: Path) -> None:
    X, y = sequences(60)

    def accuracy(tagger: Any) -> float:
        return float(
            np.mean(
                [a == b for x, t in zip(X, y, strict=True) for a, b in zip(tagger.tag(x), t, strict=True)]
            )
        )

    a, _ = trained(theirs, X, y, tmp_path / "a", algorithm, max_iterations=20)
    b, _ = trained(ours, X, y, tmp_path / "b", algorithm, max_iterations=20)
    assert accuracy(b) > accuracy(a) - 0.05


def test_files_of_crfsuite_are_opened_and_our_files_are_models_of_this_package(tmp_path: Path) -> None:
    X, y = sequences()
    a, _ = trained(theirs, X, y, tmp_path / "a.crfsuite")
    b = ours.Tagger()
    with b.open(str(tmp_path / "a.crfsuite")) as opened:
        told, found = a.info(), opened.info()
        assert found.state_features == told.state_features
        assert found.transitions == told.transitions
        assert found.header.items() <= told.header.items()
        for x in X:
            assert opened.tag(x) == a.tag(x)
            assert opened.probability(a.tag(x)) == pytest.approx(a.probability(a.tag(x)), abs=1e-9)
        a.dump(str(tmp_path / "a.txt"))
        opened.dump(str(tmp_path / "b.txt"))
    theirs_text, ours_text = ((tmp_path / f"{n}.txt").read_text() for n in "ab")
    assert ours_text.split("LABELS", 1)[1].split() == theirs_text.split("LABELS", 1)[1].split()

    c, _ = trained(ours, X, y, tmp_path / "c.chaff")
    tagger = chaffinch.load(tmp_path / "c.chaff")
    assert tagger.predict(X) == [c.tag(x) for x in X]
    assert tagger.explain(X[0], token=0).decisions
    memory = ours.Tagger()
    memory.open_inmemory((tmp_path / "c.chaff").read_bytes())
    assert [memory.tag(x) for x in X] == [c.tag(x) for x in X]
    memory.open_inmemory((tmp_path / "a.crfsuite").read_bytes())
    assert [memory.tag(x) for x in X] == [a.tag(x) for x in X]


def test_parameters_are_those_of_python_crfsuite() -> None:
    for name in ("lbfgs", "l2sgd", "ap", "pa", "arow", "averaged-perceptron", "passive-aggressive"):
        a, b = theirs.Trainer(name), ours.Trainer(name)
        assert b.params() == a.params()
        assert b.get_params() == a.get_params()
        assert all(type(b.get(p)) is type(a.get(p)) for p in a.params())
        assert all(b.help(p) for p in b.params())
    for name, value in (("feature.possible_states", "1"), ("max_iterations", 5.7), ("c2", 3)):
        a, b = theirs.Trainer(), ours.Trainer(params={name: value})
        a.set(name, value)
        assert b.get(name) == a.get(name)
    b.select("ap")
    assert b.get("max_iterations") == 100


def test_errors_of_the_trainer(tmp_path: Path) -> None:
    trainer = ours.Trainer(verbose=False)
    with pytest.raises(ValueError, match="algorithm='foo'"):
        trainer.select("foo")
    for call in (
        lambda: trainer.get("foo"),
        lambda: trainer.set("foo", 1),
        lambda: trainer.help("foo"),
        lambda: trainer.set_params({"c2": 1, "foo": 1}),
        lambda: ours.Trainer("l2sgd").help("c1"),
    ):
        with pytest.raises(ValueError, match="Parameter not found"):
            call()
    with pytest.raises(ValueError, match="differ"):
        trainer.append([{"a": 1}], ["x", "y"])
    for label in (1, None):
        with pytest.raises(TypeError):
            trainer.append([{"a": 1}], [label])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        trainer.append([{"a": None}], ["x"])
    with pytest.raises(ValueError, match="nothing to train on"):
        trainer.train(str(tmp_path / "m"))
    trainer.append([{"a": 1}], ["x"])
    trainer.clear()
    with pytest.raises(ValueError, match="nothing to train on"):
        trainer.train(str(tmp_path / "m"))

    class Failing(ours.Trainer):
        def message(self, message: str) -> None:
            raise KeyError(message)

    failing = Failing()
    failing.append([{"a": 1}], ["x"])
    with pytest.raises(KeyError):
        failing.train(str(tmp_path / "m"))


def test_errors_of_the_tagger(tmp_path: Path) -> None:
    tagger = ours.Tagger()
    with pytest.raises(OSError, match="no-such-file"):
        tagger.open(str(tmp_path / "no-such-file"))
    for content in (b"", b"foo", b"lCRFfoo", b"lCRFfoo" * 100):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(ValueError):  # noqa: PT011
            tagger.open(str(tmp_path / "bad"))
        with pytest.raises(ValueError):  # noqa: PT011
            tagger.open_inmemory(content)
    chaffinch.Tagger("crf", folds=0).fit([[{"a": 1}], [{"b": 1}]], [["x"], ["y"]]).save(
        tmp_path / "crf.chaff"
    )
    with pytest.raises(ValueError, match=r"chaffinch\.load reads it"):
        tagger.open(str(tmp_path / "crf.chaff"))
    with pytest.raises(TypeError):
        tagger.open_inmemory("text")  # type: ignore[arg-type]
    for call in (tagger.labels, lambda: tagger.tag([{"a": 1}]), lambda: tagger.marginal("A", 0)):
        with pytest.raises(ValueError, match="not opened"):
            call()
    for call in (tagger.info, tagger.dump):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    opened, _ = trained(ours, *sequences(), tmp_path / "m")
    assert opened.tag([]) == opened.tag() == []
    assert opened.probability([]) == 0.0
    opened.set([{"k": "1"}, ["bias"]])
    assert len(opened.tag()) == 2
    for call in (lambda: opened.probability(["Z", "A"]), lambda: opened.marginal("Z", 0)):
        with pytest.raises(RuntimeError, match="Z"):
            call()
    for call in (
        lambda: opened.probability(["A"]),
        lambda: opened.marginal("A", 2),
        lambda: opened.marginal("A", -1),
    ):
        with pytest.raises(ValueError, match=r"range|differ"):
            call()
    opened.close()
    opened.close()
    with pytest.raises(ValueError, match="not opened"):
        opened.labels()


@pytest.mark.parametrize("algorithm", ["lbfgs", "ap"])
def test_logs_have_the_events_and_numbers_of_python_crfsuite(algorithm: str, tmp_path: Path) -> None:
    X, y = sequences()
    seen: dict[Any, list[Any]] = {}
    for module in (theirs, ours):
        found: list[Any] = []

        class Listening(module.Trainer):  # type: ignore[name-defined, misc]
            heard = found

            def on_start(self, log: str) -> None:
                self.heard.append(("start", log))

            def on_featgen_progress(self, log: str, percent: int) -> None:
                self.heard.append(("progress", percent))

            def on_featgen_end(self, log: str) -> None:
                self.heard.append(("featgen", log.split("Seconds", maxsplit=1)[0]))

            def on_prepared(self, log: str) -> None:
                self.heard.append(("prepared", log.startswith("\n")))

            def on_iteration(self, log: str, info: dict[str, Any]) -> None:
                assert "Loss" in log
                if info["num"] == 1:
                    self.heard.append(("iteration", sorted(info), sorted(info["scores"])))

            def on_optimization_end(self, log: str) -> None:
                self.heard.append(("optimised", "Total seconds" in log))

            def on_end(self, log: str) -> None:
                self.heard.append(("end", log.splitlines()[0]))

        trainer = Listening(algorithm, {"max_iterations": 4})
        for n, (x, labels) in enumerate(zip(X, y, strict=True)):
            trainer.append(x, labels, n % 2)
        trainer.train(str(tmp_path / "m"), holdout=1)
        assert trainer.logparser.last_iteration["num"] == 4
        seen[module] = found
    assert seen[ours] == seen[theirs]


def test_our_parser_reads_crfsuites_log_as_python_crfsuite_does(tmp_path: Path) -> None:
    from pycrfsuite._logparser import TrainLogParser as TheirParser

    X, y = sequences()
    for algorithm in ("lbfgs", "l2sgd", "arow"):
        trainer, log = theirs.Trainer(algorithm, {"max_iterations": 3}, verbose=False), []
        trainer.message = log.append
        for n, (x, labels) in enumerate(zip(X, y, strict=True)):
            trainer.append(x, labels, n % 2)
        trainer.train(str(tmp_path / "m"), holdout=1)
        a, b = TheirParser(), TrainLogParser()
        assert [b.feed(line) for line in log] == [a.feed(line) for line in log]
        assert b.events == a.events
        assert b.iterations == a.iterations
        assert b.last_log == a.last_log
        assert (b.featgen_num_features, b.training_seconds) == (a.featgen_num_features, a.training_seconds)


def test_data_without_a_signal_make_a_model_of_equal_scores(tmp_path: Path) -> None:
    tagger, log = trained(ours, [[{"a": 1}], [{"a": 1}]], [["P"], ["Q"]], tmp_path / "m")
    assert any("terminated with error" in line for line in log)
    tagger.set([{"a": 1}])
    assert tagger.marginal("Q", 0) == pytest.approx(0.5)
    one, _ = trained(ours, [[{"a": 1}, {}], []], [["P", "P"], []], tmp_path / "m")
    assert one.tag([{}, {"b": 1}]) == ["P", "P"]


def test_items_are_flattened_as_in_python_crfsuite() -> None:
    x = [
        {"foo": True, "bar": {"foo": -0.1, "baz": False}, "ключ": "мир", "b": b"x"},
        ["a", b"b"],
        {"s": {"x"}, "l": ["p", "q"]},
        {},
    ]
    a, b = theirs.ItemSequence(x), ours.ItemSequence(x)
    assert b.items() == a.items()
    assert len(b) == len(a) == 4
    assert repr(b) == repr(a)
    assert ours.ItemSequence(b.items()).items() == b.items()
