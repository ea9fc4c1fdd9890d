"""fastText itself beside what is read from its files, and beside its module here."""

import math
import time
import warnings
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
import pytest

import chaffinch
from chaffinch import corpus as corpus_files
from chaffinch import samples
from chaffinch.compat import fasttext as compat
from chaffinch.errors import ConfigError, DataError

ASKED = ["", "zzz qqq", "good </s> bad", "naïve café 日本語 __label__x tea", "a\tb\vc", "tea tea tea"]
SETTINGS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "ova": {"loss": "ova"},
    "ns": {"loss": "ns"},
    "hs": {"loss": "hs"},
    "subwords": {"minn": 2, "maxn": 4, "bucket": 5000},
    "n-grams": {"wordNgrams": 3, "bucket": 5000},
    "both, ova": {"minn": 1, "maxn": 3, "wordNgrams": 2, "bucket": 5000, "loss": "ova"},
    "both, hs": {"minn": 2, "maxn": 3, "wordNgrams": 2, "bucket": 5000, "loss": "hs"},
}
QUANTISED: dict[str, dict[str, Any]] = {
    "plain": {},
    "norms": {"qnorm": True},
    "pruned": {"cutoff": 300},
}
THREE = ("softmax", "both, ova", "both, hs")


def lines_of(name: str, n: int) -> list[tuple[str, str]]:
    return [
        (d.labels[0].replace(" ", "_"), " ".join(d.text.split())) for d in samples.load(name, "train", n=n)
    ]


@pytest.fixture(scope="module", params=["reviews", "topics", "trec", "sst5", "news"])
def corpus(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[str]]:
    """A training file and texts to ask about; of the real corpora a part of the training split."""
    pairs = _pairs(request.param)
    path = tmp_path_factory.mktemp("fasttext") / "train.txt"
    path.write_text("".join(f"__label__{label} {text}\n" for label, text in pairs))
    return path, [text for _, text in pairs[:120]] + ASKED


def _pairs(name: str) -> list[tuple[str, str]]:
    if name in ("reviews", "topics"):
        return lines_of(name, 600)
    from conftest import data_folder

    file, label = {
        "trec": ("trec_qc/train.csv", "fine"),
        "sst5": ("sst5/train.csv", "label"),
        "news": ("newsgroups20/train.csv.gz", "label"),
    }[name]
    folder = data_folder()
    if folder is None:
        pytest.skip("the corpus is not here")
    documents = list(corpus_files.read(folder / file, label=label))[: 1500 if name != "news" else 500]
    return [(d.labels[0].replace(" ", "_"), " ".join(d.text.split())) for d in documents if d.text.strip()]


def same_answers(original: Any, path: Path, texts: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", chaffinch.errors.DataWarning)
        made = compat.load_model(str(path))
    for k in (1, 2, 5, -1):
        for threshold in (0.0, 0.2):
            labels, p = made.predict(texts, k, threshold)
            for text, own, probabilities in zip(texts, labels, p, strict=True):
                theirs = original.f.predict(text + "\n", k, threshold, "strict")
                assert own == [label for _, label in theirs]
                # Its own rounding differs by processor: a compiler may fuse its products and sums.
                assert np.allclose(probabilities, [score for score, _ in theirs], rtol=1e-5)
    best = made.estimator.predict(texts)
    answered = [original.f.predict(text + "\n", 1, 0.0, "strict") for text in texts]
    assert ["__label__" + label for label in best] == [one[0][1] for one in answered]


@pytest.mark.parametrize("name", SETTINGS)
def test_rankings_and_probabilities_are_fasttexts(name: str, corpus: Any, tmp_path: Path) -> None:
    train, texts = corpus
    model = fasttext.train_supervised(
        input=str(train), verbose=0, thread=1, epoch=4, dim=16, **SETTINGS[name]
    )
    path = tmp_path / "m.bin"
    model.save_model(str(path))
    same_answers(model, path, texts)
    for how in QUANTISED.values() if name in THREE else ():
        small = fasttext.load_model(str(path))
        try:
            small.quantize(input=str(train), **how)
        except ValueError:  # it needs 256 rows
            continue
        small.save_model(str(tmp_path / "m.ftz"))
        same_answers(fasttext.load_model(str(tmp_path / "m.ftz")), tmp_path / "m.ftz", texts)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, compat.FastText, Path]:
    """A model of fastText, the same read here, and its training file."""
    folder = tmp_path_factory.mktemp("trained")
    path = folder / "train.txt"
    path.write_text("".join(f"__label__{label} {text}\n" for label, text in lines_of("reviews", 500)))
    model = fasttext.train_supervised(
        input=str(path), verbose=0, thread=1, minn=2, maxn=3, bucket=3000, wordNgrams=2, dim=12, epoch=5
    )
    model.save_model(str(folder / "m.bin"))
    with pytest.warns(chaffinch.errors.DataWarning, match="read a fastText model"):
        made = compat.load_model(str(folder / "m.bin"))
    return model, made, path


