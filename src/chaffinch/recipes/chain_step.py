"""Take a few sentences into a chain whose recipe keeps no duals, near the weights that it has.

    min over w of  sum_n loss_n(w) + c2 |w - w_0|^2          n: the sentences of the lesson alone

The loss is the CRF's with a small margin, by dual ascent (``crf_memory.py``), whatever learner made w_0: a model of
which only the weights are known learns on in the same way. New words and labels get features.
"""

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from chaffinch.errors import ChaffinchError
from chaffinch.model import TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.recipes.crf import solved
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.crf_memory import CrfMemory, can_learn_on
from chaffinch.recipes.token_step import gives_gold
from chaffinch.text.table import TokenTable

# Penalties of the change, from strong to weak: the strongest that makes the sentences right is used.
PENALTIES = (8.0, 2.0, 0.5, 0.1)


def takes_chain_steps(model: TaggingModel) -> TypeGuard[ChainModel]:
    """Whether dual ascent can change the weights of a model."""
    return isinstance(model, ChainModel) and not model.needs and can_learn_on(model, Crf(c2=PENALTIES[0]))


def corrected_chain(
    model: TaggingModel, lesson: TokenTable, constraints: bool, seed: int, threads: int
) -> TaggingModel | None:
    """The chain that gives these sentences their labels; None if its weights cannot be changed so, or it takes more.

    constraints: whether transitions that the tag scheme forbids stay forbidden
    """
    config = Crf(c2=PENALTIES[0], margin=1.0, recall=1.0, min_weight=0.0, constraints=constraints)
    if not takes_chain_steps(model):
        return None
    try:
        memory = CrfMemory.around(model, config, seed)
        memory = memory.with_sentences(lesson, np.ones(lesson.n_sentences, np.float32), threads)
    except ChaffinchError:  # the labels are in another scheme
        return None
    for c2 in PENALTIES:
        trained = solved(replace(memory, chosen=replace(memory.chosen, c2=c2)))
        if gives_gold(trained.model, lesson, threads):
            made: TaggingModel = trained.model
            return made
    return None
