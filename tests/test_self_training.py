"""Self-training: the loop against a plain one, what is kept, what is refused, and the command."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chaffinch import Tagger, load
from chaffinch.active.self_training import SelfTraining, self_train
from chaffinch.corpus import write
from chaffinch.errors import ConfigError, DataError
from chaffinch.evaluate import TagPair, TagScorer
from chaffinch.kinds import KINDS
from chaffinch.kinds.corpora import held_out, joined, taken
from chaffinch.kinds.documents import DocumentKind
from chaffinch.kinds.tags.kind import TagKind
from chaffinch.kinds.texts import Texts
from chaffinch.progress import keep_going
from chaffinch.samples import load as sample
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.table import TokenTable
from commandline import Runner, run  # noqa: F401

TAGS, DOCUMENTS = TagKind(), DocumentKind()


def posts(start: int, end: int, labelled: bool = True) -> TokenTable:
    table = TokenTable.from_documents(sample("posts")[start:end])
    return table if labelled else TokenTable.from_lists({WORD: table.lists(WORD)})


def tagger() -> Tagger:
    return TAGS.made("hmm", {"folds": 0}, None, 0, 1)


def classifier(**settings: Any) -> Any:
    return DOCUMENTS.made("maxent", {"calibrate": False, **settings}, "counts", 0, 1)


def fitted(kind: Any, model: Any, corpus: Any) -> Any:
    kind.fit(model, corpus, None, keep_going)
    return model


def linked_texts() -> tuple[Texts, Texts, Texts]:
    """Two classes of twenty words: few words are labelled, the pool links them with others, dev has only the others."""
    chance = random.Random(3)
    words = {label: [f"{label}{i}" for i in range(20)] for label in ("tea", "ship")}
    labels = ["tea", "ship"] * 100
    train = Texts([" ".join(words[y][:2]) for y in labels[:20]], labels[:20])
    pool = Texts(
        [" ".join([chance.choice(words[y][:2]), *chance.sample(words[y], 2)]) for y in labels], [None] * 200
    )
    return train, pool, Texts([" ".join(chance.sample(words[y][2:], 2)) for y in labels], labels)


def judged(train: Texts, pool: Texts, dev: Texts | None, **options: Any) -> tuple[Any, SelfTraining]:
    supervised = fitted(DOCUMENTS, classifier(), train)
    return supervised, self_train(DOCUMENTS, supervised, classifier, train, pool, dev, **options)


def test_the_curve_of_a_tagger_is_that_of_a_plain_loop() -> None:
    train, pool, dev = posts(0, 150), posts(150, 400, labelled=False), posts(400, 600)
    supervised = fitted(TAGS, tagger(), train)
    found = self_train(TAGS, supervised, tagger, train, pool, dev, confidence=0.8)

    X, y, gold = train.lists(WORD), train.lists(LABEL), dev.lists(LABEL)
    seen = [*X, *dev.lists(WORD)]
    rows = [words for words in pool.lists(WORD) if words not in seen]
    model, expected = supervised, []
    for n in range(4):
        added_X, added_y = [], []
        if n:
            columns = model.classes_.tolist()
            for words in rows:
                (labels,), (p,), (spans,) = (
                    ask([words]) for ask in (model.predict, model.predict_marginals, model.predict_spans)
                )
                least = min(p[t][columns.index(label)] for t, label in enumerate(labels))
                if min([least, *(span.probability for span in spans)]) >= 0.8:
                    added_X.append(words)
                    added_y.append(labels)
            model = Tagger("hmm", folds=0, threads=1).fit([*X, *added_X], [*y, *added_y])
        pair = TagPair.from_lists(gold, model.predict(dev.lists(WORD)))
        tally = TagScorer(pair.labels).tally(pair.y, pair.y_hat, pair.ptr)
        expected.append((n, len(added_X), float(tally.score(tally.sums())["span.micro.f1"])))
    assert found.key == "span.micro.f1"
    assert [(r.round, r.added, r.score) for r in found.curve] == expected
    assert 0 < expected[1][1] < len(rows)
    assert all(r.low <= r.score <= r.high for r in found.curve)


def test_it_keeps_the_supervised_model_if_nothing_is_gained() -> None:
    train, pool, dev = linked_texts()
    easy = Texts(train.texts * 5, train.labels * 5)  # the supervised model makes no mistake
    supervised, found = judged(train, pool, easy, confidence=0.6)
    assert found.model is supervised
    assert (found.kept, found.added) == (0, 0)
    assert len(found.curve) > 1
    assert "the supervised model is kept" in found.verdict()
    nothing = Texts(["rain"] * 20, [None] * 20)
    supervised, found = judged(train, nothing, dev, confidence=0.99)
    assert found.model is supervised
    assert len(found.curve) == 1
    assert "No unlabelled row" in found.verdict()


def test_it_learns_words_that_no_labelled_text_has() -> None:
    train, pool, dev = linked_texts()
    supervised, found = judged(train, pool, dev, confidence=0.6)
    assert found.kept > 0
    best = found.curve[found.kept]
    assert found.curve[0].score < 0.6
    assert best.score > 0.9
    assert best.gain_low > 0
    assert best.gain == max(r.gain for r in found.curve)
    assert found.model is not supervised
    assert np.mean(found.model.predict(dev.texts) == np.array(dev.labels)) == best.score
    assert "is kept, trained on" in found.verdict()
    assert found.model.confidence_ is None


def test_without_dev_a_fifth_judges_and_the_best_round_is_repeated_on_all_rows() -> None:
    train, pool, dev = linked_texts()
    both = joined([train, taken(dev, range(100))])
    calls: list[Any] = []

    def made() -> Any:
        calls.append(classifier())
        return calls[-1]

    learnt, judge = held_out(train, 0.2, 4)
    assert (len(learnt), len(judge)) == (16, 4)
    supervised = fitted(DOCUMENTS, classifier(), both)
    found = self_train(DOCUMENTS, supervised, made, both, pool, None, rounds=2, confidence=0.5, seed=4)
    learnt, judge = held_out(both, 0.2, 4)
    assert found.held_out == len(judge) == 24
    first = fitted(DOCUMENTS, classifier(), learnt)
    right = np.mean(first.predict(judge.texts) == np.array(judge.labels))
    assert found.curve[0].score == right
    assert len(calls) == len(found.curve) + found.kept


def test_a_repeated_round_has_learnt_all_labelled_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    train, pool, dev = linked_texts()
    both = joined([train, taken(dev, range(30))])
    sizes: list[int] = []
    fit = DocumentKind.fit

    def noted(self: Any, estimator: Any, corpus: Texts, dev: Any, on_epoch: Any) -> None:
        sizes.append(len(corpus))
        fit(self, estimator, corpus, dev, on_epoch)

    monkeypatch.setattr("chaffinch.active.self_training._gain", lambda *_: Gained())
    supervised = fitted(DOCUMENTS, classifier(), both)
    monkeypatch.setattr(DocumentKind, "fit", noted)
    found = self_train(DOCUMENTS, supervised, classifier, both, pool, None, rounds=1, confidence=0.6)
    assert found.kept == 1
    assert sizes == [40, 40 + found.curve[1].added, 50 + found.added]


class Gained:
    low, high = 0.1, 0.2


def test_texts_that_are_labelled_already_are_left_out() -> None:
    train, pool, dev = linked_texts()
    _, found = judged(train, joined([pool, replace(train, labels=[None] * 20)]), dev, rounds=1)
    assert found.pool == len(pool)


def test_several_labels_and_weights_are_kept() -> None:
    texts = ["tea", "ship", "tea ship", "rain"] * 10
    labels = [["t"], ["s"], ["s", "t"], []] * 10
    train = Texts(texts, labels, weight=[1.0, 3.0] * 20)
    model = fitted(DOCUMENTS, classifier(each=True), train)
    answered, sure = DOCUMENTS.self_labelled(model, Texts(["ship tea", "rain"], [None, None]), train)
    p = model.predict_proba(["ship tea", "rain"])
    assert [sorted(y) for y in answered.labels] == [["s", "t"], []]
    assert sure.tolist() == [p[0].min(), (1 - p[1]).min()]
    assert joined([train, answered]).weight == [*[1.0, 3.0] * 20, 2.0, 2.0]


def test_a_sentence_without_spans_is_as_certain_as_its_least_certain_token() -> None:
    train = posts(0, 150)
    model = fitted(TAGS, tagger(), train)
    pool = posts(150, 300, labelled=False)
    answered, sure = TAGS.self_labelled(model, pool, train)
    assert list(answered.columns) == list(train.columns)
    without = [n for n, labels in enumerate(answered.lists(LABEL)) if set(labels) == {"O"}]
    assert without
    O = model.classes_.tolist().index("O")
    for n in without:
        assert sure[n] == model.predict_marginals(pool)[n][:, O].min()


def test_missing_columns_and_impossible_numbers_are_refused() -> None:
    train, pool, dev = linked_texts()
    for options in ({"rounds": 0}, {"confidence": 1.5}):
        with pytest.raises(ConfigError, match="self-training"):
            judged(train, pool, dev, **options)
    table = TokenTable.from_lists({WORD: [["a"]] * 3, "pos": [["D"]] * 3, LABEL: [["X"]] * 3})
    model = fitted(TAGS, tagger(), table)
    with pytest.raises(DataError, match="lack columns of the training data: pos"):
        TAGS.self_labelled(model, TokenTable.from_lists({WORD: [["a"]]}), table)


@pytest.mark.parametrize("kind", [k for k in KINDS if k.plural not in ("sentences", "documents")])
def test_other_kinds_are_refused(kind: Any) -> None:
    with pytest.raises(
        ConfigError, match=f"self-training is for sentences and documents, not for {kind.plural}"
    ):
        kind.self_labelled(None, None, None)
    assert "self_train" not in kind.takes


def files(folder: Path) -> tuple[Path, Path, Path]:
    train, pool, dev = linked_texts()
    paths = folder / "train.csv", folder / "pool.csv", folder / "dev.csv"
    for path, corpus in zip(paths, (train, pool, dev), strict=True):
        labels = [[y] if y else [] for y in corpus.labels]
        write([Document(text=t, labels=y) for t, y in zip(corpus.texts, labels, strict=True)], path)
    return paths


def test_the_command_prints_the_curve_and_keeps_what_helps(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    train, pool, dev = files(tmp_path)
    model = tmp_path / "m.chaff"
    common = ("train", train, "-o", model, "--recipe", "maxent", "--self-train", pool, "--dev", dev)
    told = run(*common, "--self-train-confidence", "0.6", "--json")
    assert told.code == 0, told.err
    record = json.loads(told.out)["self_training"]
    assert record["kept"] > 0
    assert len(record["curve"]) <= 4
    answers = load(model).predict(linked_texts()[2].texts)
    right = float(np.mean(answers == np.array(linked_texts()[2].labels)))
    assert right == record["curve"][record["kept"]]["score"] > 0.9
    shown = run(*common, "--self-train-confidence", "0.6", "--self-train-rounds", "1")
    assert shown.code == 0, shown.err
    assert "supervised" in shown.out
    assert "round 1" in shown.out
    assert "round 2" not in shown.out
    assert "calibrated on" not in shown.out


def test_the_command_writes_the_same_supervised_model_if_nothing_helps(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    train, pool, _ = files(tmp_path)
    plain, judged = tmp_path / "plain.chaff", tmp_path / "judged.chaff"
    assert run("train", train, "-o", plain, "--recipe", "maxent").code == 0
    told = run("train", train, "-o", judged, "--recipe", "maxent", "--self-train", pool)
    assert "the supervised model is kept" in " ".join(told.out.split())
    one, other = load(plain), load(judged)
    texts = linked_texts()[1].texts
    assert np.array_equal(one.predict_proba(texts), other.predict_proba(texts))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--self-train-rounds", "2"), "--self-train-rounds needs --self-train"),
        (
            ("--self-train", "pool.csv", "--stop-on-dev", "--dev", "dev.csv"),
            "--stop-on-dev cannot be combined",
        ),
        (("--self-train", "absent.csv"), "absent.csv"),
        (("--self-train", "pool.csv", "--compare", "nb,maxent"), "--self-train cannot be combined"),
        (("--self-train", "pool.csv", "--max-size", "1MB"), "--self-train cannot be combined"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(
    flags: tuple[str, ...],
    message: str,
    run: Runner,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    outcome = run("train", "train.csv", "-o", "m.chaff", *flags)
    assert outcome.code != 0
    assert message in " ".join(outcome.err.split())
    assert not Path("m.chaff").exists()


def test_the_command_refuses_trees(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    trees = tmp_path / "trees.mrg"
    trees.write_text("(S (NP (D a) (N dog)) (V barks))\n" * 3)
    outcome = run("train", trees, "-o", tmp_path / "m.chaff", "--self-train", trees)
    assert outcome.code != 0
    assert "--self-train does not apply to trees" in " ".join(outcome.err.split())


def test_names_of_columns_are_those_of_the_labelled_file(run: Runner, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "few.conll").write_text("a\tlow\tD\ndog\tlow\tN\n\n" * 10)
    (tmp_path / "pool.conll").write_text("a\tlow\ncat\tlow\n\n" * 5)
    (tmp_path / "same.conll").write_text("a\tlow\t_\ncat\tlow\t_\n\n" * 5)
    for columns, pool in (("w,shape,y", "pool.conll"), ("w=1,y=3", "same.conll")):
        told = run(
            *("train", tmp_path / "few.conll", "-o", tmp_path / "m.chaff", "--recipe", "hmm", "--json"),
            *("--columns", columns, "--self-train", tmp_path / pool, "--self-train-confidence", "0"),
        )
        assert told.code == 0, told.err
        assert [r["added"] for r in json.loads(told.out)["self_training"]["curve"]][:2] == [0, 5]
