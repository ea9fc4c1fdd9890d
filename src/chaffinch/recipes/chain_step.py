"""Take a few sentences into a chain whose recipe keeps no duals, near the weights that it has.

    min over w of  sum_n loss_n(w) + c2 |w - w_0|^2          n: the sentences of the lesson alone

The loss is the CRF's with a small margin, by dual ascent (``crf_memory.py``), whatever learner made w_0: a model of
which only the weights are known learns on in the same way. New words and labels get features.
"""

from dataclasses import replace

import numpy as np

from chaffinch.errors import ChaffinchError
from chaffinch.model import TaggingModel
from chaffinch.model.chain import ChainModel
from chaffinch.recipes.crf import solved
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.crf_memory import CrfMemory, can_learn_on
from chaffinch.recipes.recipe import Trained
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable

# Penalties of the change, from strong to weak: the strongest that makes the sentences right is used.
PENALTIES = (8.0, 2.0, 0.5, 0.1)


def corrected_chain(
    model: TaggingModel, lesson: TokenTable, constraints: bool, seed: int, threads: int
) -> Trained | None:
    """The chain that gives these sentences their labels; None if its weights cannot be changed so, or it takes more.

    constraints: whether transitions that the tag scheme forbids stay forbidden
    """
    if not isinstance(model, ChainModel) or model.needs:
        return None
    config = Crf(c2=PENALTIES[0], margin=1.0, recall=1.0, min_weight=0.0, constraints=constraints)
    if not can_learn_on(model, config):
        return None
    try:
        memory = CrfMemory.around(model, config, seed)
        memory = memory.with_sentences(lesson, np.ones(lesson.n_sentences, np.float32), threads)
    except ChaffinchError:  # the labels are in another scheme
        return None
    for c2 in PENALTIES:
        trained = solved(replace(memory, chosen=replace(memory.chosen, c2=c2)))
        if _is_right(trained.model, lesson, threads):
            return Trained(trained.model, trained.history)
    return None


def _is_right(model: TaggingModel, table: TokenTable, threads: int) -> bool:
    """Whether every token gets its label."""
    column, place = table.columns[LABEL], {label: i for i, label in enumerate(model.labels.outer)}
    y = np.array([place.get(t, -1) for t in column.types], np.int32)[column.ids]
    return np.array_equal(model.decode(table, threads), y)
