"""Learning: a correction holds at once, the model follows, and every change can be taken back."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaffinch import Classifier, Tagger, load
from page.serving import Client, Forked, Process, classifier, name_sentences, tagger, write_columns

TEXT = "Zed lives in Ann"
TAGS = ["B-LOC", "O", "O", "B-PER"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("learning")
    tagger(made / "names.chaff")
    write_columns(made / "pool.conll", *name_sentences(40))
    write_columns(made / "train.conll", *name_sentences(60))
    return made


@pytest.fixture
def server(folder: Path, tmp_path: Path) -> Iterator[Client]:
    with Forked(folder / "names.chaff", data=[folder / "pool.conll"], journal=tmp_path / "j") as made:
        yield made


def own_tags(server: Client, text: str, version: str | None = None) -> list[str]:
    """The tags of the model itself."""
    version = version or server.ask("/models")[1]["version"]
    return server.ask("/predict", {"text": text, "version": version})[1]["results"][0]["tags"]


def until(true: Any, seconds: float = 60.0) -> None:
    end = time.perf_counter() + seconds
    while not true():
        assert time.perf_counter() < end
        time.sleep(0.05)


def test_a_corrected_text_is_answered_as_corrected_at_once(server: Client) -> None:
    before = server.ask("/predict", {"text": TEXT})[1]
    assert before["results"][0]["tags"] != TAGS
    assert server.ask("/corrections", {"text": TEXT, "tags": TAGS})[0] == 200
    after = server.ask("/predict", {"texts": [TEXT, "Ann left Rome"]})[1]
    assert after["version"] == before["version"]
    pinned, other = after["results"]
    assert pinned["tags"] == TAGS
    assert pinned["pinned"]
    assert pinned["certainty"] is None
    assert not other["pinned"]
    assert own_tags(server, TEXT) == before["results"][0]["tags"]


def test_learning_makes_a_version_that_knows_the_correction(server: Client) -> None:
    first = server.ask("/models")[1]["version"]
    server.ask("/corrections", {"text": TEXT, "tags": TAGS})
    made = server.ask("/learn", {})[1]
    assert made["learnt"] == 1
    assert made["gap"] < 0.001
    assert own_tags(server, TEXT, made["version"]) == TAGS
    assert own_tags(server, TEXT, first) != TAGS
    assert server.ask("/corrections")[1]["corrections"][0]["state"] == "learnt"


def test_the_list_of_changed_rows_is_the_difference_of_the_two_versions(server: Client, folder: Path) -> None:
    first = server.ask("/models")[1]["version"]
    for n in range(3):
        server.ask("/corrections", {"text": f"Rome is cold{n}", "tags": ["B-PER", "O", "O"]})
        server.ask("/corrections", {"data": "pool.conll", "row": 4 * n + 3, "tags": ["B-PER", "O", "O"]})
    made = server.ask("/learn", {})[1]
    X, gold = name_sentences(40)
    texts = [" ".join(words) for words in X]
    changed = {
        n: (a, b)
        for n, text in enumerate(texts)
        if (a := own_tags(server, text, first)) != (b := own_tags(server, text, made["version"]))
    }
    assert changed
    assert {row["row"]: (row["before"], row["after"]) for row in made["changed"]} == changed
    told = {" ".join(X[4 * n + 3]): ["B-PER", "O", "O"] for n in range(3)}
    for row in made["changed"]:
        right = told.get(texts[row["row"]], gold[row["row"]])
        verdict = "fixed" if row["after"] == right else "broken" if row["before"] == right else "moved"
        assert row["verdict"] == verdict
        assert row["gold"] == right
    listed = server.ask("/rows?changed=1&count=500")[1]
    assert {row["row"]: row["changed"] for row in listed["rows"]} == {
        row["row"]: row["verdict"] for row in made["changed"]
    }


def test_a_version_can_be_taken_back_and_its_corrections_wait_again(server: Client) -> None:
    first = server.ask("/models")[1]["version"]
    server.ask("/corrections", {"text": TEXT, "tags": TAGS})
    second = server.ask("/learn", {})[1]["version"]
    back = server.ask("/versions", {"version": first})[1]
    assert back["version"] == first == server.ask("/predict", {"text": "a"})[1]["version"]
    assert server.ask("/corrections")[1]["corrections"][0]["state"] == "waiting"
    third = server.ask("/learn", {})[1]["version"]
    assert third not in (first, second)
    assert own_tags(server, TEXT, third) == TAGS
    listed = server.ask("/models")[1]["models"][0]["versions"]
    assert [v["version"] for v in listed] == [first, second, third]
    assert [v["active"] for v in listed] == [False, False, True]
    assert server.ask("/versions", {"version": "crf-99"})[0] == 404


def test_a_correction_that_is_taken_back_is_unlearnt_exactly(server: Client, folder: Path) -> None:
    server.ask("/corrections", {"text": "Ned saw Bern", "tags": ["B-LOC", "O", "B-PER"]})
    alone = server.ask("/learn", {})[1]["version"]
    seq = server.ask("/corrections", {"text": TEXT, "tags": TAGS})[1]["seq"]
    both = server.ask("/learn", {})[1]["version"]
    assert server.ask(f"/corrections/{seq}", method="DELETE")[0] == 200
    assert server.ask(f"/corrections/{seq}", method="DELETE")[0] == 409
    assert not server.ask("/predict", {"text": TEXT})[1]["results"][0]["pinned"]
    again = server.ask("/learn", {})[1]["version"]
    assert len({alone, both, again}) == 3
    for words in name_sentences(40)[0]:
        body = {"tokens": words, "probabilities": True}
        a, b = (server.ask("/predict", {**body, "version": v})[1]["results"][0] for v in (alone, again))
        assert a == b


def test_a_later_correction_of_the_same_text_replaces_the_earlier_one(server: Client) -> None:
    first = server.ask("/corrections", {"text": TEXT, "tags": ["O"] * 4})[1]["seq"]
    second = server.ask("/corrections", {"text": TEXT, "tags": TAGS})[1]["seq"]
    assert server.ask("/predict", {"text": TEXT})[1]["results"][0]["tags"] == TAGS
    states = {c["seq"]: c["state"] for c in server.ask("/corrections")[1]["corrections"]}
    assert states == {first: "undone", second: "waiting"}
    server.ask(f"/corrections/{second}", method="DELETE")
    assert server.ask("/predict", {"text": TEXT})[1]["results"][0]["tags"] == ["O"] * 4


@pytest.mark.parametrize(
    "body",
    [
        {"text": TEXT, "tags": ["O"]},
        {"text": TEXT, "tags": ["O", "O", "O", "nonsense"]},
        {"text": TEXT, "label": "O"},
        {"text": "", "tags": []},
        {"text": TEXT},
        {"tags": TAGS},
        {"row": 4000, "tags": TAGS},
        {"row": 0, "text": TEXT, "tags": TAGS},
        {"text": TEXT, "tags": ["O", "O", "O", ""]},
        {"text": TEXT, "tags": TAGS, "model": "others"},
        {"text": TEXT, "tags": TAGS, "lable": "x"},
        {"text": TEXT, "tags": ["O", "I-PER", "O", "O"]},
        {"text": TEXT, "tags": ["B-PER", "I-LOC", "O", "O"]},
        {"text": TEXT, "tags": ["B-PER", "I-NEW", "O", "O"]},
    ],
)
def test_a_correction_that_does_not_fit_is_refused_and_not_journalled(server: Client, body: Any) -> None:
    status, answer = server.ask("/corrections", body)
    assert 400 <= status < 500
    assert answer["error"]
    assert server.ask("/corrections")[1]["corrections"] == []


def test_tags_that_the_model_forbids_are_refused_with_their_place(server: Client) -> None:
    _, answer = server.ask("/corrections", {"text": TEXT, "tags": ["O", "I-PER", "O", "O"]})
    assert answer["error"] == "token 1: 'I-PER' must continue a span of its type, but follows 'O'"


def test_new_labels_of_a_correction_are_told(server: Client) -> None:
    first = server.ask("/corrections", {"text": TEXT, "tags": TAGS})[1]
    assert "new_labels" not in first
    second = server.ask("/corrections", {"text": TEXT, "tags": ["B-TREE", "I-TREE", "O", "O"]})[1]
    assert second["new_labels"] == ["B-TREE", "I-TREE"]
    for one in (second, first):
        server.ask(f"/corrections/{one['seq']}", method="DELETE")


def test_a_request_to_learn_needs_no_body(server: Client) -> None:
    assert server.ask("/learn", b"")[1]["learnt"] == 0


def test_a_model_goes_on_without_its_file_and_says_so(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / "copy.chaff"
    copied.write_bytes((folder / "names.chaff").read_bytes())
    with Process(copied) as server:
        copied.unlink()
        time.sleep(1.5)
        assert server.ask("/predict", {"text": TEXT})[0] == 200
        assert server.stop().count("copy.chaff is gone; the loaded model stays in use") == 1


def test_with_training_data_the_model_is_that_of_a_full_training(folder: Path, tmp_path: Path) -> None:
    given = {"train": [str(folder / "train.conll")], "journal": tmp_path / "j", "retrain_after": 0.2}
    X, y = name_sentences(60)
    further = [(f"Zed{n} met Una{n}".split(), ["B-PER", "O", "B-PER"]) for n in range(5)]
    with Forked(folder / "names.chaff", data=[folder / "pool.conll"], **given) as server:
        until(lambda: len(server.ask("/models")[1]["models"][0]["versions"]) == 2)
        assert "trained on all data" in server.ask("/models")[1]["models"][0]["versions"][1]["note"]
        for words, tags in further:
            server.ask("/corrections", {"text": " ".join(words), "tags": tags})
        version = server.ask("/learn", {})[1]["version"]
        like = load(folder / "names.chaff")
        templates = list(like.model_.packed().templates)
        whole = Tagger(like.config_, features=templates, folds=0, threads=1)
        whole.fit(X + [w for w, _ in further], y + [t for _, t in further])
        for words in [w for w, _ in further] + X:
            assert own_tags(server, " ".join(words), version) == whole.predict([words])[0]
        until(lambda: len(server.ask("/models")[1]["models"][0]["versions"]) == 4)
        assert server.ask("/models")[1]["models"][0]["versions"][3]["corrections"] == 5


def test_a_classifier_learns_with_its_training_data_and_says_so_without(tmp_path: Path) -> None:
    texts = [f"{a} {b}" for a in ("good", "fine", "bad", "vile") for b in ("tea", "cake", "day")]
    labels = ["+"] * 6 + ["-"] * 6
    Classifier("ridge", threads=1).fit(texts, labels).save(tmp_path / "stars.chaff")
    rows = "".join(f"{label},{text}\n" for label, text in zip(labels, texts, strict=True))
    (tmp_path / "train.csv").write_text("label,text\n" + rows)
    with Forked(tmp_path / "stars.chaff") as server:
        status, answer = server.ask("/corrections", {"text": "vile wit", "label": "+"})
        assert status == 200
        assert server.ask("/predict", {"text": "vile wit"})[1]["results"][0]["label"] == "+"
        status, answer = server.ask("/learn", {})
        assert status == 400
        assert "--train" in answer["error"]
    with Forked(tmp_path / "stars.chaff", train=[str(tmp_path / "train.csv")], retrain_after=0.1) as server:
        until(lambda: len(server.ask("/models")[1]["models"][0]["versions"]) >= 2)
        until(lambda: server.ask("/learn", {})[0] == 200)
        version = server.ask("/models")[1]["version"]
        found = server.ask("/predict", {"text": "vile wit", "version": version})[1]["results"][0]
        assert found["label"] == "+"
        assert found["certainty"] is not None


def test_a_loaded_classifier_of_single_steps_learns_on(tmp_path: Path) -> None:
    classifier(tmp_path / "stars.chaff", "loglinear")
    with Forked(tmp_path / "stars.chaff") as server:
        before = server.ask("/predict", {"text": "vile tea", "probabilities": True})[1]["results"][0]
        server.ask("/corrections", {"text": "vile tea", "label": "+"})
        version = server.ask("/learn", {})[1]["version"]
        body = {"text": "vile tea", "version": version, "probabilities": True}
        after = server.ask("/predict", body)[1]["results"][0]
        assert after["probabilities"]["+"] > before["probabilities"]["+"]


def test_a_changed_file_is_reloaded_if_it_is_whole(folder: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(folder / "names.chaff", tmp_path / "names.chaff"))
    other = tmp_path / "other.chaff"
    Tagger("crf", folds=0, threads=1).fit([["Ann", "left"]] * 3, [["B-ORG", "O"]] * 3).save(other)
    with Forked(path) as server:
        server.ask("/corrections", {"text": "Zed ran", "tags": ["B-ORG", "O"]})
        path.write_bytes(other.read_bytes()[:-100])
        until(lambda: b'reload_failed"} 1' in server.ask("/metrics")[1])
        assert server.ask("/predict", {"text": "Ann left"})[1]["version"] == "crf-1"
        os.replace(other, path)
        until(lambda: server.ask("/predict", {"text": "Ann left"})[1]["version"] != "crf-1")
        until(lambda: server.ask("/corrections")[1]["corrections"][0]["state"] == "learnt")
        assert server.ask("/predict", {"text": "Ann left"})[1]["results"][0]["tags"] == ["B-ORG", "O"]
        assert server.ask("/predict", {"text": "Zed ran"})[1]["results"][0]["pinned"]


def test_what_to_label_next_is_doubted_or_drawn_at_random(server: Client) -> None:
    found = server.ask("/next", {"n": 10})[1]["rows"]
    assert sum(row["audit"] for row in found) == 2
    drawn = next(row for row in found if row["audit"])
    server.ask("/corrections", {"data": "pool.conll", "row": drawn["row"], "tags": _gold(drawn["row"])})
    told = server.ask("/corrections")[1]
    assert told["audit"]["rows"] == 1
    assert told["corrections"][0]["audit"]
    assert drawn["row"] not in [row["row"] for row in server.ask("/next", {"n": 40})[1]["rows"]]


def test_rows_come_in_the_order_of_the_queue(server: Client) -> None:
    queue = server.ask("/next", {"n": 10})[1]["rows"]
    found = server.ask("/rows?sort=next&count=10")[1]
    assert [row["row"] for row in found["rows"]] == [row["row"] for row in queue]
    assert [row["why"] for row in found["rows"]] == [row["why"] for row in queue]
    assert all(row["tags"] for row in found["rows"])
    first, left = queue[0]["row"], found["total"]
    server.ask("/corrections", {"data": "pool.conll", "row": first, "tags": _gold(first)})
    found = server.ask("/rows?sort=next&count=10")[1]
    assert first not in [row["row"] for row in found["rows"]]
    assert found["total"] < left
    assert server.ask("/rows?sort=next&count=10&search=road")[1]["total"] < found["total"]
    assert server.ask("/rows?sort=never")[0] == 400


def _gold(row: int) -> list[str]:
    return name_sentences(40)[1][row]


def test_exports_hold_the_corrections(server: Client) -> None:
    server.ask("/corrections", {"data": "pool.conll", "row": 0, "tags": ["B-LOC", "O", "O", "B-PER"]})
    words = name_sentences(1)[0][0]
    alone = server.ask("/export?format=conll")[1].decode()
    assert (
        alone
        == "".join(f"{w}\t{t}\n" for w, t in zip(words, ["B-LOC", "O", "O", "B-PER"], strict=True)) + "\n"
    )
    every = server.ask("/export?format=conll&data=pool.conll")[1].decode()
    assert every.startswith(alone)
    assert every.count("\n\n") == 40
    (task,) = server.ask("/export?format=label-studio")[1]
    spans = [(r["value"]["text"], r["value"]["labels"]) for r in task["annotations"][0]["result"]]
    assert spans == [(words[0], ["LOC"]), (words[3], ["PER"])]
    assert server.ask("/export?format=nothing")[0] == 400


def test_several_labels_are_corrected_in_any_order_and_learnt_by_a_full_training(tmp_path: Path) -> None:
    texts = [f"{a} {b}" for a in ("red", "blue", "green") for b in ("car", "boat", "kite", "coat")] * 3
    labels = [[text.split()[0], *(["sea"] if "boat" in text else [])] for text in texts]
    Classifier("ridge", threads=1).fit(texts, labels).save(tmp_path / "m.chaff")
    rows = "".join(json.dumps({"text": t, "labels": y}) + "\n" for t, y in zip(texts, labels, strict=True))
    (tmp_path / "train.jsonl").write_text(rows)
    given = {"data": [tmp_path / "train.jsonl"], "journal": tmp_path / "j", "retrain_after": 0.2}
    with Forked(tmp_path / "m.chaff", train=[str(tmp_path / "train.jsonl")], **given) as server:
        until(lambda: len(server.ask("/models")[1]["models"][0]["versions"]) >= 2)
        before = server.ask("/predict", {"text": "red boat"})[1]["results"][0]
        assert sorted(before["labels"]) == ["red", "sea"]
        row = texts.index("red boat")
        server.ask("/corrections", {"data": "train.jsonl", "row": row, "labels": ["sea", "red"]})
        listed = server.ask("/corrections")[1]["corrections"]
        assert listed[0]["labels"] == ["red", "sea"]
        assert server.ask("/predict", {"text": "red boat"})[1]["results"][0]["pinned"]
        status, answer = server.ask("/learn", {})
        assert (status, "full training" in answer["error"]) == (400, True)
        until(lambda: server.ask("/corrections")[1]["corrections"][0]["state"] == "learnt")
