"""The spaCy component: what it annotates, how it is kept, trained and scored. Runs beside spaCy itself."""

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from chaffinch import Classifier, ConfigError, DataError, Tagger, load
from chaffinch.compat.spacy import train
from chaffinch.errors import DataWarning

NAMES = ["Ann", "Bob", "Eve", "Tom", "Ida"]
PLACES = [["Rome"], ["New", "York"], ["Oslo"], ["San", "Remo"]]


def sentences() -> tuple[list[list[str]], list[list[str]]]:
    """Twenty sentences of two persons' names and a place."""
    X, y = [], []
    for i, name in enumerate(NAMES):
        for j, place in enumerate(PLACES):
            X.append([name, "Lee", "left", *place, "."] if i % 2 else [name, "saw", *place, "."])
            tags = ["B-PER", "I-PER", "O"] if i % 2 else ["B-PER", "O"]
            y.append([*tags, "B-LOC", *["I-LOC"] * (len(place) - 1), "O"])
            assert len(X[-1]) == len(y[-1]), j
    return X, y


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "names.chaff"
    Tagger("crf", folds=3).fit(*sentences()).save(path)
    return path


@pytest.fixture(scope="module")
def tags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "tags.chaff"
    X, _ = sentences()
    Tagger("hmm").fit(X, [[_part(word) for word in words] for words in X]).save(path)
    return path


@pytest.fixture(scope="module")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "topics.chaff"
    Classifier("ridge").fit(
        ["good tea", "fine tea", "bad tea", "poor tea"] * 4, ["+", "+", "-", "-"] * 4
    ).save(path)
    return path


def _part(word: str) -> str:
    return {"left": "VBD", "saw": "VBD", ".": "."}.get(word, "NNP")


def english(*configs: dict[str, Any]) -> Any:
    nlp = spacy.blank("en")
    for n, config in enumerate(configs):
        nlp.add_pipe("chaffinch", name=f"c{n}", config=config)
    return nlp


def found(doc: Any) -> list[tuple[str, str]]:
    return [(span.text, span.label_) for span in doc.ents]


def test_the_entry_point_gives_the_factory(names: Path) -> None:
    nlp = english({"model": str(names)})
    assert found(nlp("Bob Lee left New York.")) == [("Bob Lee", "PER"), ("New York", "LOC")]
    assert nlp.get_pipe("c0").labels == ("LOC", "PER")
    assert nlp.analyze_pipes()["problems"] == {"c0": []}


def test_a_pipe_of_docs_gets_what_the_estimator_says(names: Path) -> None:
    nlp = english({"model": str(names)})
    texts = [" ".join(words) for words in sentences()[0]]
    tagger = load(names)
    for batch_size in (1, 7, 1000):
        for doc in nlp.pipe(texts, batch_size=batch_size):
            (expected,) = tagger.predict_spans([[token.text for token in doc]])
            assert [(s.start, s.end, s.label_) for s in doc.ents] == [one[:3] for one in expected]


def test_empty_docs_and_docs_of_white_space_are_left_as_they_are(
    names: Path, tags: Path, topics: Path
) -> None:
    nlp = english({"model": str(names)}, {"model": str(tags)}, {"model": str(topics)})
    docs = list(nlp.pipe(["", " ", "Ann saw Rome.", "\n\n"]))
    assert [found(doc) for doc in docs] == [[], [], [("Ann", "PER"), ("Rome", "LOC")], []]
    assert docs[1][0].tag_ == "_SP"
    assert not list(nlp.pipe([]))


def test_white_space_tokens_are_not_shown_to_the_model(names: Path, tags: Path) -> None:
    nlp = english({"model": str(names)}, {"model": str(tags)})
    doc = nlp("Bob Lee left New  \n York .")
    assert found(doc) == [("Bob Lee", "PER"), ("New  \n York", "LOC")]
    spaces = [token.tag_ for token in doc if token.is_space]
    assert spaces == ["_SP"]
    assert [t.tag_ for t in doc if not t.is_space] == ["NNP", "NNP", "VBD", "NNP", "NNP", "."]


