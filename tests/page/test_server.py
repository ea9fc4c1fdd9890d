"""The server: predictions, explanations, corrections and learning, by HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaffinch import Tagger, kinds, load, samples
from chaffinch.kinds.kind import Kind
from chaffinch.rules import before, once
from chaffinch.trust.confidence import TOKENS
from page.serving import Client, Forked, classifier, name_sentences, tagger, write_columns

SENTENCE = "Ann lives in Rome"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served")
    tagger(made / "names.chaff")
    classifier(made / "stars.chaff")
    write_columns(made / "pool.conll", *name_sentences(40))
    write_columns(made / "train.conll", *name_sentences(60))
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Client]:
    models = folder / "names.chaff", folder / "stars.chaff"
    with Forked(*models, data=[folder / "pool.conll"], journal=folder / "a.jsonl") as made:
        yield made


def test_answers_of_the_server_are_those_of_the_library(server: Client, folder: Path) -> None:
    status, found = server.ask("/predict", {"text": SENTENCE})
    assert status == 200
    model = load(folder / "names.chaff")
    (result,) = found["results"]
    assert result["tags"] == model.predict([SENTENCE.split()])[0]
    assert result["tokens"] == [[0, 3], [4, 9], [10, 12], [13, 17]]
    spans = [(s["start"], s["end"], s["label"], round(s["score"], 4)) for s in result["spans"]]
    assert spans == [(s.start, s.end, s.label, round(s.probability, 4)) for s in model.spans(SENTENCE)]
    assert result["certainty"] == min(result["token_certainty"])


def test_a_tag_has_one_probability_wherever_it_is_told(tmp_path: Path) -> None:
    documents = samples.load("ingredients", "train")[:200]
    model = Tagger("crf", threads=1).fit([d.words() for d in documents], [d.columns["y"] for d in documents])
    assert model.confidence_.unit == TOKENS
    model.save(tmp_path / "lines.chaff")
    words = "2 large cans chopped tomatoes , drained".split()
    with Forked(tmp_path / "lines.chaff", data=[], journal=tmp_path / "a.jsonl") as server:
        (found,) = server.ask("/predict", {"tokens": words, "probabilities": True})[1]["results"]
        for t, (tag, certainty) in enumerate(zip(found["tags"], found["token_certainty"], strict=True)):
            why = server.ask("/explain", {"tokens": words, "position": t})[1]
            for told in (found["marginals"][t], why["marginals"]):
                assert told[tag] == certainty
                assert sum(told.values()) == pytest.approx(1, abs=1e-4)


def test_every_answer_carries_the_version(server: Client) -> None:
    bodies = {"/predict": {"text": "a"}, "/explain": {"text": "a"}, "/learn": {}, "/next": {"n": 1}}
    for path, body in bodies.items():
        assert server.ask(path, body)[1]["version"].startswith("crf-"), path
    for path in ("/rows", "/models", "/corrections", "/report", "/health"):
        assert server.ask(path)[1]["version"].startswith("crf-"), path


def test_texts_sentences_and_streams_give_the_same_answers(server: Client) -> None:
    texts = [" ".join(words) for words in name_sentences(30)[0]]
    alone = [server.ask("/predict", {"text": text})[1]["results"][0]["tags"] for text in texts]
    batch = server.ask("/predict", {"texts": texts})[1]["results"]
    tokens = server.ask("/predict", {"sentences": [text.split() for text in texts]})[1]["results"]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    stream = server.ask("/predict", lines, headers={"content-type": "application/x-ndjson"})[1]
    told = [json.loads(line) for line in stream.splitlines()]
    assert alone == [r["tags"] for r in batch] == [r["tags"] for r in tokens] == [r["tags"] for r in told]


@pytest.mark.parametrize(
    "body", [{"texts": []}, {"sentences": []}, {"text": ""}, {"texts": [""]}, {"sentences": [[]]}]
)
@pytest.mark.parametrize("model", ["names", "stars"])
def test_nothing_to_answer_is_answered(server: Client, model: str, body: dict[str, list[str]]) -> None:
    status, _ = server.ask("/predict", {"model": model, **body})
    assert status in (200, 400)
    assert server.ask("/predict", {"text": SENTENCE})[0] == 200


def test_groups_of_an_explanation_and_the_others_add_up_to_the_margin(server: Client) -> None:
    for body in ({"text": SENTENCE, "position": 3}, {"text": "lovely vile tea", "model": "stars"}):
        found = server.ask("/explain", body)[1]
        total = sum(group["value"] for group in found["groups"]) + found["others"]
        assert total == pytest.approx(found["margin"], abs=1e-6)
        assert found["answer"] != found["instead"]
        for group in found["groups"]:
            assert len(group["terms"]) == 12 or sum(t["value"] for t in group["terms"]) == pytest.approx(
                group["value"]
            )


def test_the_rules_of_a_model_and_what_they_changed_are_told(tmp_path: Path) -> None:
    made = Tagger("crf", folds=0, threads=1, rules=[once("LOC"), before("PER", "LOC")])
    made.fit(*name_sentences(60)).save(tmp_path / "ruled.chaff")
    with Forked(tmp_path / "ruled.chaff") as ruled:
        assert ruled.ask("/models")[1]["models"][0]["rules"] == ["before(PER, LOC)", "once(LOC)"]
        asked = {"texts": ["Ann left Rome .", "Rome is in Oslo"]}
        obeyed, turned = ruled.ask("/predict", asked)[1]["results"]
        assert "ruled" not in obeyed
        assert turned["ruled"]["rules"] == ["once(LOC)"]
        assert turned["ruled"]["tags"].count("B-LOC") == 2
        assert turned["tags"].count("B-LOC") == 1
        asked = {"text": "Ann left Rome .", "rules": {"forbid": [{"start": 2, "end": 3, "label": "LOC"}]}}
        (found,) = ruled.ask("/predict", asked)[1]["results"]
        assert found["ruled"]["rules"] == ["forbid(1:2-3, LOC)"]


def test_rules_of_a_request_are_obeyed_or_named(server: Client) -> None:
    body = {"text": SENTENCE, "rules": {"must": [{"start": 1, "end": 2, "label": "LOC"}]}}
    found = server.ask("/predict", body)[1]["results"][0]
    assert found["tags"] == ["B-PER", "B-LOC", "O", "B-LOC"]
    assert server.ask("/predict", {"text": SENTENCE})[1]["results"][0]["tags"][1] == "O"
    both = {
        "must": [{"start": 1, "end": 2, "label": "LOC"}],
        "forbid": [{"start": 1, "end": 2, "label": "LOC"}],
    }
    status, answer = server.ask("/predict", {"text": SENTENCE, "rules": both})
    assert (status, "must" in answer["error"]) == (422, True)
    assert server.ask("/predict", {"text": SENTENCE, "rules": {"nonsense": []}})[0] == 400
    assert server.ask("/rules")[1]["rules"] == {}


@pytest.mark.parametrize("recipe", ["greedy", "easiest-first", "perceptron", "hmm"])
def test_every_recipe_is_explained(recipe: str, tmp_path: Path) -> None:
    words, tags = name_sentences(60)
    Tagger(recipe, folds=0).fit(words, tags).save(tmp_path / "m.chaff")
    with Forked(tmp_path / "m.chaff", journal=tmp_path / "a.jsonl") as client:
        status, found = client.ask("/explain", {"text": SENTENCE, "position": 0})
    assert status == 200, found
    assert found["kbest"][0]["label"] == found["answer"]


def test_misspelt_fields_and_parameters_are_errors(server: Client) -> None:
    for path, body, said in (
        (
            "/predict",
            {"text": "a", "probabilites": True},
            "no field 'probabilites': did you mean 'probabilities'?",
        ),
        ("/predict", {"txt": "a"}, "no field 'txt': did you mean 'text'?"),
        ("/predict", {"text": "a", "qqq": 1}, "no field 'qqq'; there are model, version, text, texts,"),
        ("/next", {"m": 3}, "no field 'm'"),
        ("/rows?dat=pool.conll", None, "no parameter 'dat': did you mean 'data'?"),
        ("/export?fromat=csv", None, "no parameter 'fromat': did you mean 'format'?"),
    ):
        status, answer = server.ask(path, body)
        assert status == 400
        assert f"there is {said}" in answer["error"]
    tasks = {"tasks": [], "label_config": "<View/>", "a_later_field": 1}  # Label Studio may add fields
    assert "a_later_field" not in server.ask("/predict", tasks)[1].get("error", "")
    assert server.ask("/versions?project=3")[0] == 200


class Toy(Tagger):
    """An estimator of one's own, whose files name its task."""

    task = "toy"


