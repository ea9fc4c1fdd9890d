"""What a parser is trained on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from chaffinch.model.parsing import ParsingModel
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.text.document import Tree


@dataclass(frozen=True)
class ParsingTask:
    """Trees without traces and function tags."""

    trees: Sequence[Tree]
    seed: int = 0
    threads: int = 0
    on_epoch: Listener = keep_going


@dataclass(frozen=True)
class TrainedParser:
    """A model, and the progress that was reported on the way."""

    model: ParsingModel
    history: list[Progress] = field(default_factory=list)
