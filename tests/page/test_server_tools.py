"""Other tools on the same server: Label Studio's protocol, doccano, OpenAPI; trees and links, which are read-only."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaffinch import Aligner, Parser
from page.serving import Client, Forked, classifier, tagger

SPANS = (
    '<View><Labels name="ner" toName="txt"><Label value="PER"/><Label value="LOC"/></Labels>'
    '<Text name="txt" value="$body"/></View>'
)
CHOICES = (
    '<View><Text name="t" value="$text"/>'
    '<Choices name="c" toName="t"><Choice value="+"/><Choice value="-"/></Choices></View>'
)
TREES = ["(S (NP (DT the) (NN fox)) (VP (VBZ sleeps)))", "(S (NP (DT a) (NN hen)) (VP (VBZ eats)))"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("tools")
    tagger(folder / "names.chaff")
    classifier(folder / "stars.chaff")
    Parser("pcfg").fit(TREES).save(folder / "trees.chaff")
    pairs = [(["the", "dog"], ["le", "chien"]), (["the", "cat"], ["le", "chat"])] * 3
    Aligner(threads=1).fit(pairs, [{(0, 0), (1, 1)}] * 6).save(folder / "links.chaff")
    names = ("names", "stars", "trees", "links")
    with Forked(*(folder / f"{name}.chaff" for name in names), journal=folder / "j") as made:
        yield made


def until(true: Any, seconds: float = 60.0) -> None:
    end = time.perf_counter() + seconds
    while not true():
        assert time.perf_counter() < end
        time.sleep(0.05)


def annotation(number: int, text: str, results: list[Any], **more: Any) -> dict[str, Any]:
    """What Label Studio sends when an annotator submits."""
    return {
        "action": "ANNOTATION_CREATED",
        "annotation": {"id": number, "result": results, "task": 7, "was_cancelled": False, "completed_by": 1},
        "project": {"id": 3, "title": "x", "label_config": SPANS},
        "task": {"id": 7, "data": {"body": text}, "project": 3},
        **more,
    }


def span(start: int, end: int, label: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": "...", "labels": [label]}
    return {
        "id": "a1",
        "from_name": "ner",
        "to_name": "txt",
        "type": "labels",
        "origin": "manual",
        "value": value,
    }


def test_label_studio_sets_up_and_finds_the_server_in_health(server: Client) -> None:
    assert server.ask("/health")[1]["status"] == "UP"
    body = {
        "project": "3.1731",
        "schema": SPANS,
        "hostname": "http://x",
        "access_token": "t",
        "extra_params": None,
    }
    assert server.ask("/setup", body) == (200, {"model_version": "crf-1", "version": "crf-1"})
    body = {"project": "4.1", "schema": CHOICES, "extra_params": '{"model": "stars"}'}
    assert server.ask("/setup", body)[1]["model_version"] == "loglinear-1"
    assert server.ask("/setup", {"project": "5.1", "schema": "<View/>"})[0] == 400
    assert (
        server.ask("/setup", {"project": "5.1", "schema": '<!DOCTYPE x [<!ENTITY a "b">]><View/>'})[0] == 400
    )


def test_label_studio_gets_spans_with_scores(server: Client) -> None:
    tasks = [{"id": 1, "data": {"body": "Ann lives in Rome"}}, {"id": 2, "data": {"body": ""}}]
    body = {"tasks": tasks, "project": "9.5", "label_config": SPANS, "params": {"context": None}}
    status, found = server.ask("/predict", body)
    assert status == 200
    first, second = found["results"]
    assert second["result"] == []
    assert first["model_version"] == found["model_version"]
    results = [
        (r["value"]["start"], r["value"]["end"], r["value"]["text"], r["value"]["labels"])
        for r in first["result"]
    ]
    assert results == [(0, 3, "Ann", ["PER"]), (13, 17, "Rome", ["LOC"])]
    assert {(r["from_name"], r["to_name"], r["type"]) for r in first["result"]} == {("ner", "txt", "labels")}
    assert 0 < first["score"] <= 1
    assert all(0 < r["score"] <= 1 for r in first["result"])


def test_label_studio_gets_choices(server: Client) -> None:
    body = {"tasks": [{"id": 1, "data": {"text": "lovely tea"}}], "project": "8.5", "label_config": CHOICES}
    (found,) = server.ask("/predict", body)[1]["results"]
    assert found["result"] == [
        {"from_name": "c", "to_name": "t", "type": "choices", "value": {"choices": ["+"]}}
    ]
    assert 0.5 < found["score"] <= 1


def test_annotations_are_corrections_that_are_learnt_and_deletions_take_them_back(server: Client) -> None:
    text = "Rome met Zed"
    made = server.ask("/webhook", annotation(41, text, [span(0, 4, "PER"), span(9, 12, "PER")]))[1]
    assert made["corrections"] == 1
    found = server.ask("/predict", {"text": text})[1]["results"][0]
    assert found["pinned"]
    assert found["tags"] == ["B-PER", "O", "B-PER"]
    until(lambda: server.ask("/corrections")[1]["corrections"][-1]["state"] == "learnt")
    changed = annotation(41, text, [span(9, 12, "PER")], action="ANNOTATION_UPDATED")
    server.ask("/webhook", changed)
    assert server.ask("/predict", {"text": text})[1]["results"][0]["tags"] == ["O", "O", "B-PER"]
    gone = {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 41}], "project": {"id": 3}}
    assert server.ask("/webhook", gone)[1]["corrections"] == 2
    assert not server.ask("/predict", {"text": text})[1]["results"][0]["pinned"]
    until(lambda: server.ask("/corrections")[1]["corrections"][-1]["state"] == "undone")


def test_many_annotations_at_once_and_choices(server: Client) -> None:
    choice = {"from_name": "c", "to_name": "t", "type": "choices", "value": {"choices": ["-"]}}
    body = {
        "action": "ANNOTATIONS_CREATED",
        "annotation": [{"id": n, "task": n, "result": [choice]} for n in (51, 52)],
        "task": [{"id": n, "data": {"text": f"lovely tea {n}"}} for n in (51, 52)],
        "project": {"id": 77, "label_config": CHOICES},
    }
    assert server.ask("/webhook", body)[1]["corrections"] == 2
    found = server.ask("/predict", {"text": "lovely tea 52", "model": "stars"})[1]["results"][0]
    assert (found["label"], found["pinned"]) == ("-", True)


def test_what_an_annotation_lacks_is_told_and_nothing_fails(server: Client) -> None:
    cancelled = annotation(60, "Ann", [])
    cancelled["annotation"]["was_cancelled"] = True
    assert server.ask("/webhook", cancelled)[1]["corrections"] == 0
    outside = server.ask("/webhook", annotation(61, "Ann", [span(50, 60, "PER")]))[1]
    assert outside["corrections"] == 0
    assert outside["left_out"]
    for body in (
        {"action": "PROJECT_UPDATED"},
        {},
        {"action": "ANNOTATION_CREATED"},
        {"action": 3, "annotation": 4},
    ):
        assert server.ask("/webhook", body)[0] == 200


def test_versions_are_listed_and_training_is_started_as_label_studio_asks(server: Client) -> None:
    assert server.ask("/versions?model=stars")[1]["versions"][0] == "loglinear-1"
    known = server.ask("/versions")[1]["versions"]
    assert {"crf-1", "loglinear-1"} <= set(known)
    server.ask("/corrections", {"text": "Zed is cold", "tags": ["B-PER", "O", "O"], "model": "names"})
    start = {"action": "START_TRAINING", "project": {"id": 3, "label_config": SPANS}}
    assert server.ask("/webhook", start)[0] == 200
    until(lambda: server.ask("/corrections?model=names")[1]["corrections"][-1]["state"] == "learnt")
    start["project"] = {"id": 3, "label_config": "<View/>"}
    assert server.ask("/webhook", start)[0] == 400


def test_doccano_gets_labels_in_its_words(server: Client) -> None:
    found = server.ask("/doccano/names", {"text": "Ann lives in Rome"})[1]
    assert found == [
        {"label": "PER", "start_offset": 0, "end_offset": 3},
        {"label": "LOC", "start_offset": 13, "end_offset": 17},
    ]
    assert server.ask("/doccano/stars", {"text": "lovely tea"})[1] == [{"label": "+"}]
    assert server.ask("/doccano/nobody", {"text": "a"})[0] == 404


def test_trees_are_served_read_only(server: Client) -> None:
    found = server.ask("/predict", {"text": "the hen sleeps", "model": "trees"})[1]["results"][0]
    assert found["tree"] == "(S (NP (DT the) (NN hen)) (VP (VBZ sleeps)))"
    assert {"start": 0, "end": 2, "label": "NP"} in found["nodes"]
    assert {"start": 0, "end": 3, "label": "S"} in found["nodes"]
    assert found["certainty"] is None
    status, answer = server.ask("/corrections", {"text": "the hen", "tags": ["A", "B"], "model": "trees"})
    assert (status, "read-only" in answer["error"]) == (400, True)
    assert server.ask("/learn", {"model": "trees"})[0] == 400
    assert server.ask("/predict", {"text": "the " * 200, "model": "trees"})[0] == 400


def test_links_are_served_read_only(server: Client) -> None:
    body = {"source": ["the", "cat"], "target": ["le", "chat"], "model": "links"}
    found = server.ask("/predict", body)[1]["results"][0]
    assert found["links"] == [[0, 0], [1, 1]]
    assert server.ask("/predict", {"text": "the cat", "model": "links"})[0] == 400


def test_a_model_without_probabilities_says_so(tmp_path: Path) -> None:
    from chaffinch import Tagger
    from page.serving import name_sentences

    Tagger("beam", folds=0, threads=1).fit(*name_sentences(40)).save(tmp_path / "beam.chaff")
    with Forked(tmp_path / "beam.chaff") as server:
        assert server.ask("/models")[1]["models"][0]["probabilities"] is False
        found = server.ask("/predict", {"text": "Ann left Rome", "probabilities": True})[1]["results"][0]
        assert found["certainty"] is None
        assert found["token_certainty"] is None
        assert all(s["score"] is None for s in found["spans"])
        assert "marginals" not in found


def test_the_description_names_every_route_and_every_body(server: Client) -> None:
    found = server.ask("/openapi.json")[1]
    assert found["openapi"].startswith("3.1")
    assert set(found["paths"]["/corrections"]) == {"get", "post"}
    body = found["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    name = body["$ref"].rpartition("/")[2]
    assert {"text", "texts", "kbest"} <= set(found["components"]["schemas"][name]["properties"])