class ToyKind(Kind):
    """A kind of one's own that declares nothing for the server."""

    plural = "toys"
    estimator = Toy


def test_a_new_kind_is_served_without_a_word_of_it_in_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToyKind, "__abstractmethods__", frozenset())
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, ToyKind()))
    model = Toy("crf", folds=0, threads=1).fit(*name_sentences(60))
    model.save(tmp_path / "toy.chaff")
    with Forked(tmp_path / "toy.chaff", journal=tmp_path / "a.jsonl") as server:
        status, found = server.ask("/predict", {"text": SENTENCE})
        assert status == 200, found
        (result,) = found["results"]
        assert result["text"] == SENTENCE
        assert result["answer"] == list(model.predict([SENTENCE.split()])[0])
        assert [SENTENCE[piece["start"] : piece["end"]] for piece in result["pieces"]] == SENTENCE.split()
        assert [piece["label"] for piece in result["pieces"]] == result["answer"]
        assert server.ask("/predict", {"sentences": [SENTENCE.split()]})[1]["results"] == [result]
        assert server.ask("/models")[1]["models"][0]["kind"] == "toys"
        assert "read-only" in server.ask("/corrections", {"text": SENTENCE, "label": "x"})[1]["error"]


def test_files_that_no_model_can_use_are_refused_at_the_start(folder: Path, tmp_path: Path) -> None:
    from chaffinch.errors import ConfigError, DataError
    from chaffinch.serve.served import served_models

    with pytest.raises(DataError, match="has tags of words, but classifiers label texts"):
        served_models([folder / "stars.chaff"], [folder / "pool.conll"], [], [])
    for given in ("nothing.conll", "names=nothing.conll"):
        with pytest.raises(ConfigError, match=r"nothing\.conll: no such file"):
            served_models([folder / "names.chaff"], [], [given], [])
    with pytest.raises(ConfigError, match="two models of the name stars"):
        served_models([folder / "stars.chaff", tmp_path / "stars.chaff"], [], [], [])


