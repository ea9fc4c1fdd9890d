"""Training from a cache: the features, the labels and the model are those of training in memory, bit by bit."""

import gc
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch import Tagger, load
from chaffinch.cache import Cache, CacheWriter
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.blocks import BlockEncoder
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.learners.block_online import BlockOnline
from chaffinch.learners.block_sgd import BlockSgd, ExampleBlocks, mixtures
from chaffinch.learners.examples import SentenceExamples
from chaffinch.learners.problem import Problem
from chaffinch.learners.training import Checkpoint, train_passes
from chaffinch.model.chain_weights import ChainWeights
from chaffinch.model.potentials import Additive
from chaffinch.modelfile import Packed
from chaffinch.recipes import crf_blocks
from chaffinch.recipes.crf import CrfModels
from chaffinch.recipes.crf_blocks import (
    BlockExamples,
    BlockLabels,
    CachedTask,
    block_learner,
    objective,
    train_blocks,
)
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.crf_problem import CrfLayout, crf_problem, margin_costs
from chaffinch.recipes.encoding import encoded, encoded_without_labels, inner_labels, suggested_preset
from chaffinch.recipes.perceptron import MiraTagger, StructuredPerceptron, learner_of
from chaffinch.recipes.perceptron_blocks import train_online_blocks
from chaffinch.recipes.recipe import TaggingTask
from chaffinch.recipes.rules import LabelRules
from chaffinch.scorers import Layout, Linear
from chaffinch.text.table import TokenTable


def corpus(n: int = 400, seed: int = 0, faults: float = 0.0) -> TokenTable:
    """Sentences with names: a capitalised word after a title is inside a span."""
    rng = np.random.default_rng(seed)
    words, tags = [], []
    for _ in range(n):
        row, labels = [], []
        for _ in range(int(rng.integers(1, 6))):
            if rng.random() < 0.4:
                kind = ("PER", "LOC")[int(rng.integers(2))]
                row += [("Mr", "Mount")[kind == "LOC"], f"Name{rng.integers(30)}"]
                labels += [f"B-{kind}", f"I-{kind}"]
            else:
                row.append(f"word{rng.integers(40)}")
                labels.append("I-PER" if rng.random() < faults else "O")
        words.append(row)
        tags.append(labels)
    return TokenTable.from_lists({"w": words, "y": tags})


def cached(path: Path, table: TokenTable, tokens: int = 300) -> Cache:
    with CacheWriter(path, list(table.columns), tokens=tokens) as writer:
        writer.add(table)
    return Cache.open(path)


def same(a: Packed, b: Packed) -> bool:
    return (
        a.details == b.details
        and a.strings == b.strings
        and a.arrays.keys() == b.arrays.keys()
        and all(
            x.dtype == b.arrays[name].dtype and x.tobytes() == b.arrays[name].tobytes()
            for name, x in a.arrays.items()
        )
    )


def in_memory(cache: Cache, config: Crf, features: Any = None) -> Any:
    """The model that the same learner makes of all sentences in memory, in the same order."""
    table = cache.table()
    task = TaggingTask(table, tuple(n for n in cache.columns if n != "y"), features=features)
    inner = inner_labels(task, config.inside)
    encoder, rows = encoded(task, config, preset=suggested_preset(task, inner))
    shape = CrfLayout(encoder.n_features, len(inner.labels.inner))
    chosen = objective(config, BlockLabels.of(cache, config.inside), encoder.features, cache.n_tokens)
    cost = margin_costs(inner.labels, chosen.margin, chosen.recall) if chosen.margin else None
    problem = crf_problem(shape, rows, inner, cost=cost)
    learner = replace(block_learner(config, chosen), sizes=cache.sentences_by_block)
    made = train_passes(learner, problem, threads=1).made
    rules = LabelRules.of(config, task, inner)
    models = CrfModels(encoder, inner, shape, rules, None)
    return models.smaller(made, config.min_weight, config.bits) if config.min_weight else models.model(made)