def test_sentences_of_the_doc_are_read_one_by_one(tags: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("chaffinch", config={"model": str(tags)})
    doc = nlp("Ann saw Rome. Bob Lee left Oslo. Eve saw it.")
    expected = load(tags).predict([[t.text for t in sentence] for sentence in doc.sents])
    assert [[t.tag_ for t in sentence] for sentence in doc.sents] == expected
    assert len(expected) == 3


def test_entities_that_are_there_stay_unless_overwrite_is_set(names: Path) -> None:
    for overwrite, label in ((False, "CITY"), (True, "LOC")):
        nlp = spacy.blank("en")
        nlp.add_pipe("entity_ruler").add_patterns([{"label": "CITY", "pattern": "York"}])
        nlp.add_pipe("chaffinch", config={"model": str(names), "overwrite": overwrite})
        doc = nlp("Ann saw New York.")
        assert found(doc)[0] == ("Ann", "PER")
        assert found(doc)[1][1] == label


def test_tags_that_are_there_stay_unless_overwrite_is_set(tags: Path) -> None:
    for overwrite, tag in ((False, "XX"), (True, "NNP")):
        nlp = english({"model": str(tags), "overwrite": overwrite})
        doc = nlp.make_doc("Ann saw Rome.")
        doc[0].tag_ = "XX"
        assert [t.tag_ for t in nlp(doc)] == [tag, "VBD", "NNP", "."]


def test_universal_parts_of_speech_go_to_pos(tmp_path: Path) -> None:
    X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]] * 3
    Tagger("hmm").fit(X, [["DET", "NOUN", "VERB"]] * 6).save(tmp_path / "m.chaff")
    doc = english({"model": str(tmp_path / "m.chaff")})("the  cat barks")
    assert [t.pos_ for t in doc] == ["DET", "SPACE", "NOUN", "VERB"]
    assert not doc.has_annotation("TAG")
    doc = english({"model": str(tmp_path / "m.chaff"), "assigns": "tag"})("the cat barks")
    assert [t.tag_ for t in doc] == ["DET", "NOUN", "VERB"]


def test_spans_have_their_probabilities_as_the_span_categorizer_has_them(names: Path) -> None:
    nlp = english({"model": str(names), "assigns": "spans"})
    doc = nlp("Bob Lee left New York.")
    (expected,) = load(names).predict_spans([[t.text for t in doc]])
    group = doc.spans["sc"]
    assert [(s.start, s.end, s.label_) for s in group] == [one[:3] for one in expected]
    np.testing.assert_allclose(group.attrs["scores"], [one.probability for one in expected])
    assert not doc.ents
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    np.testing.assert_allclose(again.spans["sc"].attrs["scores"], group.attrs["scores"])


def test_entities_can_have_scores_and_a_threshold(names: Path) -> None:
    doc = english({"model": str(names), "scores": True, "spans_key": "mine"})("Bob Lee left New York.")
    assert [s.text for s in doc.spans["mine"]] == [s.text for s in doc.ents]
    scores = doc.spans["mine"].attrs["scores"]
    assert ((scores > 0) & (scores <= 1)).all()
    assert len(set(scores.tolist())) == 2
    sure = english({"model": str(names), "threshold": float(scores.max())})("Bob Lee left New York.")
    assert [s.text for s in sure.ents] == [doc.ents[int(scores.argmax())].text]


def test_a_classifier_gives_the_probabilities_of_categories(topics: Path) -> None:
    doc = english({"model": str(topics)})("good tea")
    expected = dict(zip(["+", "-"], load(topics).predict_proba(["good tea"])[0].tolist(), strict=True))
    assert doc.cats == expected


def test_a_second_component_reads_what_the_first_one_set(tags: Path, tmp_path: Path) -> None:
    X, y = sentences()
    table = {"w": X, "pos": [[_part(word) for word in words] for words in X]}
    Tagger("crf", features=["pos[-1]", "pos[0]", "pos[1]", "w[0]"], folds=0).fit(table, y).save(
        tmp_path / "ner.chaff"
    )
    config = {"model": str(tmp_path / "ner.chaff")}
    nlp = english({"model": str(tags)}, config)
    assert found(nlp("Bob Lee left New York .")) == [("Bob Lee", "PER"), ("New York", "LOC")]
    with pytest.raises(DataError, match=r"column pos from token.tag_, which is not set"):
        english(config)("Bob Lee left")


def test_a_column_without_a_known_attribute_is_asked_for(tmp_path: Path) -> None:
    X, y = sentences()
    Tagger("crf", features=["mine[0]"], folds=0).fit({"w": X, "mine": X}, y).save(tmp_path / "m.chaff")
    with pytest.raises(ConfigError, match="reads the column mine; name the token attribute"):
        english({"model": str(tmp_path / "m.chaff")})("Ann")
    nlp = spacy.blank("en")
    nlp.add_pipe("chaffinch", config={"model": str(tmp_path / "m.chaff"), "columns": {"mine": "LEMMA"}})
    doc = Doc(nlp.vocab, words=["x", "y", "z"], lemmas=["Ann", "saw", "Rome"])
    assert found(nlp(doc)) == [("x", "PER"), ("z", "LOC")]


