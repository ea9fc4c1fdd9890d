"""``chaffinch serve`` as the machine-learning backend of the real Label Studio."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from installed_tool import InstalledTool
from page.serving import Forked, classifier, tagger

SPANS = (
    '<View><Labels name="ner" toName="txt"><Label value="PER"/><Label value="LOC"/></Labels>'
    '<Text name="txt" value="$body"/></View>'
)
CHOICES = (
    '<View><Text name="t" value="$text"/>'
    '<Choices name="c" toName="t"><Choice value="+"/><Choice value="-"/></Choices></View>'
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Forked]:
    tagger(tmp_path / "names.chaff")
    classifier(tmp_path / "stars.chaff")
    with Forked(tmp_path / "names.chaff", tmp_path / "stars.chaff") as running:
        yield running


class Project:
    """A project of Label Studio with texts, connected to a server."""

    def __init__(
        self, studio: InstalledTool, server: Forked, config: str, key: str, texts: list[str], **more: Any
    ) -> None:
        self.studio = studio
        made = studio.ask("/api/projects/", {"title": key, "label_config": config})
        self.id = made["id"]
        studio.ask(f"/api/projects/{self.id}/import", [{key: text} for text in texts])
        listed = studio.ask(f"/api/tasks/?project={self.id}&page_size=100&fields=all")["tasks"]
        self.tasks = {task["data"][key]: task["id"] for task in listed}
        self.backend = studio.ask(
            "/api/ml/", {"url": server.url, "project": self.id, "title": "Chaffinch", **more}
        )

    def predict(self) -> None:
        """Draw the predictions of the backend onto all tasks."""
        chosen = {"selectedItems": {"all": True, "excluded": []}}
        self.studio.ask(f"/api/dm/actions/?id=retrieve_tasks_predictions&project={self.id}&tabID=", chosen)

    def predictions(self, text: str) -> list[dict[str, Any]]:
        """The predictions of a task, the oldest first."""
        found = self.studio.ask(f"/api/predictions/?task={self.tasks[text]}")
        return sorted(found, key=lambda p: p["id"])

    def annotate(self, text: str, results: list[dict[str, Any]]) -> int:
        """Submit an annotation, as an annotator does."""
        made = self.studio.ask(f"/api/tasks/{self.tasks[text]}/annotations/", {"result": results})
        return int(made["id"])


def until(true: Callable[[], Any], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


def states(server: Forked, model: str, token: str = "") -> list[str]:
    """What became of the corrections of a model."""
    found = server.ask(f"/corrections?model={model}", headers={"x-chaffinch-token": token})[1]
    return [one["state"] for one in found["corrections"]]


def marked(prediction: dict[str, Any]) -> list[tuple[str, str]]:
    return [(r["value"]["text"], *r["value"]["labels"]) for r in prediction["result"]]


def span(text: str, word: str, label: str) -> dict[str, Any]:
    start = text.index(word)
    value = {"start": start, "end": start + len(word), "text": word, "labels": [label]}
    return {"from_name": "ner", "to_name": "txt", "type": "labels", "value": value}


def test_spans_are_drawn_onto_tasks_and_annotations_are_learnt(studio: InstalledTool, server: Forked) -> None:
    texts = [
        "Ann lives in Rome",
        "Ida met Zorbax .",
        "Zorbax is cold",
        "Zorbax is old",
        "the road \U0001f600 to Rome",
    ]
    project = Project(studio, server, SPANS, "body", texts)
    assert (project.backend["readable_state"], project.backend["model_version"]) == ("Connected", "crf-1")
    project.predict()
    (first,) = project.predictions(texts[0])
    assert marked(first) == [("Ann", "PER"), ("Rome", "LOC")]
    assert first["model_version"] == "crf-1"
    assert 0 < first["score"] <= 1
    assert marked(project.predictions(texts[4])[0]) == [("Rome", "LOC")]
    assert marked(project.predictions(texts[2])[0]) == [("Zorbax", "LOC")]

    number = project.annotate(texts[2], [span(texts[2], "Zorbax", "PER")])
    until(lambda: states(server, "names") == ["learnt"])
    project.predict()
    before, after = project.predictions(texts[3])
    assert (marked(before), before["model_version"]) == ([("Zorbax", "LOC")], "crf-1")
    assert (marked(after), after["model_version"]) == ([("Zorbax", "PER")], "crf-2")

    studio.ask(f"/api/annotations/{number}/", {"result": [span(texts[2], "Zorbax", "LOC")]}, "PATCH")
    until(lambda: states(server, "names") == ["undone", "learnt"])
    assert server.ask("/predict", {"text": texts[2]})[1]["results"][0]["tags"][0] == "B-LOC"
    studio.ask(f"/api/annotations/{number}/", method="DELETE")
    until(lambda: states(server, "names") == ["undone", "undone"])
    assert not server.ask("/predict", {"text": texts[2]})[1]["results"][0]["pinned"]


def test_choices_are_drawn_onto_tasks_and_annotations_are_learnt(
    studio: InstalledTool, server: Forked
) -> None:
    texts = ["lovely tea", "vile cake", "gorgeous lovely thing", "gorgeous thing"]
    project = Project(studio, server, CHOICES, "text", texts)
    assert project.backend["model_version"] == "loglinear-1"
    project.predict()
    found = [project.predictions(text)[0]["result"][0]["value"]["choices"] for text in texts]
    assert found[:3] == [["+"], ["-"], ["+"]]
    choice = {"from_name": "c", "to_name": "t", "type": "choices", "value": {"choices": ["-"]}}
    project.annotate(texts[2], [choice])
    until(lambda: states(server, "stars") == ["learnt"])
    project.predict()
    before, after = project.predictions(texts[3])
    assert after["model_version"] == "loglinear-2"
    assert after["result"] != before["result"] or after["score"] != before["score"]
    assert after["result"][0]["value"]["choices"] == ["-"]


def test_the_queue_begins_with_the_least_certain_task(studio: InstalledTool, server: Forked) -> None:
    texts = ["Ann lives in Rome", "the road to Oslo", "Bern Wim met a Quux in Rome", "Eve Finn left Riga ."]
    project = Project(studio, server, SPANS, "body", texts)
    project.predict()
    scores = {text: project.predictions(text)[0]["score"] for text in texts}
    order = sorted(texts, key=scores.__getitem__)
    assert order[0] != texts[0]
    version = project.predictions(texts[0])[0]["model_version"]
    sampling = {"sampling": "Uncertainty sampling", "model_version": version}
    studio.ask(f"/api/projects/{project.id}/", sampling, "PATCH")
    queue = []
    for _ in texts:
        task = studio.ask(f"/api/projects/{project.id}/next")
        queue.append(task["data"]["body"])
        studio.ask(f"/api/tasks/{task['id']}/annotations/", {"result": [], "was_cancelled": True})
    assert queue == order
    assert states(server, "names") == []


def test_versions_interactive_predictions_and_training(studio: InstalledTool, server: Forked) -> None:
    text = "Ann left Rome"
    project = Project(studio, server, SPANS, "body", [text], is_interactive=True)
    backend = f"/api/ml/{project.backend['id']}"
    assert studio.ask(f"{backend}/versions") == {"versions": ["crf-1", "loglinear-1"]}
    asked = {"task": project.tasks[text], "context": {"result": []}}
    found = studio.ask(f"{backend}/interactive-annotating", asked)
    assert marked(found["data"]) == [("Ann", "PER"), ("Rome", "LOC")]
    server.ask("/corrections", {"text": "Zorbax is cold", "tags": ["B-PER", "O", "O"]})
    assert states(server, "names") == ["waiting"]
    studio.ask(f"{backend}/train", {})
    until(lambda: states(server, "names") == ["learnt"])
    refused = [line for line in str(server.ask("/metrics")[1]).split("\\n") if 'status="4' in line]
    assert refused == []


def test_a_server_with_a_token_is_reached_by_basic_auth_and_a_header_of_the_webhook(
    studio: InstalledTool, tmp_path: Path
) -> None:
    token = "a-token-of-the-test"
    with Forked(tagger(tmp_path / "names.chaff"), token=token) as server:
        text = "Zorbax is cold"
        secret = {"auth_method": "BASIC_AUTH", "basic_auth_user": "any", "basic_auth_pass": token}
        project = Project(studio, server, SPANS, "body", [text], **secret)
        assert project.backend["readable_state"] == "Connected"
        project.predict()
        assert marked(project.predictions(text)[0]) == [("Zorbax", "LOC")]
        (hook,) = studio.ask(f"/api/webhooks/?project={project.id}")
        studio.ask(f"/api/webhooks/{hook['id']}/", {"headers": {"X-Chaffinch-Token": token}}, "PATCH")
        project.annotate(text, [span(text, "Zorbax", "PER")])
        until(lambda: states(server, "names", token) == ["learnt"])