@pytest.mark.parametrize("inside", ["auto", "as given"])
@pytest.mark.parametrize("faults", [0.0, 0.002, 0.5])
def test_labels_of_blocks_are_those_of_the_whole(tmp_path: Path, inside: str, faults: float) -> None:
    table = corpus(faults=faults)
    cache = cached(tmp_path / "c", table)
    assert cache.n_blocks > 3
    whole = inner_labels(TaggingTask(cache.table(), ("w",)), inside)
    found = BlockLabels.of(cache, inside)
    assert found.labels.inner == whole.labels.inner
    assert found.labels.outer == whole.labels.outer
    assert found.scheme is whole.scheme
    assert found.names == whole.names
    assert np.concatenate([found.ids(block) for block in cache.blocks()]).tolist() == whole.y.tolist()


@pytest.mark.parametrize(
    "features",
    ["ner", "pos", ["w[0]", "run[0]", "w[0]|w[1]|w[2]|w[3]|w[4]|w[-1]", "last_preposition[0]", "stem[0]"]],
)
@pytest.mark.parametrize("min_count", [1, 3])
def test_features_of_blocks_are_those_of_the_whole(tmp_path: Path, features: Any, min_count: int) -> None:
    cache = cached(tmp_path / "c", corpus())
    whole = FeatureEncoder(features, min_count=min_count)
    rows = whole.fit(_words(cache.table()))
    blocks = FeatureEncoder(features, min_count=min_count, stretch=whole.stretch)
    by_block = BlockEncoder.fitted(blocks, lambda: map(_words, cache.blocks()))
    assert same(blocks.packed(), whole.packed())
    assert blocks.counts().tolist() == whole.counts().tolist()
    found = [by_block.rows(_words(block)) for block in cache.blocks()]
    assert np.concatenate([r.ids for r in found]).tolist() == rows.ids.tolist()
    assert np.concatenate([np.diff(r.ptr) for r in found]).tolist() == np.diff(rows.ptr).tolist()
    known = BlockEncoder.known(whole, _words(cache.block(0)))
    assert known.rows(_words(cache.block(1))).ids.tolist() == found[1].ids.tolist()


def _words(table: TokenTable) -> TokenTable:
    return TokenTable(table.ptr, {"w": table.columns["w"]}, table.groups)


@pytest.mark.parametrize("seed", range(3))
def test_an_epoch_takes_every_example_once(seed: int) -> None:
    sizes = np.array([3, 1, 4, 1, 5, 9, 2])
    starts = np.cumsum(sizes) - sizes
    orders = []
    for epoch in (1, 2):
        met: list[int] = []
        for mixture in mixtures(sizes, 3, seed, epoch):
            which = np.concatenate([starts[k] + np.arange(sizes[k]) for k in mixture.blocks])
            met += which[mixture.order].tolist()
        assert sorted(met) == list(range(25))
        orders.append(met)
    assert orders[0] != orders[1]


@pytest.mark.parametrize("config", [Crf(), Crf(margin=0.0, c2=0.3, passes=2), Crf(min_count=2, bits=8)])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_model_is_that_of_training_in_memory_bit_by_bit(
    tmp_path: Path, config: Crf, threads: int
) -> None:
    cache = cached(tmp_path / "c", corpus())
    task = CachedTask(cache, ("w",), threads=threads)
    made = train_blocks(task, config).model
    assert same(made.packed(), in_memory(cache, config).packed())


def test_the_core_and_the_plain_loop_agree(tmp_path: Path) -> None:
    cache = cached(tmp_path / "c", corpus(60), tokens=50)
    table = cache.table()
    task = TaggingTask(table, ("w",), features=["w[0]", "w[-1]"])
    inner = inner_labels(task, "auto")
    encoder, rows = encoded(task, Crf(), preset="ner")
    shape = CrfLayout(encoder.n_features, len(inner.labels.inner))
    problem = crf_problem(shape, rows, inner, seed=3, cost=margin_costs(inner.labels, 2.0, 1.5))
    learner = BlockSgd(c2=0.5, rate=0.1, epochs=2, mixed=2, sizes=cache.sentences_by_block)
    plain = list(learner.generic(problem))[-1].model().w
    # With few sentences the core scores one at a time, as the plain loop does.
    native = train_passes(learner, problem, threads=1).made.w
    np.testing.assert_allclose(native, plain, atol=2e-5)
    blocks = replace(problem, examples=ExampleBlocks.of(problem.examples, cache.sentences_by_block))
    streamed = train_passes(replace(learner, sizes=None), blocks, threads=1).made.w
    assert streamed.tobytes() == native.tobytes()


