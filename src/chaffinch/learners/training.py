"""The training loop: it runs the passes of any learner for every recipe.

It reports each pass, scores it on held-out data, stops, keeps the best pass and writes checkpoints.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

from chaffinch import modelfile
from chaffinch.errors import ConfigError
from chaffinch.learners.best_pass import BestInCheckpoint, BestInMemory
from chaffinch.learners.problem import Pass, Problem, State, Trains
from chaffinch.progress import Listener, Progress, going_on, keep_going

PATIENCE = 3
CHECKPOINT = "checkpoint"


@dataclass(frozen=True)
class Training:
    """The result of the last pass, or of the best on held-out data, and the progress that was reported.

    shards: how it was trained in shards; None: it was not
    """

    made: Any
    history: list[Progress] = field(default_factory=list)
    shards: Any = None


def train_passes(
    learner: Trains,
    problem: Problem,
    *,
    threads: int = 0,
    model: Callable[[Any], Any] = lambda made: made,
    on_epoch: Listener = keep_going,
    held_out_score: Callable[[Any], float] | None = None,
    patience: int = PATIENCE,
    checkpoint: "Checkpoint | None" = None,
    scored: Callable[[Any], Any] | None = None,
    best: BestInMemory | None = None,
) -> Training:
    """Run passes until the learner is done, the listener returns False, or the held-out score stops improving.

    model:          makes a model of a pass's result, for the held-out score and for the listener
    scored:         makes the model for the held-out score, if it is a smaller one
    held_out_score: scores a model; the best pass is kept, and training stops ``patience`` passes after it
    checkpoint:     written after every pass; training continues from it if it exists
    best:           keeps the best pass; None: in memory, and in the checkpoint
    """
    if best is None:
        kept = checkpoint is not None and held_out_score is not None
        best = BestInCheckpoint(problem.scorer) if kept else BestInMemory()
    states = [None if checkpoint is None else checkpoint.load()]
    history = best.restored(states[0])
    scored_before = {p.done for p in history}
    passes = learner.passes(
        problem, threads, states.pop()
    )  # it alone holds the state, so that it can free it
    one: Pass | None = None
    last: Pass | None = None
    shown: Progress | None = None
    stopping = best.number is not None and best.since >= patience  # before it was interrupted
    for one in () if stopping else passes:
        if one.part is not None:
            if checkpoint is not None and checkpoint.due():
                checkpoint.save_pass(learner, one, best.packed(history))
            done, of = one.part
            whole = None if one.total is None else one.total * of
            shown = Progress("block", (one.number - 1) * of + done, whole, dict(one.scores))
            stopping = not going_on(on_epoch, shown) or stopping
            continue
        last = one
        if one.number in scored_before:
            break  # the checkpoint is of the last pass, which was scored before
        scores = dict(one.scores)
        if held_out_score is not None and one.model is not None:
            made = best.model(one)
            scores["dev"] = held_out_score((scored or model)(made))
            best.compare(one, made, scores["dev"])
            del made
        history.append(Progress("pass", one.number, one.total, scores))
        scored_before.add(one.number)
        if checkpoint is not None:
            checkpoint.save_pass(learner, one, best.packed(history))
        shown = history[-1] if one.model is None else replace(history[-1], model=_modelled(model, one.model))
        stopping = not going_on(on_epoch, shown) or stopping
        if one.model is not None and (stopping or best.since >= patience):
            break
    close = getattr(passes, "close", None)
    if close is not None:
        close()  # frees the learner's memory before the model is made
    if last is None and best.number is None:
        raise ConfigError(
            f"{type(learner).__name__} made no pass: the checkpoint is of a finished training; remove it to train again"
        )
    if last is None or best.in_file(last):
        one = last = shown = None  # frees the weights of the last pass
        made = best.read()
    else:
        made, further = _finished(last, best.made)
        history[-1] = replace(history[-1], scores={**history[-1].scores, **further})
    if checkpoint is not None:
        checkpoint.remove()
    best.remove()
    return Training(made, history)


def _finished(last: Pass, best: Any) -> tuple[Any, Mapping[str, float]]:
    """The model of the best pass, or else of the last one, after its ``finish``; and further scores."""
    if last.finish is not None:
        return last.finish(best)
    assert last.model is not None
    return last.model() if best is None else best, {}


def _modelled(model: Callable[[Any], Any], made: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: model(made())


# Within a pass a checkpoint is written after this many times the duration of the last one, at least this many seconds.
CHECKPOINT_SHARE = 20
CHECKPOINT_SECONDS = 0.5


@dataclass
class Checkpoint:
    """A file of arrays that belongs to one training: the same data, settings and seed.

    asked: the fingerprint of all that the training depends on, held-out data included
    """

    path: str
    asked: str
    _saved: float = field(default_factory=monotonic, repr=False)
    _took: float = field(default=0.0, repr=False)

    def due(self) -> bool:
        """Whether it is time for another checkpoint within a pass."""
        return monotonic() - self._saved > max(CHECKPOINT_SECONDS, CHECKPOINT_SHARE * self._took)

    def load(self) -> State | None:
        """The last saved state; None if there is none. A checkpoint of another training is refused."""
        if not Path(self.path).exists():
            return None
        file = modelfile.read(self.path)
        if file.header.recipe != CHECKPOINT or file.header.data != self.asked:
            raise ConfigError(
                f"{self.path}: is not a checkpoint of this training (its data, settings or seed differ); "
                "remove it, or name another file"
            )
        return file.arrays

    def save_pass(self, learner: Trains, one: Pass, more: State) -> None:
        """Save the state of a pass, unless it is too early, and further arrays."""
        if one.state is None:
            raise ConfigError(
                f"{type(learner).__name__} cannot continue from a checkpoint; leave out the checkpoint"
            )
        if kept := one.state():
            self.save({**kept, **more})

    def save(self, arrays: State) -> None:
        """Replace the file; an interruption leaves the old one."""
        began = monotonic()
        modelfile.write(self.path, modelfile.Header(recipe=CHECKPOINT, data=self.asked), arrays, {})
        self._saved = monotonic()
        self._took = self._saved - began

    def remove(self) -> None:
        """Remove the file: the training is done."""
        Path(self.path).unlink(missing_ok=True)
