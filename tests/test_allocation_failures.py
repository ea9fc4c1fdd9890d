"""Out of memory in the native core: an error, never a crash. `make oom` tries many more places."""

import pytest

import allocation_failures

RECIPES = ["tagger crf", "tagger greedy", "tagger beam", "classifier", "parser", "aligner"]


@pytest.mark.long
def test_a_failed_allocation_is_an_error_and_no_crash(tmp_path):
    if allocation_failures.library(tmp_path) is None:
        pytest.skip("needs a C compiler and Linux")
    found, tried = allocation_failures.faults(tmp_path, places=3, only=",".join(RECIPES), quiet=True)
    assert tried >= 3 * len(RECIPES)
    assert found == []
