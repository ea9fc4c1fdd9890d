"""Files of every format with something changed in them: read, or refused in one line that begins with the file."""

from pathlib import Path

import pytest

import fuzz_readers
from chaffinch.corpus import FORMATS


def test_every_format_is_there() -> None:
    assert fuzz_readers.FILES.keys() == FORMATS.keys()


@pytest.mark.parametrize("format", FORMATS)
def test_changed_files_are_read_or_refused_in_one_line(format: str, tmp_path: Path) -> None:
    counts = fuzz_readers.run(150, 1, tmp_path, [format])
    assert counts[format, "refused"] > 10
    assert counts.total() == 150
