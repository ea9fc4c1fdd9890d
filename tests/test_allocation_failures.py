"""Out of memory in the native core: an error, never a crash. `make oom` tries many more places."""

import pytest

import allocation_failures


@pytest.mark.parametrize(
    "only", ["tagger crf", "tagger greedy", "tagger beam", "classifier", "parser", "aligner"]
)
def test_a_failed_allocation_is_an_error_and_no_crash(tmp_path, only):
    if allocation_failures.library(tmp_path) is None:
        pytest.skip("needs a C compiler and Linux")
    found, tried = allocation_failures.faults(tmp_path, places=6, only=only, quiet=True)
    assert tried >= 6
    assert found == []
