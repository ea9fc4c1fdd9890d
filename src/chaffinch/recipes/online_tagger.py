"""What taggers that learn online share: their knobs, the rule that they name, and which epoch is kept."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from chaffinch.knobs import knob
from chaffinch.learners.arow import Arow
from chaffinch.learners.mira import Mira, PassiveAggressive
from chaffinch.learners.online import OnlineLearner
from chaffinch.learners.perceptron import Perceptron
from chaffinch.model import TaggingModel
from chaffinch.progress import Progress
from chaffinch.recipes.driving import Step, followed
from chaffinch.recipes.encoding import INSIDE, TemplateFeatures
from chaffinch.recipes.recipe import TaggingTask, Trained

RULES = ("perceptron", "pa", "mira", "arow")


@dataclass(frozen=True, kw_only=True)
class OnlineTagger(TemplateFeatures):
    """Knobs of all taggers that learn online."""

    epochs: int = knob(10, "passes over the training data at most", low=1)
    patience: int = knob(5, "with dev data: epochs without a better score before stopping", low=1)
    average: bool = knob(True, "the mean of the weights over all steps instead of the last")
    inside: str = knob("auto", "auto: BIO labels are learnt as BIOES", choices=INSIDE)


def trained(
    epochs: Iterator[tuple[float, Callable[[], TaggingModel]]], task: TaggingTask, config: OnlineTagger
) -> Trained:
    """The last model, or with dev data the best; on_epoch and patience may stop early.

    epochs: of each its share of mistakes, and the model as it is then
    """
    kept: TaggingModel | None = None
    last: Callable[[], TaggingModel] | None = None

    def keep(model: TaggingModel) -> None:
        nonlocal kept
        kept = model

    def steps() -> Iterator[Step]:
        nonlocal last
        for number, (wrong, last) in enumerate(epochs, 1):
            yield Step(Progress("epoch", number, config.epochs, {"wrong": wrong}), last)

    history = followed(steps(), task, config.patience, keep)
    assert last is not None
    return Trained(kept or last(), history)


def named_learner(config: Any, seed: int, k: int = 1) -> OnlineLearner:
    """The learner that a config's rule names."""
    shared: dict[str, Any] = {"epochs": config.epochs, "seed": seed, "average": config.average}
    match config.rule:
        case "perceptron":
            return Perceptron(**shared)
        case "pa":
            return PassiveAggressive(C=config.C, **shared)
        case "mira":
            return Mira(C=config.C, k=k, **shared)
        case _:
            return Arow(r=config.r, **shared)