def test_words_labels_and_vectors_are_fasttexts(trained: Any) -> None:
    theirs, ours, _ = trained
    assert ours.labels == theirs.labels
    assert ours.words == theirs.words
    for a, b in zip(ours.get_words(include_freq=True), theirs.get_words(include_freq=True), strict=True):
        assert list(a) == list(b)
    for a, b in zip(ours.get_labels(include_freq=True), theirs.get_labels(include_freq=True), strict=True):
        assert list(a) == list(b)
    assert ours.get_dimension() == theirs.get_dimension() == 12
    assert not ours.is_quantized()
    assert np.array_equal(ours.get_input_matrix(), theirs.get_input_matrix())
    assert np.array_equal(ours.get_output_matrix(), theirs.get_output_matrix())
    for word in [*theirs.words[:50], "unheard", "</s>"]:
        assert ours.get_word_id(word) == theirs.get_word_id(word)
        assert np.allclose(ours.get_word_vector(word), theirs.get_word_vector(word), atol=1e-6)
        names, rows = ours.get_subwords(word)
        expected = theirs.get_subwords(word)
        assert (names, rows.tolist()) == (expected[0], expected[1].tolist())
        assert (word in ours) == (word in theirs)
    assert ours.get_subword_id("<ab") == theirs.get_subword_id("<ab")
    assert ours.get_label_id("__label__4") == theirs.get_label_id("__label__4")
    text = "a good film with __label__4 no plot"
    assert np.allclose(ours.get_sentence_vector(text), theirs.get_sentence_vector(text), atol=1e-6)
    assert ours.get_line(text) == theirs.get_line(text)
    assert ours.get_line([text, text]) == theirs.get_line([text, text])
    for one in ("a b", "", " ", "\n", "a\nb\n"):
        assert compat.tokenize(one) == fasttext.tokenize(one)


def test_scores_of_a_file_are_fasttexts(trained: Any, tmp_path: Path) -> None:
    theirs, ours, train = trained
    path = tmp_path / "test.txt"
    path.write_text(
        train.read_text()[:20000] + "\n__label__unheard x y\nno label\n__label__0 __label__4 two\n"
    )
    for k, threshold in ((1, 0.0), (3, 0.0), (-1, 0.1)):
        assert ours.test(str(path), k, threshold) == pytest.approx(theirs.f.test(str(path), k, threshold))
    found = ours.test_label(str(path))
    for label, scores in theirs.f.testLabel(str(path), 1, 0.0).items():
        assert math.isnan(scores["precision"]) == math.isnan(found[label]["precision"])
        assert math.isnan(scores["precision"]) or found[label]["precision"] == pytest.approx(
            scores["precision"]
        )
    meter, other = ours.get_meter(str(path)), theirs.f.getMeter(str(path), -1)
    precision, recall = meter.precision_recall_curve()
    expected = other.precisionRecallCurve()
    assert np.allclose(precision, [p for p, _ in expected])
    assert np.allclose(recall, [r for _, r in expected])
    for level in (0.1, 0.5, 0.9):
        assert meter.precision_at_recall(level) == pytest.approx(other.precisionAtRecall(level))
        assert meter.recall_at_precision(level) == pytest.approx(other.recallAtPrecision(level))


