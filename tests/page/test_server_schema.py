"""Requests that fit the server's own description, and some that do not: never a failure of the server, never a hang."""

import contextlib
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from page.serving import Client, Forked, classifier, name_sentences, tagger, write_columns

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import GenerationMode

EXAMPLES = 6  # of each operation; a release is tried with 100
SECONDS = 30.0  # within which every request is answered


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("schema")
    tagger(folder / "names.chaff")
    classifier(folder / "stars.chaff")
    write_columns(folder / "pool.conll", *name_sentences(30))
    with Forked(folder / "names.chaff", folder / "stars.chaff", data=[folder / "pool.conll"]) as made:
        yield made


def test_no_request_makes_the_server_fail_or_hang(server: Client) -> None:
    seen = asked_everything(server)
    assert seen[200] > 20
    assert seen[400] > 20
    assert server.ask("/predict", {"text": "Ann left Rome"})[0] == 200


def asked_everything(server: Client) -> Counter[int]:
    """The statuses of answers to every operation, asked in both ways: as it is described, and otherwise."""
    operations = list(schemathesis.openapi.from_url(f"{server.url}/openapi.json").get_all_operations())
    assert len(operations) >= 20
    seen: Counter[int] = Counter()
    for operation in operations:
        for mode in GenerationMode:
            with contextlib.suppress(
                Unsatisfiable
            ):  # nothing can be wrong about a request without parameters
                ask(operation.ok(), mode, seen)
    return seen


def ask(operation: Any, mode: GenerationMode, seen: Counter[int]) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        response = case.call(timeout=SECONDS)
        seen[response.status_code] += 1
        assert response.status_code < 500, f"{case.as_curl_command()}: {response.text}"
        if response.status_code >= 400 and response.headers.get("content-type") == ["application/json"]:
            assert response.json()["error"]

    run()
