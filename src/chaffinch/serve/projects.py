"""The projects of Label Studio that call the server: their labelling interfaces, and the model of each."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chaffinch.errors import DataError
from chaffinch.serve.served import ServedModel, find_model

KINDS = {"Labels": ("tags", "labels"), "Choices": ("documents", "choices")}


@dataclass(frozen=True)
class Control:
    """A part of a labelling interface: its name, the name and the task's key of its text, its type of result."""

    name: str
    to: str
    key: str
    kind: str
    result: str


def controls(config: str) -> list[Control]:
    """The parts of a labelling interface that models can fill.

    >>> controls('<View><Labels name="l" toName="t"><Label value="A"/></Labels><Text name="t" value="$txt"/></View>')
    [Control(name='l', to='t', key='txt', kind='tags', result='labels')]
    """
    if "<!" in config.replace("<!--", ""):
        raise DataError("expected a labelling interface without declarations such as <!DOCTYPE>")
    try:
        tree = ET.fromstring(config)
    except ET.ParseError as e:
        raise DataError(f"the labelling interface is not XML: {e}") from None
    texts = {one.get("name", ""): one.get("value", "").lstrip("$") for one in tree.iter("Text")}
    found = []
    for one in tree.iter():
        to = one.get("toName", "")
        if one.tag in KINDS and to in texts:
            found.append(Control(one.get("name", ""), to, texts[to], *KINDS[one.tag]))
    return found


class Projects:
    """The model of each project that named one.

    learning: the names of models that are learning from annotations
    """

    def __init__(self, models: Mapping[str, ServedModel]) -> None:
        self._served = models
        self._wanted: dict[str, str] = {}
        self.learning: set[str] = set()

    def remember(self, project: Any, model: str) -> None:
        """The model of a project, if its parameters name one."""
        if len(self._wanted) < 10_000:
            self._wanted[_project(project)] = model

    def chosen(self, project: Any, config: str | None) -> tuple[ServedModel, Control]:
        """The model for a project: the one that it named, else the first that suits its interface."""
        found = controls(config or "") if config else []
        wanted = self._wanted.get(_project(project))
        models = [find_model(self._served, wanted)] if wanted else list(self._served.values())
        for served in models:
            for control in found:
                if control.kind == served.answering.name:
                    return served, control
        parts = " or ".join(f"<{name}>" for name in KINDS)
        raise DataError(
            f"the labelling interface has no part that a model here can fill: {parts} of a <Text>"
        )

    def suited(self, results: Sequence[Any], project: Any) -> ServedModel:
        """The model that an annotation corrects."""
        wanted = self._wanted.get(_project(project))
        if wanted:
            return find_model(self._served, wanted)
        types = {one.get("type") for one in results if isinstance(one, dict)}
        for served in self._served.values():
            for kind, result in KINDS.values():
                if served.answering.name == kind and (result in types or not types):
                    return served
        raise DataError("no model here gives results of the annotation's type")


def _project(project: Any) -> str:
    """A project's id: "3.1731" of its calls and {"id": 3} of its webhooks are the same.

    >>> _project("3.1731"), _project({"id": 3}), _project(3)
    ('3', '3', '3')
    """
    given = project.get("id") if isinstance(project, dict) else project
    return str(given).partition(".")[0]
