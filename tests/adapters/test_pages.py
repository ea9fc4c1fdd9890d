"""The examples of pages that need other tools run as they stand."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["moving.md", "spacy.md"])
def test_the_examples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    assert len(examples) > 1
    monkeypatch.chdir(tmp_path)
    exec("\n".join(examples), {"__name__": page})