def test_a_labelled_file_belongs_to_the_models_that_know_its_labels(folder: Path, tmp_path: Path) -> None:
    from chaffinch import Classifier
    from chaffinch.serve.served import served_models

    Classifier("nb", threads=1).fit(["red wine", "green tea"] * 5, ["wine", "tea"] * 5).save(
        tmp_path / "cups.chaff"
    )
    (tmp_path / "cups.csv").write_text("text,label\na red one,wine\na green one,tea\n")
    (tmp_path / "plain.txt").write_text("a red one\na good one\n")
    models = [folder / "stars.chaff", tmp_path / "cups.chaff"]
    found = served_models(models, [tmp_path / "cups.csv", tmp_path / "plain.txt"], [], [])
    assert {name: list(one.pools) for name, one in found.items()} == {
        "stars": ["plain.txt"],
        "cups": ["cups.csv", "plain.txt"],
    }


def test_cells_with_several_labels_are_read_as_told_and_never_as_one_label(tmp_path: Path) -> None:
    from chaffinch import Classifier
    from chaffinch.errors import ConfigError
    from chaffinch.serve.learning import Learning
    from chaffinch.serve.served import served_models

    texts = ["a red and green one", "a red one", "a green one"] * 6
    labels = [["red", "green"], ["red"], ["green"]] * 6
    model, data = tmp_path / "colours.chaff", tmp_path / "colours.csv"
    Classifier("ridge", threads=1).fit(texts, labels).save(model)
    cells = zip(texts, labels, strict=True)
    data.write_text("text,labels\n" + "".join(f"{text},{'|'.join(own)}\n" for text, own in cells))
    with pytest.raises(
        ConfigError, match=r"'red\|green' joins several labels of colours: add --label-separator '\|'"
    ):
        served_models([model], [data], [], [], {"label": "labels"})
    with pytest.raises(ConfigError, match="--label-separator: no reader of the files has this option"):
        served_models(
            [model], [write_columns(tmp_path / "a.conll", [["a"]], [["O"]])], [], [], {"label_separator": "|"}
        )
    with pytest.raises(ConfigError, match="say how labels are separated with --label-separator"):
        Learning(served_models([model], [], [str(data)], [], {"label": "labels"})["colours"]).retrain()
    told = {"label": "labels", "label_separator": "|"}
    served = served_models([model], [data], [str(data)], [], told)["colours"]
    assert served.pools["colours.csv"].gold(0) == ["red", "green"]
    assert Learning(served).retrain()["kept"]
    assert served.answering.labels(served.active.model) == ["green", "red"]


def test_what_is_made_on_first_use_is_made_before_the_first_request(folder: Path) -> None:
    from chaffinch.serve.reload import answer_once
    from chaffinch.serve.served import served_models
    from chaffinch.text.tokens import _pattern

    (served,) = served_models([folder / "names.chaff"], [], [], []).values()
    _pattern.cache_clear()
    answer_once(served, served.active.model)
    assert _pattern.cache_info().currsize == 1
