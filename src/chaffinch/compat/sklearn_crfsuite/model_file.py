"""The model file of an estimator: a temporary one, unless it has a name."""

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any


class ModelPath:
    """A file that is deleted with its object, unless its name was given or ``keep`` is set.

    name: its path; None: there is none yet
    """

    def __init__(self, name: str | None, keep: bool) -> None:
        self.name, self.given, self.keep = name, name is not None, keep

    def renew(self) -> str:
        """A path to write a new model to."""
        if not self.given:
            self.remove()
            number, self.name = tempfile.mkstemp(".chaff", "model")
            os.close(number)
        assert self.name is not None
        return self.name

    def remove(self) -> None:
        """Delete a temporary file."""
        if self.given or self.keep or self.name is None:
            return
        with contextlib.suppress(OSError):
            Path(self.name).unlink()
        self.name = None

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter may be closing
            self.remove()

    def __getstate__(self) -> dict[str, Any]:
        """The state, with the content of a temporary file."""
        state = dict(vars(self))
        if not self.given and self.name is not None:
            state["content"], state["name"] = Path(self.name).read_bytes(), None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("content", None)
        vars(self).update(state)
        if content is not None:
            Path(self.renew()).write_bytes(content)
