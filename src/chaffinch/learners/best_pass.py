"""The best pass on held-out data: its model, in memory, a checkpoint or a file, and how many were worse since."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ModelFileError
from chaffinch.files import writing
from chaffinch.learners.choice import ChoiceWeights
from chaffinch.learners.problem import Pass, State
from chaffinch.progress import Progress
from chaffinch.scorers import Layout, Linear

BEST = ".best"  # what the name of the file ends in
HISTORY = "best_history"  # the section of a checkpoint with the scores of all passes so far
WEIGHTS = "best"  # the section with the weights of the best pass; several arrays are numbered
LINK = "best_link"


@dataclass
class BestInMemory:
    """The model of the best pass.

    number: of the pass; None: none was scored
    since:  passes after it
    made:   the model; None: that of the last pass
    """

    number: int | None = field(default=None, init=False)
    since: int = field(default=0, init=False)
    _score: float = field(default=-np.inf, init=False)
    made: Any = field(default=None, init=False, repr=False)

    def model(self, one: Pass) -> Any:
        """The model of a pass, to be scored."""
        assert one.model is not None
        return one.model()

    def compare(self, one: Pass, made: Any, score: float) -> None:
        """Keep the model of a pass if its score is the highest."""
        self.since += 1
        if self.number is None or score > self._score:
            self.number, self._score, self.since = one.number, score, 0
            self.keep(one, made)

    def keep(self, _: Pass, made: Any) -> None:
        """Keep a model instead of the last one."""
        self.made = made

    def in_file(self, _: Pass) -> bool:
        """Whether the model is in a file at the end of a training, with its last pass."""
        return False

    def read(self) -> Any:
        """The model of the best pass, if no pass follows a checkpoint."""
        return self.made

    def packed(self, _: Sequence[Progress]) -> State:
        """What a checkpoint holds of it: nothing."""
        return {}

    def restored(self, _: State | None) -> list[Progress]:
        """The passes before a checkpoint: unknown."""
        return []

    def remove(self) -> None:
        """Free what is held outside memory."""

    def met(self, history: Sequence[Progress]) -> None:
        """Take the number of the best pass from the scores of passes."""
        for p in history:
            self.since += 1
            if "dev" in p.scores and (self.number is None or p.scores["dev"] > self._score):
                self.number, self._score, self.since = p.done, p.scores["dev"], 0


@dataclass
class BestInCheckpoint(BestInMemory):
    """The weights of the best pass, in memory and in every checkpoint.

    A checkpoint also holds the scores of all passes so far, so that a training that continues keeps the same pass.

    scorer: that of the problem, which gets the weights; None: the weights are not those of a scorer
    """

    scorer: Any = None

    def packed(self, history: Sequence[Progress]) -> State:
        """The scores of all passes and the weights of the best one, if any was scored."""
        if self.made is None:
            return {}
        return {HISTORY: _text({"passes": _rows(history)}), **_arrays(self.made)}

    def restored(self, state: State | None) -> list[Progress]:
        """The passes before a checkpoint."""
        if state is None or HISTORY not in state:
            return []
        history = _passes(_read(state)["passes"])
        self.met(history)
        self.made = self._weights(state)
        return history

    def _weights(self, state: State) -> Any:
        """The weights in a checkpoint, as the learner makes them: see :func:`_arrays`."""
        if LINK in state:
            return ChoiceWeights(np.array(state[WEIGHTS]), np.asarray(state[LINK]).tobytes().decode())
        if WEIGHTS in state:
            return self.scorer.with_weights(np.array(state[WEIGHTS]))
        numbered = (f"{WEIGHTS}{n}" for n in count())
        return tuple(np.array(state[name]) for name in takewhile(state.__contains__, numbered))


@dataclass
class BestInFile(BestInMemory):
    """The weights of the best pass in a file, since a second table may not fit in memory.

    A checkpoint holds the scores of all passes so far, so that a training that continues from it keeps the same pass.
    """

    path: Path
    layout: Layout
    _digest: str = field(default="", init=False)

    def model(self, one: Pass) -> Any:
        """The model of a pass without a copy, if it can be had."""
        return super().model(one) if one.here is None else one.here()

    def keep(self, one: Pass, made: Linear) -> None:
        """Write the weights to the file; those of the last pass stay in memory."""
        if one.number == one.total:
            return
        self._digest = _checksum(made.w)
        with writing(self.path) as stream:
            stream.write(made.w.view(np.uint8).data)

    def in_file(self, last: Pass) -> bool:
        """Whether an earlier pass than the last is the best."""
        return self.number not in (None, last.number)

    def packed(self, history: Sequence[Progress]) -> State:
        """The scores of all passes and the checksum of the file."""
        return {HISTORY: _text({"passes": _rows(history), "digest": self._digest})}

    def restored(self, state: State | None) -> list[Progress]:
        """The passes before a checkpoint."""
        if state is None or HISTORY not in state:
            return []
        found = _read(state)
        history = _passes(found["passes"])
        self.met(history)
        self._digest = str(found["digest"])
        return history

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def read(self) -> Linear:
        """The weights in the file."""
        try:
            w = np.fromfile(self.path, np.float32)
        except OSError as e:
            raise ModelFileError(
                f"{self.path}: the weights of the best pass cannot be read: {e.strerror}; remove the checkpoint beside "
                "them to train again"
            ) from None
        if _checksum(w) != self._digest:
            raise ModelFileError(
                f"{self.path}: is damaged: the weights of the best pass do not match their checksum; remove the "
                "checkpoint beside them to train again"
            )
        return Linear(self.layout, w)


def _arrays(made: Any) -> dict[str, NDArray[Any]]:
    """The weights of a choice, of a scorer, or several arrays."""
    if isinstance(made, ChoiceWeights):
        return {WEIGHTS: made.w, LINK: np.frombuffer(made.link.encode(), np.uint8)}
    if isinstance(made, tuple):
        return {f"{WEIGHTS}{n}": array for n, array in enumerate(made)}
    return {WEIGHTS: made.w}


def _rows(history: Sequence[Progress]) -> list[Any]:
    return [[p.done, p.total, dict(p.scores)] for p in history]


def _passes(rows: Sequence[Any]) -> list[Progress]:
    return [Progress("pass", done, total, scores) for done, total, scores in rows]


def _text(found: dict[str, Any]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(found).encode(), np.uint8)


def _read(state: State) -> Any:
    return json.loads(np.asarray(state[HISTORY]).tobytes())


def _checksum(w: NDArray[np.float32]) -> str:
    return hashlib.blake2b(w.view(np.uint8).data, digest_size=16).hexdigest()