def test_a_decaying_scale_that_wears_out_is_made_whole(tmp_path: Path) -> None:
    cache = cached(tmp_path / "c", corpus(200))
    config = Crf(c2=200.0, margin=0.0, rate=0.1, min_weight=0.0)
    made = train_blocks(CachedTask(cache, ("w",)), config).model
    again = in_memory(cache, config)
    assert same(made.packed(), again.packed())
    assert np.isfinite(made.weights.dense).all()


@pytest.mark.parametrize("stop", [1, 3, 7, 12])
def test_training_goes_on_from_a_checkpoint_with_the_same_bytes(
    tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaffinch.learners.training.CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr("chaffinch.learners.training.CHECKPOINT_SHARE", 0)
    monkeypatch.setattr("chaffinch.recipes.crf_blocks.MIXED", 2)
    cache = cached(tmp_path / "c", corpus(), tokens=150)
    whole = train_blocks(CachedTask(cache, ("w",)), Crf()).model.packed()
    seen = 0

    def killed(progress: Any) -> None:
        nonlocal seen
        seen += progress.task != "counting"
        if seen == stop:
            raise KeyboardInterrupt

    task = CachedTask(cache, ("w",), checkpoint=tmp_path / "point", on_epoch=killed)
    with pytest.raises(KeyboardInterrupt):
        train_blocks(task, Crf())
    assert (tmp_path / "point").exists()
    steps: list[Any] = []
    again = train_blocks(replace(task, on_epoch=steps.append), Crf())
    assert same(again.model.packed(), whole)
    assert all(one.scores["sentences/s"] > 0 for one in steps if one.task == "block")
    assert not any("sentences/s" in one.scores for one in again.history)
    assert not (tmp_path / "point").exists()
    seen = 0
    with pytest.raises(KeyboardInterrupt):
        train_blocks(task, Crf())
    with pytest.raises(ConfigError, match="is not a checkpoint of this training"):
        train_blocks(replace(task, on_epoch=steps.append), Crf(c2=0.7))


ONLINE = [
    StructuredPerceptron(epochs=3),
    StructuredPerceptron(epochs=2, margin=0.0, average=False, min_count=2),
]
ONLINE_RULES = [*ONLINE, MiraTagger(epochs=2, k=2), MiraTagger(epochs=2, rule="arow")]


@pytest.mark.parametrize("config", ONLINE_RULES)
@pytest.mark.parametrize("threads", [1, 2])
def test_online_learning_from_a_cache_is_that_in_memory_bit_by_bit(
    tmp_path: Path, config: StructuredPerceptron | MiraTagger, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaffinch.recipes.crf_blocks.MIXED", 2)
    cache = cached(tmp_path / "c", corpus())
    made = train_online_blocks(CachedTask(cache, ("w",), seed=5, threads=threads), config).model

    task = TaggingTask(cache.table(), ("w",))
    inner = inner_labels(task, config.inside)
    encoder, rows = encoded_without_labels(task, config, inner)
    rules = LabelRules.of(config, task, inner)
    problem = Problem(
        rules.chain(len(inner.labels.inner)),
        Linear(Layout.chain(encoder.n_features, len(inner.labels.inner))),
        SentenceExamples(rows.sentences, rows.ptr, rows.ids, inner.y),
    )
    learner = BlockOnline(rule=learner_of(config, 5), mixed=2, sizes=cache.sentences_by_block)
    scorer = train_passes(learner, problem).made
    assert same(
        made.packed(), replace(made, source=Additive(rules.put_into(ChainWeights.of(scorer, None)))).packed()
    )
    plain = list(learner.generic(problem))[-1].model()
    np.testing.assert_allclose(scorer.w, plain.w, atol=1e-4)


@pytest.mark.parametrize("config", [ONLINE[0], MiraTagger(epochs=3, rule="arow")])
@pytest.mark.parametrize("stop", [1, 4, 9])
def test_online_learning_goes_on_from_a_checkpoint_with_the_same_bytes(
    tmp_path: Path, config: StructuredPerceptron | MiraTagger, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chaffinch.learners.training.CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr("chaffinch.learners.training.CHECKPOINT_SHARE", 0)
    monkeypatch.setattr("chaffinch.recipes.crf_blocks.MIXED", 2)
    cache = cached(tmp_path / "c", corpus(), tokens=150)
    whole = train_online_blocks(CachedTask(cache, ("w",)), config).model.packed()
    seen = 0

    def killed(progress: Any) -> None:
        nonlocal seen
        seen += progress.task != "counting"
        if seen == stop:
            raise KeyboardInterrupt

    task = CachedTask(cache, ("w",), checkpoint=tmp_path / "point", on_epoch=killed)
    with pytest.raises(KeyboardInterrupt):
        train_online_blocks(task, config)
    assert (tmp_path / "point").exists()
    again = train_online_blocks(replace(task, on_epoch=lambda _: True), config)
    assert same(again.model.packed(), whole)
    assert not (tmp_path / "point").exists()


def test_a_perceptron_learns_from_a_generator(tmp_path: Path) -> None:
    X, y = labelled_sentences(300)
    tagger = Tagger("perceptron").fit(iter(zip(X, y, strict=True)))
    found = tagger.predict(X)
    assert np.mean([a == b for a, b in zip(found, y, strict=True)]) > 0.95
    tagger.save(tmp_path / "m.chaff")
    assert load(tmp_path / "m.chaff").predict(X) == found
    with pytest.raises(ConfigError, match="forbid needs training in memory"):
        Tagger(StructuredPerceptron(forbid="O->O")).fit(iter(zip(X, y, strict=True)))


@pytest.mark.parametrize(
    "config",
    [
        Crf(optimiser="precise"),
        Crf(optimiser="lbfgs"),
        Crf(order=2),
        Crf(second_pass=True),
        Crf(c1=1.0),
        Crf(calibrate=True),
        Crf(forbid="O->O"),
        Crf(class_weight="balanced"),
    ],
)
def test_settings_that_need_all_sentences_are_refused(tmp_path: Path, config: Crf) -> None:
    cache = cached(tmp_path / "c", corpus(20))
    with pytest.raises(ConfigError, match=r"in memory|uses SGD"):
        train_blocks(CachedTask(cache, ("w",)), config)


def test_rare_features_go_if_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = cached(tmp_path / "c", corpus())
    monkeypatch.setattr("chaffinch.recipes.crf_blocks.MOST_WEIGHT_BYTES", 4 * 8 * 900)
    made = train_blocks(CachedTask(cache, ("w",)), Crf(min_weight=0.0)).model
    assert 0 < made.encoder.n_features <= 900
    assert made.encoder.features.min_count > 1


def labelled_sentences(n: int = 300) -> tuple[list[list[str]], list[list[str]]]:
    table = corpus(n)
    return table.lists("w"), table.lists("y")


def test_a_tagger_learns_from_a_generator_as_from_a_cache(tmp_path: Path) -> None:
    X, y = labelled_sentences()
    one = Tagger(threads=1).fit((x, labels) for x, labels in zip(X, y, strict=True))
    two = Tagger(threads=1).fit(X, y, cache=tmp_path / "kept")
    three = Tagger(threads=1).fit(Cache.open(tmp_path / "kept" / "sentences.cache"))
    assert same(one.model_.packed(), two.model_.packed())
    assert same(one.model_.packed(), three.model_.packed())
    found = one.predict(X)
    assert np.mean([a == b for a, b in zip(found, y, strict=True)]) > 0.95
    one.save(tmp_path / "m.chaff")
    assert load(tmp_path / "m.chaff").predict(X) == found
    assert one.trained_on_["sentences"] == 300


def test_what_cannot_be_learnt_block_by_block_is_refused(tmp_path: Path) -> None:
    X, y = labelled_sentences(20)
    with pytest.raises(ConfigError, match="recipes crf, perceptron and mira"):
        Tagger("hmm").fit(iter(zip(X, y, strict=True)))
    with pytest.raises(ConfigError, match="sample_weight"):
        Tagger().fit(iter(zip(X, y, strict=True)), sample_weight=[1.0] * 20)
    with pytest.raises(DataError, match="pairs"):
        Tagger().fit(iter(X))
    with pytest.raises(DataError, match="at least one sentence"):
        Tagger().fit(iter([]))
    with pytest.raises(DataError, match="more or fewer"):
        Tagger().fit(iter(X), iter(y[:-1]), cache=tmp_path)


@pytest.mark.parametrize(("room", "derived"), [(0, 2), (600, 2), (1 << 20, 1)])
def test_rows_that_fit_in_memory_are_derived_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, derived: int
) -> None:
    cache = cached(tmp_path / "c", corpus())
    config = Crf(passes=2)
    usual = train_blocks(CachedTask(cache, ("w",)), config).model.packed()
    made: list[int] = []
    rows = BlockEncoder.rows

    def counted(self: BlockEncoder, block: TokenTable, threads: int | None = None) -> Any:
        made.append(block.n_tokens)
        return rows(self, block, threads)

    monkeypatch.setattr(BlockEncoder, "rows", counted)
    monkeypatch.setattr(BlockExamples.__init__, "__defaults__", (room,))
    assert same(train_blocks(CachedTask(cache, ("w",)), config).model.packed(), usual)
    assert sum(made) == derived * cache.n_tokens


def test_arrow_in_batches_and_chunks_is_learnt_as_lists_are(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    X, y = corpus(300).lists("w"), corpus(300).lists("y")
    wanted = Tagger("crf", threads=1).fit(X, y, cache=tmp_path / "a").model_.packed()
    table = arrow.table({"tokens": X, "tags": y})
    reader = arrow.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=70))
    assert same(Tagger("crf", threads=1).fit(reader).model_.packed(), wanted)
    chunks = [arrow.chunked_array([column[:100], column[100:]]) for column in (X, y)]
    assert same(Tagger("crf", threads=1).fit(*chunks, cache=tmp_path / "b").model_.packed(), wanted)
    more = arrow.table({"id": ["n"] * 300, "tokens": X, "pos": X, "tags": y})
    with pytest.raises(DataError, match="'pos' would be left out"):
        Tagger("crf", threads=1).fit(arrow.RecordBatchReader.from_batches(more.schema, more.to_batches()))
    fewer = more.drop_columns(["pos"])
    reader = arrow.RecordBatchReader.from_batches(fewer.schema, fewer.to_batches())
    assert same(Tagger("crf", threads=1).fit(reader).model_.packed(), wanted)


@pytest.mark.parametrize("recipe", ["crf", "perceptron"])
def test_the_state_of_a_checkpoint_is_freed_once_training_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: str
) -> None:
    cache = cached(tmp_path / "c", corpus())
    saved: list[dict[str, Any]] = []
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    monkeypatch.setattr(
        Checkpoint, "save", lambda self, state: saved.append({k: np.array(v) for k, v in state.items()})
    )
    wanted = Tagger(recipe, threads=1).fit_cache(cache, checkpoint=tmp_path / "point").model_.packed()
    loaded = {name: np.array(array) for name, array in saved[0].items()}
    weights, alive = weakref.ref(loaded["w"]), []
    states = [loaded]
    del loaded
    monkeypatch.setattr(Checkpoint, "load", lambda self: states.pop())

    def watched(progress: Any) -> None:
        if progress.task in ("block", "pass"):
            alive.append(weights() is not None)

    tagger = Tagger(recipe, threads=1).fit_cache(cache, checkpoint=tmp_path / "point", on_epoch=watched)
    assert same(tagger.model_.packed(), wanted)
    assert alive
    assert not any(alive)


