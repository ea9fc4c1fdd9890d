"""Classifiers from a cache of documents: rows and weights are those of documents in memory, bit by bit."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch import Classifier, load, modelfile
from chaffinch.cache import documents as cache_file
from chaffinch.cache.documents import DocumentCache, DocumentWriter, TextSpool, differences, from_differences
from chaffinch.errors import ConfigError, DataError
from chaffinch.learners.block_choice import BlockChoice, BlockDual
from chaffinch.learners.block_sgd import ExampleBlocks
from chaffinch.learners.dual import CoordinateDual, DualCrammerSinger, DualLogistic, DualRidge
from chaffinch.learners.problem import Problem
from chaffinch.learners.training import train_passes
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.recipes import document_block_examples
from chaffinch.recipes.document_block_examples import (
    DocumentBlockExamples,
    made_examples,
    raw_rows,
    weighted_rows,
)
from chaffinch.recipes.document_blocks import (
    ENCODER,
    DocumentSettings,
    build_cache,
)
from chaffinch.recipes.text_features import TextFeatures
from commandline import Runner, run
from topic_texts import documents

__all__ = ["run"]


def cached(
    folder: Path, features: str, items: int = 400, n: int = 600
) -> tuple[DocumentCache, DocumentEncoder]:
    texts, labels = documents(n)
    spool = TextSpool(folder)
    spool.add(texts, labels)
    sizes = cache_file.ITEMS, cache_file.TEXT_BYTES
    cache_file.ITEMS, cache_file.TEXT_BYTES = items, 2 * items
    try:
        build_cache(spool, folder, "d.cache", DocumentSettings(TextFeatures.of(features), 2.0, threads=1), "")
    finally:
        cache_file.ITEMS, cache_file.TEXT_BYTES = sizes
        spool.close()
    return DocumentCache(folder / "d.cache"), DocumentEncoder.loaded(modelfile.read(folder / ENCODER))


def test_differences_come_back() -> None:
    ptr = np.array([0, 0, 3, 3, 4, 4])
    ids = np.array([2, 5, 9, 1], np.int32)
    assert differences(ptr, ids).tolist() == [2, 3, 4, 1]
    assert from_differences(ptr, differences(ptr, ids)).tolist() == ids.tolist()


def test_a_spool_gives_texts_back_and_samples_evenly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaffinch.cache.documents.SPOOLED", 100)
    texts, labels = documents(200)
    texts[3], texts[4] = "", "\u00e9\ud800"
    spool = TextSpool(tmp_path)
    for at in range(0, 200, 7):
        spool.add(texts[at : at + 7], labels[at : at + 7])
    for _ in range(2):
        found = list(spool.blocks())
        assert len(found) > 5
        assert [t for block, _ in found for t in block] == texts
        assert [y for _, block in found for y in block] == labels
    assert spool.sample(50) == (texts[::4], labels[::4])
    assert spool.sample(1000) == (texts, labels)
    assert sum(spool.counts) == len(spool) == 200
    spool.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "features", ["words", "tf-idf", "more-words", "counts", "characters", "words+characters"]
)
def test_rows_of_a_cache_are_those_of_the_texts(tmp_path: Path, features: str) -> None:
    cache, encoder = cached(tmp_path, features)
    texts, labels = documents()
    assert len(cache.sizes) > 3
    made = made_examples(cache, encoder, range(len(cache.sizes)))
    wanted = encoder.rows(texts, None, 1)
    assert made.ptr.tolist() == wanted.ptr.tolist()
    assert made.ids.tolist() == wanted.ids.tolist()
    assert made.weights().tobytes() == wanted.weights().tobytes()
    assert [cache.labels[y] for y in made.labels.tolist()] == labels
    again = weighted_rows(encoder, raw_rows(encoder, texts, 1))
    assert again.weights().tobytes() == wanted.weights().tobytes()


@pytest.mark.parametrize("features", ["words", "counts", "characters", "words+characters"])
@pytest.mark.parametrize("room", [1 << 20, 4000, 0], ids=["all fit", "some fit", "none fits"])
def test_examples_that_are_kept_are_those_that_are_made_anew(
    tmp_path: Path, features: str, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, encoder = cached(tmp_path, features)
    blocks, read = DocumentBlockExamples(cache, encoder, room=room), []
    monkeypatch.setattr(
        document_block_examples, "made_examples", lambda *a: read.append(a[2]) or made_examples(*a)
    )
    for numbers in ([2, 0, 1], [1, 2, 0], [0], [1, 2]):
        made, wanted = blocks.made(numbers), made_examples(cache, encoder, numbers)
        assert made.ptr.tolist() == wanted.ptr.tolist()
        assert made.ids.tolist() == wanted.ids.tolist()
        assert made.weights().tobytes() == wanted.weights().tobytes()
        assert made.targets().tolist() == wanted.targets().tolist()
    assert (read == [[2], [0], [1]]) == (room == 1 << 20)


@pytest.mark.parametrize(
    "features", ["words", "counts", "characters", "words+characters", "sentences", "questions"]
)
def test_a_block_without_a_feature_is_kept_among_others(tmp_path: Path, features: str) -> None:
    cache, encoder = cached(tmp_path, features)
    empty = made_examples(cache, encoder, [0])
    none = replace(
        empty, ptr=np.zeros_like(empty.ptr), ids=empty.ids[:0], values=np.zeros(0, np.float32), factors=None
    )
    for numbers in ([0, 1], [1, 0]):
        blocks = DocumentBlockExamples(cache, encoder)
        blocks._kept[0] = none  # as the core gives it
        found = blocks.made(numbers)
        assert len(found.weights()) == len(found.ids) == found.ptr[-1]
        assert found.factors is None or len(found.factors[1]) == len(found)


def assert_same_over_blocks(
    learner: BlockChoice | BlockDual, cache: DocumentCache, encoder: DocumentEncoder, close: float
) -> None:
    """Blocks give the bytes of documents in memory for any number of threads, and the plain loop is close to them."""
    blocks = ExampleBlocks(cache.sizes, lambda numbers: made_examples(cache, encoder, numbers))
    streamed = [train_passes(learner, Problem(None, None, blocks, seed=1), threads=t).made.w for t in (1, 2)]
    whole = Problem(None, None, made_examples(cache, encoder, range(len(cache.sizes))), seed=1)
    held = replace(learner, sizes=cache.sizes)
    there = train_passes(held, whole, threads=1).made.w
    assert streamed[0].tobytes() == streamed[1].tobytes() == there.tobytes()
    plain = list(held.generic(whole))[-1].model().w
    assert np.abs(plain).max() > 0.1
    np.testing.assert_allclose(there, plain, atol=close)


@pytest.mark.parametrize(
    ("features", "loss"),
    [
        ("words", "logistic"),
        ("tf-idf", "logistic"),
        ("words", "hinge"),
        ("characters", "hinge"),
        ("words", "perceptron"),
    ],
)
def test_weights_are_those_of_documents_in_memory_bit_by_bit(
    tmp_path: Path, features: str, loss: str
) -> None:
    cache, encoder = cached(tmp_path, features)
    learner = BlockChoice(loss=loss, l2=1e-3, rate=0.5, epochs=2, mixed=2, F=encoder.n_features, Y=3)
    if loss == "perceptron":
        learner = replace(learner, l2=0.0, rate=1.0, falling=False, average=True)
    assert_same_over_blocks(learner, cache, encoder, 2e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("features", "dual", "close"),
    [
        ("words", DualRidge(C=1.0, epochs=2, bias=0.0), 1e-4),
        ("characters", DualRidge(C=3.0, epochs=2, bias=0.0), 1e-4),
        ("words", DualCrammerSinger(C=0.5, epochs=2, bias=0.0), 1e-4),
        ("words", DualCrammerSinger(C=0.5, loss="squared-hinge", epochs=2, bias=0.0), 1e-4),
        (
            "tf-idf",
            DualLogistic(C=3.0, epochs=10, tolerance=1e-9, bias=0.0),
            0.03,
        ),  # both near the optimum, by other steps
    ],
)
def test_dual_ascent_over_blocks_is_that_of_documents_in_memory_bit_by_bit(
    tmp_path: Path, features: str, dual: CoordinateDual, close: float
) -> None:
    n = 150 if isinstance(dual, DualLogistic) else 600  # its plain loop is slow
    cache, encoder = cached(tmp_path, features, items=n * 2 // 3, n=n)
    learner = BlockDual(dual=dual, mixed=2, F=encoder.n_features, Y=3)
    assert len(cache.sizes) > 3
    assert_same_over_blocks(learner, cache, encoder, close)


def test_dual_ascent_over_blocks_comes_to_the_optimum_of_ridge_regression(tmp_path: Path) -> None:
    cache, encoder = cached(tmp_path, "words")
    data = made_examples(cache, encoder, range(len(cache.sizes)))
    x = np.zeros((len(data), encoder.n_features))
    x[np.repeat(np.arange(len(data)), np.diff(data.ptr)), data.ids] = data.weights()
    t, C = 2.0 * data.targets() - 1, 0.7
    optimum = np.linalg.solve(x.T @ x + np.eye(x.shape[1]) / (2 * C), x.T @ t)
    blocks = ExampleBlocks(cache.sizes, lambda numbers: made_examples(cache, encoder, numbers))
    learner = BlockDual(
        dual=DualRidge(C=C, epochs=60, tolerance=1e-5, bias=0.0), mixed=2, F=encoder.n_features, Y=3
    )
    w = train_passes(learner, Problem(None, None, blocks), threads=1).made.w
    np.testing.assert_allclose(w[:-1, :3], optimum, atol=1e-3)


@pytest.mark.parametrize("dual", [DualLogistic(C=1.0, epochs=50), DualCrammerSinger(C=0.3, epochs=50)])
def test_dual_ascent_over_blocks_stops_at_its_tolerance(tmp_path: Path, dual: CoordinateDual) -> None:
    cache, encoder = cached(tmp_path, "words")
    blocks = ExampleBlocks(cache.sizes, lambda numbers: made_examples(cache, encoder, numbers))
    learner = BlockDual(dual=dual, mixed=2, F=encoder.n_features, Y=3)
    whole = [one for one in learner.passes(Problem(None, None, blocks), 1) if one.part is None]
    missed = [one.scores["missed"] for one in whole]
    assert 1 < len(missed) < 50
    assert missed[-1] <= dual.tolerance < min(missed[:-1])
    after = {name: array.copy() for name, array in whole[-1].state().items()}  # type: ignore[misc]
    again = list(learner.passes(Problem(None, None, blocks), 1, after))
    assert len(again) == 1
    assert again[0].model().w.tobytes() == whole[-1].model().w.tobytes()  # type: ignore[misc]


def test_few_documents_are_learnt_as_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels = documents(500)
    there = Classifier(threads=1).fit(texts, labels)
    here = Classifier(threads=1).fit(iter(zip(texts, labels, strict=True)))
    assert there.choice_ is not None
    assert here.cached_["features"] == there.choice_["features"]
    assert here.cached_["recipe"] == there.choice_["recipe"]
    assert here.config_.C == there.config_.C
    X, y = documents(400, seed=5)
    assert abs(here.score(X, y) - there.score(X, y)) < 0.03
    monkeypatch.setattr("chaffinch.recipes.document_blocks.DUAL_BYTES", 1)
    by_steps = Classifier(threads=1).fit(iter(zip(texts, labels, strict=True)))
    assert by_steps.cached_["how"] == "SGD"
    assert abs(by_steps.score(X, y) - there.score(X, y)) < 0.06


def test_probabilities_from_a_cache_are_calibrated() -> None:
    texts, labels = documents(1200)
    X, y = documents(1500, seed=5)
    for recipe in ("ridge", "crammer-singer", "logistic"):
        made = Classifier(recipe, threads=1).fit(iter(zip(texts, labels, strict=True)))
        p = made.predict_proba(X)
        right = p.argmax(axis=1) == [made.classes_.tolist().index(one) for one in y]
        assert abs(p.max(axis=1).mean() - right.mean()) < 0.05, recipe


def test_settings_of_dual_ascent_are_followed_or_refused() -> None:
    texts, labels = documents(200)
    pairs = list(zip(texts, labels, strict=True))
    made = Classifier(DualCrammerSinger(C=0.2, epochs=2, loss="squared-hinge")).fit(iter(pairs))
    assert (made.config_.C, made.config_.loss, len(made.history_)) == (0.2, "squared-hinge", 2)
    for wrong, said in ((DualRidge(gap=0.1), "gap"), (DualRidge(bias=1.0), "bias"), ("nb", "no recipe nb")):
        with pytest.raises(ConfigError, match=said):
            Classifier(wrong).fit(iter(pairs))


def test_texts_are_held_once_if_their_features_take_more_bytes(tmp_path: Path) -> None:
    texts, labels = documents(300)
    texts[0] += " \u00e9 \U0001f600"  # above 127, and beyond the first plane
    sizes = {}
    for features in ("words", "characters"):
        (folder := tmp_path / features).mkdir()
        spool = TextSpool(folder)
        spool.add(texts, labels)
        build_cache(spool, folder, "d.cache", DocumentSettings(TextFeatures.of(features), 2.0, threads=1), "")
        spool.close()
        cache = DocumentCache(folder / "d.cache")
        assert cache.holds_texts == (features == "characters")
        sizes[features] = cache.bytes_per_document
        if cache.holds_texts:
            assert cache.texts(0)[0] == texts
            assert [cache.labels[y] for y in cache.texts(0)[1]] == labels
    mean = sum(map(len, texts)) / len(texts)
    assert sizes["characters"] < mean + 4


def test_a_perceptron_of_documents_is_learnt_from_a_generator(tmp_path: Path) -> None:
    X, y = documents(600)
    made = Classifier("perceptron", settings={"epochs": 4}).fit(iter(zip(X, y, strict=True)))
    there, labels = documents(200, seed=1)
    found = made.predict(there)
    in_memory = Classifier("perceptron", settings={"epochs": 4}).fit(X, y).predict(there)
    right = [float(np.mean([a == b for a, b in zip(one, labels, strict=True)])) for one in (found, in_memory)]
    assert right[0] > right[1] - 0.05
    made.save(tmp_path / "m.chaff")
    assert list(load(tmp_path / "m.chaff").predict(there)) == list(found)
    assert type(made.config_).__name__ == "ChoicePerceptron"
    with pytest.raises(ConfigError, match="no recipe svm: leave it out, or name one of ridge"):
        Classifier("svm").fit(iter(zip(X, y, strict=True)))


def test_a_damaged_or_stale_cache_is_named(tmp_path: Path) -> None:
    cache, _ = cached(tmp_path, "words")
    cache.close()
    path = tmp_path / "d.cache"
    with pytest.raises(DataError, match="was made from other data"):
        DocumentCache(path, "another")
    good = path.read_bytes()
    path.write_bytes(good[:-1])
    with pytest.raises(DataError, match="cut short"):
        DocumentCache(path)
    path.write_bytes(good[:100] + bytes([good[100] ^ 1]) + good[101:])
    with pytest.raises(DataError, match="block 1 of"):
        DocumentCache(path).block(0)


def test_a_classifier_learns_from_a_generator(tmp_path: Path) -> None:
    X, y = documents()
    more, gold = documents(200, seed=1)

    def pairs() -> Iterator[tuple[str, str]]:
        yield from zip(X, y, strict=True)

    one = Classifier(threads=1).fit(pairs())
    two = Classifier(threads=1).fit(X, y, cache=tmp_path / "kept")
    assert (one.predict(more) == two.predict(more)).all()
    assert np.mean(one.predict(more) == np.array(gold)) > 0.95
    one.save(tmp_path / "m.chaff")
    assert (load(tmp_path / "m.chaff").predict(more) == one.predict(more)).all()
    assert (tmp_path / "kept" / "documents.cache").exists()
    for wrong, problem in [
        (lambda: Classifier("svm").fit(pairs()), "logistic"),
        (lambda: Classifier(class_weight="balanced").fit(pairs()), "class weights"),
        (lambda: Classifier().fit(iter([("a", ["X", "Y"])])), "one label each"),
        (lambda: Classifier().fit(iter([])), "at least one document"),
        (lambda: Classifier().fit(iter([("a", "X"), ("b", "X")])), "at least two labels"),
        (lambda: Classifier().fit(X), "requires y"),
    ]:
        with pytest.raises((ConfigError, DataError), match=problem):
            wrong()


@pytest.mark.parametrize("loss", ["logistic", "perceptron", "ridge", "crammer-singer", "dual logistic"])
def test_training_goes_on_from_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    monkeypatch.setattr("chaffinch.learners.training.CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr("chaffinch.learners.training.CHECKPOINT_SHARE", 0)
    cache, encoder = cached(tmp_path, "words")
    learner: Any = BlockChoice(l2=1e-3, rate=0.5, epochs=3, mixed=2, F=encoder.n_features, Y=3)
    duals = {"ridge": DualRidge, "crammer-singer": DualCrammerSinger, "dual logistic": DualLogistic}
    if loss in duals:
        learner = BlockDual(dual=duals[loss](C=1.0, epochs=3), mixed=2, F=encoder.n_features, Y=3)
    if loss == "perceptron":
        learner = replace(learner, loss=loss, l2=0.0, falling=False, average=True)
    blocks = ExampleBlocks(cache.sizes, lambda numbers: made_examples(cache, encoder, numbers))
    problem = Problem(None, None, blocks)
    passes: list[Any] = list(learner.passes(problem, 1))
    wanted = passes[-1].finish(None)[0].w.copy()
    for stop in (1, len(passes) // 2, len(passes) - 1):
        running = learner.passes(problem, 1)
        for _ in range(stop):
            one = next(running)
        state = {name: array.copy() for name, array in one.state().items()}
        again = list(learner.passes(problem, 1, state))[-1].finish(None)[0].w
        assert again.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("recipe", ["logistic", "perceptron"])
@pytest.mark.parametrize("stop", [0.3, 0.6, 1.0])
def test_the_best_pass_is_kept_by_a_training_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: str, stop: float
) -> None:
    monkeypatch.setattr("chaffinch.learners.training.CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr("chaffinch.learners.training.CHECKPOINT_SHARE", 0)
    told, scores = (0.2, 0.8, 0.3, 0.4, 0.1, 0.1, 0.1), {}

    def score(model: Any) -> float:
        return scores.setdefault(model.w.tobytes(), told[len(scores)])

    monkeypatch.setattr("chaffinch.recipes.document_task.document_score", lambda *_: score)
    texts, labels = documents(300)

    def fitted(listener: Any) -> Classifier:
        made = Classifier(recipe, features="words", seed=1)
        point = {"source": "documents", "checkpoint": tmp_path / "point", "on_epoch": listener}
        return made.fit_cache(
            zip(texts, labels, strict=True), tmp_path / "c", dev=(texts[:40], labels[:40], None), **point
        )

    steps: list[Any] = []
    whole = fitted(lambda step: steps.append(step) if step.task in ("pass", "block") else None)
    passes = [step.scores["dev"] for step in whole.history_]
    assert passes == list(told[: len(passes)])
    assert len(passes) >= 2
    met = 0

    def killed(step: Any) -> None:
        nonlocal met
        met += step.task in ("pass", "block")
        if met == max(1, int(stop * len(steps))):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(killed)
    again = fitted(lambda _: None)
    assert again.model_.w.tobytes() == whole.model_.w.tobytes()
    assert scores[again.model_.w.tobytes()] == 0.8
    assert [step.scores["dev"] for step in again.history_][: len(passes)] == passes
    assert not (tmp_path / "point").exists()
    for name, made in (("whole", whole), ("again", again)):
        made.save(tmp_path / name)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_cache_of_an_earlier_layout_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaffinch.cache.documents.LAYOUT", 1)
    cached(tmp_path, "words")[0].close()
    monkeypatch.undo()
    with pytest.raises(DataError, match=r"d\.cache: was made by another version of chaffinch; remove it"):
        DocumentCache(tmp_path / "d.cache")


def test_the_command_trains_on_documents_through_a_cache(run: Runner, tmp_path: Path) -> None:
    X, y = documents(400)
    rows = "".join(f"{label},{text}\n" for text, label in zip(X, y, strict=True))
    (tmp_path / "d.csv").write_text("label,text\n" + rows, encoding="utf-8")
    again = []
    for name in ("a", "b"):
        model = tmp_path / f"{name}.chaff"
        found = run(
            *("train", tmp_path / "d.csv", "-o", model, "--cache", tmp_path / "c", "--keep-cache"),
            *("--dev", tmp_path / "d.csv", "--threads", "1"),
        )
        assert found.code == 0, found.err
        assert "bytes a document" in found.err
        again.append(model.read_bytes())
    assert again[0] == again[1]


def test_arrow_in_batches_and_chunks_is_learnt_as_lists_are(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    X, y = documents(300)
    table = arrow.table({"text": X, "label": y})
    reader = arrow.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=70))
    wanted = Classifier(features="words", threads=1).fit(X, y, cache=tmp_path / "a").predict(X)
    assert (Classifier(features="words", threads=1).fit(reader).predict(X) == wanted).all()
    chunks = [arrow.chunked_array([column[:100], column[100:]]) for column in (X, y)]
    assert (
        Classifier(features="words", threads=1).fit(*chunks, cache=tmp_path / "b").predict(X) == wanted
    ).all()


@pytest.mark.parametrize(
    ("bytes_", "label", "said"), [([97, 255], 0, "not UTF-8"), ([97, 300], 0, "range"), ([97], 1, "range")]
)
def test_damaged_texts_of_a_cache_are_named(tmp_path: Path, bytes_: list[int], label: int, said: str) -> None:
    path = tmp_path / "texts"
    writer = DocumentWriter(path, 1, False, texts=True)
    content = np.array(bytes_, np.int32)
    writer._out.add(np.array([len(content)], np.int32), [content, np.array([label], np.int32)])
    writer.close({"fingerprint": "x"}, ["one"])
    cache = DocumentCache(path)
    with pytest.raises(DataError, match=f"block 1 of 1 is damaged.*{said}"):
        cache.texts(0)
    cache.close()


@pytest.mark.parametrize(("named", "known"), [(10_000, True), (100, False)])
def test_words_that_a_sample_lacks_are_features_of_a_classifier_from_a_cache(
    monkeypatch: pytest.MonkeyPatch, named: int, known: bool
) -> None:
    settings = {"CHOSEN_ON_ALL": 150, "CHOSEN_ON": 100, "FEWEST": 100, "COUNTED_ON": 100, "NAMED_ON": named}
    for name, value in settings.items():
        monkeypatch.setattr(f"chaffinch.recipes.document_blocks.{name}", value)
    X, y = documents(600)
    sample = set(np.arange(100) * 600 // 100)  # the documents on which recipes are tried
    rare = [n for n in range(600) if n not in sample and y[n] == "sea"][:6]
    for n in rare:
        X[n] = "zyzzyva quokka"
    made = Classifier(features="words", threads=1).fit(iter(zip(X, y, strict=True)))
    assert made.cached_["counted_on"] == (600 if known else 100)
    assert made.predict(["zyzzyva quokka"]).tolist() == (["sea"] if known else [made.predict([""])[0]])
    p = made.predict_proba(["zyzzyva quokka", ""])
    assert np.array_equal(p[0], p[1]) == (not known)


def test_a_classifier_from_a_cache_keeps_features_with_small_weights(tmp_path: Path) -> None:
    X, y = documents(600)
    made = Classifier("ridge", features="words", threads=1).fit(
        iter(zip(X, y, strict=True)), cache=tmp_path / "c"
    )
    encoder = DocumentEncoder.loaded(modelfile.read(tmp_path / "c" / ENCODER))
    assert made.model_.encoder.n_features == encoder.n_features