def test_arguments_are_fasttexts(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("__label__a good tea\n__label__b bad tea\n" * 20)
    with pytest.warns(UserWarning, match="lr, dim: accepted, but without a meaning"):
        model = compat.train_supervised(str(path), 0.5, dim=10, word_ngrams=2, min_count=1, verbose=0)
    assert model.predict("good tea")[0] == ("__label__a",)
    assert model.predict("good tea", k=-1)[1].shape == (2,)
    assert model.predict(["good tea"], threshold=1.1) == ([[]], [pytest.approx(np.zeros(0))])
    assert (model.dim, model.wordNgrams) == (10, 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        compat.train_supervised(str(path), nonsense=1)
    with pytest.raises(TypeError, match="multiple values for argument 'wordNgrams'"):
        compat.train_supervised(str(path), wordNgrams=1, word_ngrams=2)
    with pytest.raises(ConfigError, match="Unrecognized loss name"):
        compat.train_supervised(str(path), loss="other")
    with pytest.raises(ConfigError, match="k needs to be 1 or higher"):
        model.predict("good", k=0)
    with pytest.raises(DataError, match="one line at a time"):
        model.predict("good\n")
    with pytest.raises(DataError, match="cannot be opened for training"):
        compat.train_supervised(str(tmp_path / "missing.txt"))
    with pytest.raises(ConfigError, match="train word vectors with fasttext itself"):
        compat.train_unsupervised(str(path))


def test_a_trained_model_is_the_same_after_saving_and_loading(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("".join(f"#{label} {text}\n" for label, text in lines_of("reviews", 300)))
    model = compat.train_supervised(str(path), label="#", verbose=0)
    model.save_model(str(tmp_path / "m.bin"))
    loaded = compat.load_model(str(tmp_path / "m.bin"))
    texts = [text for _, text in lines_of("reviews", 50)]
    assert loaded.predict(texts, k=3)[0] == model.predict(texts, k=3)[0]
    assert loaded.labels == model.labels
    assert set(loaded.words) <= {word for text in texts for word in text.lower().split()} | set(loaded.words)
    before = (tmp_path / "m.bin").stat().st_size
    model.quantize(input=str(path))
    assert model.is_quantized()
    model.save_model(str(tmp_path / "m.ftz"))
    assert (tmp_path / "m.ftz").stat().st_size <= before // 4
    assert compat.load_model(str(tmp_path / "m.ftz")).is_quantized()


def test_lines_with_several_labels_give_each_a_probability_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("__label__tea __label__hot hot tea\n__label__tea cold tea\n__label__hot hot soup\n" * 15)
    model = compat.train_supervised(str(path), verbose=0)
    assert set(model.predict("hot tea", k=-1, threshold=0.5)[0]) == {"__label__tea", "__label__hot"}
    assert model.predict("hot tea", k=2)[1].sum() > 1.2
    assert model.test(str(path), k=2, threshold=0.5)[0] == 45


def test_autotune_searches_on_the_validation_file(tmp_path: Path) -> None:
    pairs = lines_of("reviews", 400)
    for name, part in (("train", pairs[:300]), ("valid", pairs[300:])):
        (tmp_path / name).write_text("".join(f"__label__{label} {text}\n" for label, text in part))
    model = compat.train_supervised(
        str(tmp_path / "train"), autotuneValidationFile=str(tmp_path / "valid"), autotuneDuration=4, verbose=0
    )
    plain = compat.train_supervised(str(tmp_path / "train"), verbose=0)
    assert model.test(str(tmp_path / "valid"))[1] >= plain.test(str(tmp_path / "valid"))[1]
    small = compat.train_supervised(
        str(tmp_path / "train"),
        autotuneValidationFile=str(tmp_path / "valid"),
        autotuneDuration=2,
        autotuneModelSize="20KB",
        verbose=0,
    )
    small.save_model(str(tmp_path / "m"))
    assert (tmp_path / "m").stat().st_size <= 20 * 1024


def test_prediction_is_faster_than_fasttexts(trained: Any) -> None:
    theirs, ours, _ = trained
    texts = [text for _, text in lines_of("reviews", 400)] * 5
    times = []
    for answer in (
        lambda: [theirs.f.predict(text + "\n", 1, 0.0, "strict") for text in texts],
        lambda: ours.estimator.model_.best(texts, 1, 0.0, 1),
    ):
        begun = time.process_time()
        answer()
        times.append(time.process_time() - begun)
    print(f"fastText {times[0]:.3f} s, here {times[1]:.3f} s CPU for {len(texts)} texts")
    assert times[1] < times[0]