def test_pipelines_are_kept_on_disk_and_in_bytes_with_the_model_inside(
    names: Path, topics: Path, tmp_path: Path
) -> None:
    here = tmp_path / "m.chaff"
    here.write_bytes(names.read_bytes())
    nlp = english({"model": str(here), "scores": True}, {"model": str(topics)})
    expected = nlp("Bob Lee left New York.")
    nlp.to_disk(tmp_path / "pipeline")
    content = nlp.to_bytes()
    here.unlink()
    again = [
        spacy.load(tmp_path / "pipeline"),
        spacy.blank("en").from_config(nlp.config).from_bytes(content),
        pickle.loads(pickle.dumps(nlp)),
    ]
    for one in again:
        doc = one("Bob Lee left New York.")
        assert found(doc) == found(expected)
        assert doc.cats == expected.cats
        assert doc.spans["sc"].attrs["scores"].tolist() == expected.spans["sc"].attrs["scores"].tolist()
        assert one.get_pipe("c0").labels == ("LOC", "PER")


def test_a_missing_model_and_an_impossible_assignment_are_refused(names: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no model file"):
        english({"model": str(tmp_path / "none.chaff")})("Ann")
    with pytest.raises(ConfigError, match="has no model"):
        english({})("Ann")
    with pytest.raises(ConfigError, match="can assign ents or spans, not tag"):
        english({"model": str(names), "assigns": "tag"})
    with pytest.raises(ConfigError, match="assigns must be one of"):
        english({"model": str(names), "assigns": "entities"})


def test_two_processes_give_the_same_docs(names: Path) -> None:
    nlp = english({"model": str(names), "threads": 1})
    texts = [" ".join(words) for words in sentences()[0]]
    alone = [found(doc) for doc in nlp.pipe(texts)]
    assert [found(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=5)] == alone


def test_an_error_handler_is_given_the_docs_that_fail(names: Path) -> None:
    nlp = english({"model": str(names), "scores": True})
    nlp.get_pipe("c0").estimator.predict_spans = lambda _: 1 / 0
    seen = []
    nlp.set_error_handler(lambda name, _proc, docs, e: seen.append((name, len(docs), type(e))))
    assert list(nlp.pipe(["Ann", "Bob"])) == []
    assert seen == [("c0", 2, ZeroDivisionError)]


# -- training ---------------------------------------------------------------------------------------------------------


def annotated(nlp: Any) -> list[Doc]:
    """The sentences as docs with entities, tags and categories."""
    made = []
    for n, (words, labels) in enumerate(zip(*sentences(), strict=True)):
        doc = Doc(nlp.vocab, words=words, ents=labels, tags=[_part(word) for word in words])
        doc.cats = {"even": float(n % 2 == 0), "odd": float(n % 2)}
        made.append(doc)
    return made


def test_training_from_docs_equals_training_from_their_words() -> None:
    docs = annotated(spacy.blank("en"))
    X, y = sentences()
    expected = Tagger("crf", folds=0).fit(X, y)
    assert train(docs, assigns="ents", recipe="crf", folds=0).fingerprint_ == expected.fingerprint_
    tagger = train(docs, assigns="tag", recipe="hmm")
    assert tagger.fingerprint_ == Tagger("hmm").fit(X, [[_part(w) for w in s] for s in X]).fingerprint_
    classifier = train(docs, assigns="cats", recipe="ridge")
    assert classifier.classes_.tolist() == ["even", "odd"]
    assert classifier.predict(["Ann saw Rome ."]).tolist() == ["even"]
    with pytest.raises(ConfigError, match="the docs have ents and cats and tag: choose"):
        train(docs)


def test_sentences_of_docs_are_learnt_one_by_one_and_spans_are_not_cut() -> None:
    vocab = spacy.blank("en").vocab
    words = ["Ann", "left", ".", "New", "York", "\n", "slept"]
    doc = Doc(
        vocab,
        words=words,
        sent_starts=[1, 0, 0, 1, 1, 0, 0],
        ents=["B-PER", "O", "O", "B-LOC", "I-LOC", "O", "O"],
    )
    tagger = train([doc], recipe="hmm")
    expected = Tagger("hmm").fit(
        [["Ann", "left", "."], ["New", "York", "slept"]], [["B-PER", "O", "O"], ["B-LOC", "I-LOC", "O"]]
    )
    assert tagger.fingerprint_ == expected.fingerprint_


def test_unknown_entities_are_unknown_labels() -> None:
    nlp = spacy.blank("en")
    known = annotated(nlp)
    bare = [Doc(nlp.vocab, words=["Zoe", "saw", "Rome", "."]) for _ in range(3)]
    with pytest.warns(DataWarning, match="3 of 23 sentences have unknown labels"):
        tagger = train([*known, *bare], assigns="ents", recipe="hmm")
    assert tagger.fingerprint_ == Tagger("hmm").fit(*sentences()).fingerprint_
    tagger = train([*known, *bare], assigns="ents", folds=0)
    assert type(tagger.config_).__name__ == "Crf"
    assert set(tagger.classes_.tolist()) == {"B-PER", "I-PER", "B-LOC", "I-LOC", "O"}


def test_examples_are_learnt_on_the_tokens_of_the_pipeline() -> None:
    nlp = spacy.blank("en")
    examples = []
    for name in NAMES:
        text = f"{name} can't leave Rome"  # the reference has one token for can't, spaCy has two
        reference = Doc(nlp.vocab, words=text.split(), ents=["B-PER", "O", "O", "B-LOC"])
        examples.append(Example(nlp.make_doc(text), reference))
    tagger = train(examples, recipe="hmm")
    X = [[name, "ca", "n't", "leave", "Rome"] for name in NAMES]
    assert tagger.fingerprint_ == Tagger("hmm").fit(X, [["B-PER", "O", "O", "O", "B-LOC"]] * 5).fingerprint_


def test_overlapping_spans_are_refused_and_others_learnt() -> None:
    nlp = spacy.blank("en")
    docs = annotated(nlp)
    for doc in docs:
        doc.spans["sc"] = list(doc.ents)
        doc.set_ents([])
    tagger = train(docs, assigns="spans", recipe="hmm")
    assert tagger.fingerprint_ == Tagger("hmm").fit(*sentences()).fingerprint_
    docs[0].spans["sc"] = [Span(docs[0], 0, 2, "A"), Span(docs[0], 1, 3, "B")]
    with pytest.raises(DataError, match="overlap"):
        train(docs, assigns="spans", recipe="hmm")


def test_several_categories_and_shares_are_learnt() -> None:
    nlp = spacy.blank("en")
    docs = [nlp.make_doc(text) for text in ("good tea", "bad tea", "good bad dog", "dog") * 3]
    for doc in docs:
        doc.cats = {word: float(word in doc.text) for word in ("good", "bad")}
    several = train(docs, recipe="ridge")
    assert several.model_.several
    assert several.predict(["good bad"]) == [["bad", "good"]]
    for doc in docs:
        doc.cats = {"a": 0.75, "b": 0.25} if "good" in doc.text else {"a": 0.25, "b": 0.75}
    assert train(docs, recipe="logistic").predict(["good tea"]).tolist() == ["a"]
    docs[0].cats = {"a": 0.75, "b": 0.75}
    with pytest.raises(DataError, match="add up to 1"):
        train(docs, recipe="logistic")


def test_initialize_trains_and_evaluate_scores() -> None:
    for assigns, score in (("ents", "ents_f"), ("tag", "tag_acc"), ("cats", "cats_score")):
        nlp = english({"assigns": assigns, "training": {"recipe": "ridge" if assigns == "cats" else "crf"}})
        examples = [Example(Doc(nlp.vocab, words=[t.text for t in d]), d) for d in annotated(nlp)]
        nlp.initialize(lambda examples=examples: examples)
        assert nlp.evaluate(examples)[score] > 0.9, assigns
    nlp = english({"assigns": "spans", "training": {"recipe": "crf"}})
    examples = [Example(Doc(nlp.vocab, words=[t.text for t in d]), d) for d in annotated(nlp)]
    for example in examples:
        example.reference.spans["sc"] = list(example.reference.ents)
    nlp.initialize(lambda: examples)
    assert nlp.evaluate(examples)["spans_sc_f"] == 1.0


CONFIG = """
[paths]
train = "train.spacy"
dev = "dev.spacy"

[nlp]
lang = "en"
pipeline = ["chaffinch"]

[components]

[components.chaffinch]
factory = "chaffinch"
assigns = "ents"

[components.chaffinch.training]
recipe = "crf"
folds = 0

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${paths.train}

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.dev}

[training]
max_epochs = 1
train_corpus = "corpora.train"
dev_corpus = "corpora.dev"
"""


def test_spacy_train_and_spacy_evaluate_run_from_end_to_end(tmp_path: Path) -> None:
    docs = annotated(spacy.blank("en"))
    DocBin(docs=docs[:15]).to_disk(tmp_path / "train.spacy")
    DocBin(docs=docs[15:]).to_disk(tmp_path / "dev.spacy")
    (tmp_path / "base.cfg").write_text(CONFIG)
    for command in (
        ["init", "fill-config", "base.cfg", "full.cfg"],
        ["train", "full.cfg", "--output", "out"],
        ["evaluate", "out/model-best", "dev.spacy", "--output", "scores.json"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "spacy", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert '"ents_f"' in (tmp_path / "scores.json").read_text()
    assert found(spacy.load(tmp_path / "out" / "model-best")("Bob Lee left New York.")) == [
        ("Bob Lee", "PER"),
        ("New York", "LOC"),
    ]
