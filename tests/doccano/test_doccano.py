"""The real doccano labels texts by ``chaffinch serve``: its auto-labelling with a custom REST request."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from installed_tool import InstalledTool, free_port
from page.serving import Forked, classifier, tagger

HOME = Path(__file__).parents[2] / "build" / "doccano"
PROGRAM = Path(os.environ.get("DOCCANO") or HOME / "venv" / "bin" / "doccano")
USER = {"username": "admin", "password": "of-no-use-elsewhere"}


@pytest.fixture(scope="module")
def doccano(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InstalledTool]:
    """doccano with an empty database and one user."""
    if not PROGRAM.is_file():
        pytest.skip("needs doccano: run `make test-doccano`, or name its program in DOCCANO")
    folder, port = tmp_path_factory.mktemp("doccano"), free_port()
    settings = {"DOCCANO_HOME": str(folder), "DATABASE_URL": f"sqlite:///{folder}/db.sqlite3"}
    user = ["createuser", "--username", USER["username"], "--password", USER["password"]]
    for arguments in (["init"], user):
        subprocess.run(
            [PROGRAM, *arguments], env={**os.environ, **settings}, cwd=folder, check=True, capture_output=True
        )
    command = [PROGRAM, "webserver", "--port", str(port)]
    running = InstalledTool(command, port, folder, settings, "/api-auth/login/")
    try:
        running.token = running.ask("/v1/auth/login/", USER)["key"]
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forked]:
    folder = tmp_path_factory.mktemp("served")
    tagger(folder / "names.chaff")
    classifier(folder / "stars.chaff")
    with Forked(folder / "names.chaff", folder / "stars.chaff") as running:
        yield running


def labelled(
    doccano: InstalledTool, url: str, task: str, kind: str, labels: list[str], text: str, **headers: str
) -> tuple[dict[int, str], list[dict[str, Any]]]:
    """The names of the labels of a new project, and what auto-labelling made of a text."""
    route, types, found = {
        "Span": ("spans", "span-types", "SequenceLabelingProject"),
        "Category": ("categories", "category-types", "TextClassificationProject"),
    }[kind]
    given = {"name": kind, "description": kind, "project_type": task, "resourcetype": found, "guideline": ""}
    project = f"/v1/projects/{doccano.ask('/v1/projects', given)['id']}"
    names = {}
    for n, label in enumerate(labels):
        made = doccano.ask(f"{project}/{types}", {"text": label, "background_color": f"#00000{n}"})
        names[made["id"]] = label
    attributes = {
        "url": url,
        "method": "POST",
        "params": {},
        "headers": {"Content-Type": "application/json", **headers},
        "body": {"text": "{{ text }}"},
    }
    config = {
        "model_name": "Custom REST Request",
        "model_attrs": attributes,
        "template": "{{ input | tojson }}",
        "label_mapping": {},
        "task_type": kind,
    }
    doccano.ask(f"{project}/auto-labeling/configs", config)
    example = doccano.ask(f"{project}/examples", {"text": text})["id"]
    doccano.ask(f"{project}/auto-labeling?example={example}", {})
    return names, doccano.ask(f"{project}/examples/{example}/{route}")


def test_spans_are_labelled(doccano: InstalledTool, server: Forked) -> None:
    text = 'Ann "lives" \\ in \U0001f600 Rome'
    expected = server.ask("/predict", {"text": text})[1]["results"][0]["spans"]
    assert {text[s["start"] : s["end"]] for s in expected} >= {"Ann", "Rome"}
    url = f"{server.url}/doccano/names"
    names, found = labelled(doccano, url, "SequenceLabeling", "Span", ["PER", "LOC"], text)
    spans = [(s["start_offset"], s["end_offset"], names[s["label"]]) for s in found]
    assert sorted(spans) == [(s["start"], s["end"], s["label"]) for s in expected]


def test_a_text_without_spans_gets_none(doccano: InstalledTool, server: Forked) -> None:
    url = f"{server.url}/doccano/names"
    assert labelled(doccano, url, "SequenceLabeling", "Span", ["PER", "LOC"], "is cold")[1] == []


def test_texts_are_classified(doccano: InstalledTool, server: Forked) -> None:
    url = f"{server.url}/doccano/stars"
    for text, label in (("lovely tea", "+"), ("vile cake", "-")):
        names, found = labelled(doccano, url, "DocumentClassification", "Category", ["+", "-"], text)
        assert [names[one["label"]] for one in found] == [label]


def test_a_server_with_a_token_is_reached_by_a_header(doccano: InstalledTool, tmp_path: Path) -> None:
    token = "a-token-of-the-test"
    with Forked(tagger(tmp_path / "names.chaff"), token=token) as server:
        url, header = f"{server.url}/doccano/names", {"X-Chaffinch-Token": token}
        _, found = labelled(doccano, url, "SequenceLabeling", "Span", ["PER", "LOC"], "Ann left", **header)
    assert len(found) == 1