@pytest.mark.parametrize("held_out", [0, 50])
def test_scored_models_and_the_table_of_weights_are_freed_before_the_next_model_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held_out: int
) -> None:
    cache = cached(tmp_path / "c", corpus())
    scored: list[weakref.ref[Any]] = []
    tables: list[weakref.ref[Any]] = []
    alive: list[int] = []
    freed: list[bool] = []
    make, finished = crf_blocks.CrfModels.model, crf_blocks.finished

    def watched(self: Any, made: Any) -> Any:
        alive.append(sum(model() is not None for model in scored))
        model = make(self, made)
        scored.append(weakref.ref(model))
        return model

    def handed_over(models: Any, made: Any, config: Crf) -> Any:
        tables.append(weakref.ref(made.w))
        handed = [made]
        del made
        return finished(models, handed.pop(), config)

    monkeypatch.setattr(crf_blocks.CrfModels, "model", watched)
    monkeypatch.setattr(crf_blocks, "finished", handed_over)
    monkeypatch.setattr(crf_blocks, "give_back_memory", lambda: freed.append(tables[0]() is None))
    gc.disable()  # what is in a cycle of references would stay
    try:
        dev = corpus(held_out) if held_out else None
        train_blocks(CachedTask(cache, ("w",), dev=dev), Crf(passes=4))
    finally:
        gc.enable()
    assert (len(alive) >= 3) == (held_out > 0)  # no model is scored without held-out data
    assert not any(alive)
    assert freed == [True]
