"""What a run of the tests promises: with the real corpora named, a test that skips is a run that fails."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("named", "code"), [(True, 1), (False, 0)])
def test_a_skipped_test_fails_the_run_when_the_corpora_were_promised(
    named: bool, code: int, tmp_path: Path
) -> None:
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\ndef test_skips():\n    pytest.skip('for a reason')\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "CHAFFINCH_DATA"}
    environment |= {"CHAFFINCH_DATA": str(tmp_path)} if named else {}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert ("test_one.py::test_skips" in done.stdout) == named
