"""Which learner a CRF is trained by."""

from chaffinch.errors import ConfigError
from chaffinch.learners.likelihood import MOST_DUAL_BYTES, Lbfgs, LikelihoodLearner, Sdca, Sgd
from chaffinch.recipes.crf_config import Crf, Settled

SGD_PASSES = 5

# From so many sentences on five passes of SGD are enough for a margin.
MANY_SENTENCES = 1000


def chosen_learner(
    config: Crf, chosen: Settled, sentences: int, dual_bytes: int | None, goes_on: bool = False
) -> LikelihoodLearner:
    """The learner that the config asks for, or the one that fits.

    sentences:  how many there are to learn from
    dual_bytes: what dual ascent would keep in memory; None: the problem is not one for it
    goes_on:    training starts from weights that are not zero
    """
    name, c2 = config.optimiser, chosen.c2
    dual = dual_bytes is not None and config.c1 == 0 and c2 > 0
    if name == "sdca" and not dual:
        raise ConfigError(
            "Crf.optimiser 'sdca' needs c1 = 0, c2 > 0, order 1, known labels, no template with y[-1] and no model "
            "to go on from; use 'auto', 'sgd' or 'lbfgs'"
        )
    if name in ("fast", "sgd") and config.c1 > 0:
        raise ConfigError(f"Crf.optimiser {name!r} needs c1 = 0; use 'auto' or 'lbfgs'")
    precise = name == "precise"
    if name in ("auto", "precise"):
        # With a margin dual ascent takes many more passes than the five of SGD, which do as well on many sentences.
        quick = precise or not chosen.margin or sentences < MANY_SENTENCES
        fits = dual_bytes is not None and dual_bytes <= MOST_DUAL_BYTES
        name = (
            "sdca" if dual and fits and quick else "lbfgs" if precise or config.c1 > 0 or c2 == 0 else "sgd"
        )
    if name == "sdca":
        return Sdca(
            c2=c2,
            passes_at_most=config.passes or (40 if precise else 20),
            tolerance=config.tolerance if config.tolerance is not None else 0.001 if precise else 0.02,
            still=0.0 if precise else 0.001,
            finish=Lbfgs(c2=c2, tolerance=1e-6 if precise else 1e-4, fisher=True)
            if not config.passes
            else None,
        )
    if name == "lbfgs":
        return Lbfgs(
            c1=config.c1,
            c2=c2,
            steps_at_most=config.passes or 500,
            tolerance=config.tolerance if config.tolerance is not None else 1e-6 if precise else 1e-4,
            start=None if goes_on else Sgd(c2=c2, rate=chosen.rate),
        )
    return Sgd(c2=c2, epochs=config.passes or SGD_PASSES, rate=chosen.rate)
