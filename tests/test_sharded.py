"""Training in shards: the optimum of the ordinary learner, the same bytes for any division among workers."""

import os
import random
from functools import partial

import numpy as np
import pytest

from chaffinch import Classifier, Tagger, load
from chaffinch.cache import Cache, CacheWriter
from chaffinch.cache.documents import DocumentWriter
from chaffinch.engines import InProcess, Processes
from chaffinch.errors import ConfigError, DataError
from chaffinch.learners import sharded as learners
from chaffinch.learners import sharded_likelihood
from chaffinch.learners.shards import Sharding, TreeSum, plus
from chaffinch.learners.training import Checkpoint
from chaffinch.recipes import document_blocks
from chaffinch.recipes.crf_config import Crf
from chaffinch.text.table import TokenTable
from commandline import run  # noqa: F401

WORDS = {"N": ["dog", "cat", "tea", "park", "bird"], "V": ["sees", "likes", "has"], "D": ["the", "a", "no"]}
TEXTS = {"+": ["good", "fine", "lovely"], "-": ["bad", "awful", "poor"], "o": ["late", "red", "new"]}


def sentences(n, seed=0):
    """Sentences of a small grammar with a few wrong labels, so that the optimum is not at infinity."""
    chance = random.Random(seed)
    X, y = [], []
    for _ in range(n):
        labels = ["D", "N", "V", "D", "N"][: chance.choice([2, 3, 5])]
        X.append([chance.choice(WORDS[label]) for label in labels])
        y.append([chance.choice("NVD") if chance.random() < 0.05 else label for label in labels])
    return X, y


def texts(n, seed=0):
    chance = random.Random(seed)
    labels = [chance.choice("+-o") for _ in range(n)]
    words = [TEXTS[label if chance.random() < 0.9 else chance.choice("+-o")] for label in labels]
    return [f"{chance.choice(w)} {chance.choice(['tea', 'cake', 'soup'])}" for w in words], labels


def sharding(folder, shards=4, engine=None):
    return Sharding(engine or InProcess(1), folder, shards)


def tagger(recipe, where, **how):
    made = Tagger(recipe, folds=0, features=["w[0]", "w[-1]"] if recipe != "hmm" else None, threads=1, **how)
    made.sharding = where
    return made


def bytes_of(estimator, path):
    estimator.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("K", [1, 2, 3, 5, 8, 13])
