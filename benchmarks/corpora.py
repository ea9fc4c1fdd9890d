"""The folder of the real corpora: named by CHAFFINCH_DATA, else beside the project."""

import os
from collections.abc import Sequence
from pathlib import Path

ENVIRONMENT = "CHAFFINCH_DATA"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def corpus(relative: str) -> Path:
    """The path of a corpus that the benchmark ``needs``."""
    return _folder() / relative


def missing(needs: Sequence[str]) -> str | None:
    """Why a benchmark that needs these paths is skipped; None if all exist."""
    for relative in needs:
        if not corpus(relative).exists():
            return f"{relative} is not in the folder of corpora; name that folder in {ENVIRONMENT}"
    return None


def _folder() -> Path:
    named = os.environ.get(ENVIRONMENT)
    return Path(named) if named else BESIDE
