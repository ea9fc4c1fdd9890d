"""Models of other tools with something changed in them: read, or refused in one line that begins with the file."""

from pathlib import Path

import pytest

import fuzz_rescue
from chaffinch.rescue.registry import names

ELSEWHERE = {"fasttext", "liblinear"}  # classifiers: test_fasttext_models.py, test_liblinear_files.py


def test_every_format_is_there() -> None:
    assert fuzz_rescue.FILES.keys() == set(names()) - ELSEWHERE


@pytest.mark.parametrize("format", fuzz_rescue.FILES)
def test_changed_models_are_read_or_refused_in_one_line(format: str, tmp_path: Path) -> None:
    counts = fuzz_rescue.run(120, 1, tmp_path, [format])
    assert counts[format, "refused"] > 40
    assert counts.total() == 120