def test_a_sum_has_the_same_bytes_for_any_division_and_any_order(K):
    chance = np.random.default_rng(K)
    terms = [(chance.normal(size=50).astype(np.float32), float(chance.normal())) for _ in range(K)]

    def summed(order, workers):
        total = TreeSum(K)
        for own in workers:
            part = TreeSum(K)
            for k in own:
                part.add(k, k + 1, (terms[k][0].copy(), terms[k][1]))
            for (low, high), term in sorted(part.nodes.items(), reverse=order):
                total.add(low, high, term)
        return total.total

    alone = summed(False, [range(K)])
    assert np.allclose(alone[0], np.sum([t[0] for t in terms], axis=0), atol=1e-4)
    for W in (2, 3, 4):
        found = summed(True, [range(n * K // W, (n + 1) * K // W) for n in range(W)][::-1])
        assert found[0].tobytes() == alone[0].tobytes()
        assert found[1] == alone[1]


def test_sums_overwrite_the_first_term_only():
    a, b = np.ones(2, np.float32), np.ones(2, np.float32)
    assert plus((a, 1), (b, 2))[1] == 3
    assert b.tolist() == [1, 1]


@pytest.mark.parametrize("order", [1, 2])
def test_a_crf_in_shards_reaches_the_optimum_of_the_ordinary_learner(tmp_path, order):
    X, y = sentences(200)
    config = Crf(c2=0.5, margin=0.0, order=order)
    best = tagger(Crf(c2=0.5, margin=0.0, order=order, optimiser="lbfgs", tolerance=1e-9), None).fit(X, y)
    found = tagger(config, sharding(tmp_path)).fit(X, y)
    reached = found.history_[-1].scores["objective"]
    assert reached == pytest.approx(best.history_[-1].scores["objective"], rel=1e-3)
    assert found.predict(X) == best.predict(X)
    assert found.shards_ == {"count": 4, "method": learners.LIKELIHOOD, "exact": True}


def test_a_crf_with_a_margin_weights_and_rules_reaches_its_optimum(tmp_path):
    X, y = sentences(150)
    weight = [1.0 + n % 3 for n in range(150)]
    config = Crf(c2=0.3, margin=2.0, fixed="D->V=-1.0")
    exact = Crf(c2=0.3, margin=2.0, fixed="D->V=-1.0", optimiser="lbfgs", tolerance=1e-9)
    ordinary, found = tagger(exact, None), tagger(config, sharding(tmp_path))
    ordinary.fit(X, y, sample_weight=weight)
    found.fit(X, y, sample_weight=weight)
    reached = found.history_[-1].scores["objective"]
    assert reached == pytest.approx(ordinary.history_[-1].scores["objective"], rel=1e-3)


@pytest.mark.parametrize("recipe", ["logistic", "maxent"])
def test_classifiers_in_shards_reach_the_optimum_of_l_bfgs(tmp_path, recipe):
    X, y = texts(200)
    settings = {"l2": 0.1} if recipe == "maxent" else {"C": 10.0}
    best = Classifier("maxent", settings={"l2": 0.1, "tolerance": 1e-7}, calibrate=False, smallest=0.0).fit(
        X, y
    )
    found = Classifier(recipe, settings=settings, calibrate=False, smallest=0.0)
    found.sharding = sharding(tmp_path)
    found.fit(X, y)
    reached = found.history_[-1].scores["objective"]
    assert reached == pytest.approx(best.history_[-1].scores["objective"], rel=1e-3)
    assert found.predict(X).tolist() == best.predict(X).tolist()


@pytest.mark.parametrize("recipe", ["hmm", "nb"])
def test_counts_are_exact(tmp_path, recipe):
    if recipe == "hmm":
        X, y = sentences(60)
        made = [tagger("hmm", None), tagger("hmm", sharding(tmp_path / "s"))]
    else:
        X, y = texts(60)
        made = [Classifier("nb", calibrate=False, choose=False) for _ in range(2)]
        made[1].sharding = sharding(tmp_path / "s")
    for one in made:
        one.fit(X, y)
    made[1].shards_ = None  # the only difference of the files
    if recipe == "hmm":
        assert bytes_of(made[0], tmp_path / "a.chaff") == bytes_of(made[1], tmp_path / "b.chaff")
    else:
        assert np.allclose(made[0].coef_, made[1].coef_, atol=1e-6)
        assert np.allclose(made[0].predict_proba(X), made[1].predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("recipe", ["perceptron", "mira"])
def test_mixed_perceptrons_say_that_they_are_approximate(tmp_path, recipe):
    X, y = sentences(120)
    found = tagger(recipe, sharding(tmp_path)).fit(X, y)
    assert found.shards_ == {"count": 4, "method": learners.MIXING, "exact": False}
    assert found.score(X, y) >= tagger(recipe, None).fit(X, y).score(X, y) - 0.03
    one = tagger(recipe, sharding(tmp_path / "one", 1)).fit(
        X, y
    )  # one shard is the ordinary perceptron, nearly
    assert one.score(X, y) >= found.score(X, y) - 0.03


def test_a_mixed_perceptron_of_documents_learns(tmp_path):
    X, y = texts(150)
    found = Classifier("perceptron", calibrate=False)
    found.sharding = sharding(tmp_path)
    assert (found.fit(X, y).predict(X) == np.array(y)).mean() > 0.85
    assert found.shards_["exact"] is False


@pytest.mark.parametrize(("recipe", "count"), [("crf", 2), ("perceptron", 3)])
def test_processes_give_the_bytes_of_threads(tmp_path, recipe, count):
    X, y = sentences(80)
    files = {}
    for workers in (0, count):
        engine = Processes(workers) if workers else InProcess(2)
        try:
            made = tagger(recipe, sharding(tmp_path / str(workers), 4, engine)).fit(X, y)
        finally:
            engine.close()
        files[workers] = bytes_of(made, tmp_path / "m.chaff")
    assert files[count] == files[0]


class DyingOnce(sharded_likelihood.Ascent):
    """A round in which a process dies, as long as a file is there."""

    def term(self, held, number, shard, given, threads):
        marker = shard.parent / "dies"
        if number == 1 and len(given) == 2 and marker.exists():
            marker.unlink()
            os._exit(3)
        return super().term(held, number, shard, given, threads)


def test_a_process_that_dies_in_a_round_is_replaced_and_the_bytes_stay(tmp_path, monkeypatch):
    X, y = sentences(80)
    expected = bytes_of(tagger("crf", sharding(tmp_path / "a", 4)).fit(X, y), tmp_path / "a.chaff")
    monkeypatch.setattr(sharded_likelihood, "Ascent", DyingOnce)
    engine = Processes(2)
    rounds = []

    def watch(progress):
        rounds.append(progress.done)
        if len(rounds) == 1:
            next((tmp_path / "b").glob("*/shard0001*")).with_name("dies").touch()
        return True

    made = tagger("crf", sharding(tmp_path / "b", 4, engine))
    try:
        made.fit(X, y, on_epoch=watch)
    finally:
        engine.close()
    assert not list((tmp_path / "b").glob("*/dies"))
    assert bytes_of(made, tmp_path / "b.chaff") == expected


class Interrupted(Exception):
    pass


@pytest.mark.parametrize(("recipe", "after"), [("crf", 2), ("crf", 7), ("perceptron", 3)])
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path, monkeypatch, recipe, after):
    monkeypatch.setattr(sharded_likelihood, "BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(sharded_likelihood, "CHECKPOINT_SHARE", 0)
    X, y = sentences(80)
    expected = bytes_of(tagger(recipe, sharding(tmp_path / "a")).fit(X, y), tmp_path / "a.chaff")

    def stop(progress):
        if progress.done == after:
            raise Interrupted
        return True

    with pytest.raises(Interrupted):
        tagger(recipe, sharding(tmp_path / "b")).fit(X, y, on_epoch=stop)
    passes = []
    made = tagger(recipe, sharding(tmp_path / "b")).fit(
        X, y, on_epoch=lambda p: passes.append(p.done) or True
    )
    assert passes[0] == after + 1
    assert bytes_of(made, tmp_path / "b.chaff") == expected


@pytest.mark.parametrize("after", [1, 3, 5])
@pytest.mark.parametrize("recipe", ["crf", "perceptron"])
def test_a_killed_run_keeps_the_best_of_all_passes(tmp_path, monkeypatch, recipe, after):
    monkeypatch.setattr(sharded_likelihood, "BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(sharded_likelihood, "CHECKPOINT_SHARE", 0)
    told, scores = (0.2, 0.8, 0.3, 0.4, *[0.1] * 20), {}

    def score(model):
        return scores.setdefault(model.weights.dense.tobytes(), told[len(scores)])

    monkeypatch.setattr("chaffinch.recipes.training.tag_score", lambda *_: score)
    X, y = sentences(80)

    def trained(where, on_epoch=None):
        listener = {} if on_epoch is None else {"on_epoch": on_epoch}
        return tagger(recipe, sharding(where)).fit(X, y, dev=(X[:20], y[:20]), **listener)

    whole = trained(tmp_path / "a")
    passes = [p.scores["dev"] for p in whole.history_]
    assert passes == list(told[: len(passes)])
    assert len(passes) >= 5

    def stop(progress):
        if progress.done == after:
            raise Interrupted

    with pytest.raises(Interrupted):
        trained(tmp_path / "b", stop)
    made = trained(tmp_path / "b")
    assert [p.scores["dev"] for p in made.history_] == passes
    assert bytes_of(made, tmp_path / "b.chaff") == bytes_of(whole, tmp_path / "a.chaff")
    again = trained(tmp_path / "b")  # a finished training is not repeated
    assert bytes_of(again, tmp_path / "c.chaff") == bytes_of(whole, tmp_path / "a.chaff")


def test_a_killed_run_of_documents_keeps_the_best_of_all_passes(tmp_path, monkeypatch):
    monkeypatch.setattr(sharded_likelihood, "BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(sharded_likelihood, "CHECKPOINT_SHARE", 0)
    told, scores = (0.2, 0.8, 0.3, 0.4, *[0.1] * 20), {}

    def score(model):
        return scores.setdefault(model.w.tobytes(), told[len(scores)])

    monkeypatch.setattr("chaffinch.recipes.document_task.document_score", lambda *_: score)
    X, y = texts(200)

    def trained(where, on_epoch=None):
        made = Classifier("maxent", settings={"l2": 0.01}, features="words", calibrate=False, threads=1)
        made.sharding = sharding(where)
        listener = {} if on_epoch is None else {"on_epoch": on_epoch}
        return made.fit(X, y, dev=(X[:20], y[:20]), **listener)

    def stop(progress):
        if progress.done == 3:
            raise Interrupted

    whole = trained(tmp_path / "a")
    assert [p.scores["dev"] for p in whole.history_] == list(told[:5])
    with pytest.raises(Interrupted):
        trained(tmp_path / "b", stop)
    made = trained(tmp_path / "b")
    assert [p.scores["dev"] for p in made.history_] == list(told[:5])
    assert bytes_of(made, tmp_path / "b.chaff") == bytes_of(whole, tmp_path / "a.chaff")


def test_a_finished_training_is_not_repeated(tmp_path):
    X, y = sentences(80)
    first = tagger("crf", sharding(tmp_path / "a")).fit(X, y)
    again = tagger("crf", sharding(tmp_path / "a")).fit(X, y)
    assert len(again.history_) == 1
    assert bytes_of(first, tmp_path / "a.chaff") == bytes_of(again, tmp_path / "b.chaff")


def test_a_training_that_used_up_its_steps_is_finished(tmp_path):
    X, y = texts(200)

    def trained():
        made = Classifier("maxent", settings={"l2": 0.01, "steps": 2}, calibrate=False)
        made.sharding = sharding(tmp_path / "a")
        return made.fit(X, y)

    first, again = trained(), trained()
    assert len(again.history_) == 1
    assert bytes_of(first, tmp_path / "a.chaff") == bytes_of(again, tmp_path / "b.chaff")


def test_slow_checkpoints_are_rare(tmp_path, monkeypatch):
    X, y = sentences(80)
    monkeypatch.setattr(sharded_likelihood, "BETWEEN_CHECKPOINTS", 0.0)
    written = []
    save = Checkpoint.save
    monkeypatch.setattr(
        Checkpoint, "save", lambda self, arrays: [written.append(set(arrays)), save(self, arrays)]
    )

    def steps(share):
        monkeypatch.setattr(sharded_likelihood, "CHECKPOINT_SHARE", share)
        written.clear()
        history = tagger("crf", sharding(tmp_path / str(share))).fit(X, y).history_
        return sum("memory" in names for names in written), sum("gap" in one.scores for one in history)

    saved, made = steps(0)
    assert saved == made > 2
    assert steps(1e9)[0] == 2  # the first, and the last


def test_a_damaged_shard_is_named(tmp_path):
    X, y = sentences(40)
    folder = tmp_path / "a"
    tagger("crf", sharding(folder)).fit(X, y)
    path = next(folder.glob("*/shard0002*"))
    next(folder.glob("*/checkpoint*")).unlink()
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="shard0002"):
        tagger("crf", sharding(folder)).fit(X, y)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("greedy", "recipe greedy cannot use an engine; crf, hmm"),
        (Crf(c1=0.1), "c1 of 0"),
        (Crf(second_pass=True), "second pass"),
    ],
)
def test_what_has_no_form_for_shards_is_refused(tmp_path, recipe, message):
    X, y = sentences(30)
    with pytest.raises(ConfigError, match=message):
        tagger(recipe, sharding(tmp_path)).fit(X, y)


def test_a_model_file_keeps_how_it_was_trained(tmp_path):
    X, y = sentences(40)
    made = tagger("perceptron", sharding(tmp_path)).fit(X, y)
    made.save(tmp_path / "m.chaff")
    from chaffinch import load

    assert load(tmp_path / "m.chaff").shards_ == made.shards_


def written(path, X, y):
    path.write_text(
        "".join("".join(f"{w} {t}\n" for w, t in zip(*s, strict=True)) + "\n" for s in zip(X, y, strict=True))
    )
    return str(path)


def test_the_command_trains_in_shards_and_tells_so(tmp_path, run):  # noqa: F811
    data = written(tmp_path / "train.conll", *sentences(60))
    model = tmp_path / "m.chaff"
    ask = ["train", data, "-o", str(model), "--recipe", "perceptron", "--folds", "0", "--engine", "threads"]
    outcome = run(*ask, "--shards", "3")
    assert outcome.code == 0, outcome.err
    told = "trained in 3 shards by iterative parameter mixing: approximate"
    assert told in outcome.out
    assert "below about 100 million, training without --engine is faster" in outcome.err
    assert told in run("inspect", str(model)).out
    assert not list(tmp_path.glob("*.shards"))
    assert run("train", data, "-o", str(model), "--shards", "3").code == 2
    assert "there is no engine" in run(*ask[:-1], "spark").err
    strange = run(
        "train", data, "-o", str(model), "--recipe", "hmm", "--engine", "threads", "--max-size", "9KB"
    )
    assert "--engine cannot be combined" in strange.err


def test_the_command_trains_classifiers_in_shards(tmp_path, run):  # noqa: F811
    X, y = texts(60)
    (tmp_path / "t.csv").write_text("text,label\n" + "".join(f"{a},{b}\n" for a, b in zip(X, y, strict=True)))
    outcome = run(
        "train", str(tmp_path / "t.csv"), "-o", str(tmp_path / "m.chaff"), "--engine", "threads", "--json"
    )
    assert outcome.code == 0, outcome.err
    assert '"method": "CoCoA+ and L-BFGS"' in outcome.out
    assert '"recipe": "logistic"' in outcome.out


def test_a_cache_is_trained_in_shards_to_the_optimum(tmp_path):
    X, y = sentences(200)
    table = TokenTable.from_lists({"w": X, "y": y})
    with CacheWriter(tmp_path / "s.cache", ["w", "y"], source="x", tokens=60) as writer:
        writer.add(table)
    exact = Crf(c2=0.5, margin=0.0, optimiser="lbfgs", tolerance=1e-9)
    best = tagger(exact, None).fit(X, y).history_[-1].scores["objective"]
    cache = Cache.open(tmp_path / "s.cache", None)
    assert cache.n_blocks == 4
    files = []
    for n, engine in enumerate((InProcess(1), InProcess(2))):
        found = tagger(Crf(c2=0.5, margin=0.0), sharding(tmp_path / str(n), 3, engine)).fit(cache)
        assert found.history_[-1].scores["objective"] == pytest.approx(best, rel=1e-3)
        assert found.shards_["count"] == 3
        files.append(bytes_of(found, tmp_path / "m.chaff"))
    assert files[0] == files[1]
    cache.close()


def test_a_cache_of_documents_is_trained_in_shards_to_the_optimum(tmp_path, monkeypatch):
    X, y = texts(300)
    how = {"features": "words", "settings": {"C": 10.0}, "smallest": 0.0, "threads": 1}
    ordinary = Classifier("logistic", calibrate=False, **how)
    ordinary.sharding = sharding(tmp_path / "ordinary")
    best = ordinary.fit(X, y).history_[-1].scores["objective"]
    monkeypatch.setattr(document_blocks, "DocumentWriter", partial(DocumentWriter, items=100))
    files = []
    for n, engine in enumerate((InProcess(1), Processes(2))):
        found = Classifier("logistic", **how)
        found.sharding = sharding(tmp_path / str(n), 4, engine)
        found.fit(zip(X, y, strict=True), cache=tmp_path / f"cache{n}")
        assert found.history_[-1].scores["objective"] == pytest.approx(best, rel=1e-3)
        assert found.shards_ == {"count": 4, "method": learners.LIKELIHOOD, "exact": True}
        files.append(bytes_of(found, tmp_path / "m.chaff"))
        engine.close()
    assert files[0] == files[1]
    assert found.predict(X).tolist() == ordinary.predict(X).tolist()


def test_the_command_trains_documents_from_a_cache_in_shards(tmp_path, run):  # noqa: F811
    X, y = texts(200)
    (tmp_path / "d.tsv").write_text(
        "text\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in zip(X, y, strict=True))
    )
    ask = [
        "train",
        tmp_path / "d.tsv",
        "-o",
        tmp_path / "m.chaff",
        "--engine",
        "threads",
        "--cache",
        tmp_path / "c",
    ]
    outcome = run(*ask)
    assert outcome.code == 0, outcome.err
    assert "trained in shards" in outcome.err
    assert load(tmp_path / "m.chaff").shards_["exact"]
