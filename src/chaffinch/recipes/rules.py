"""Rules over transitions, for every chain recipe: forbidden transitions, required labels, and fixed values."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.knobs import knob
from chaffinch.model import LabelSet
from chaffinch.model.chain_weights import ChainWeights, Legal
from chaffinch.recipes.encoding import InnerLabels
from chaffinch.recipes.recipe import TaggingTask
from chaffinch.search.legality import (
    LEGAL,
    Legality,
    Need,
    label_states,
    parsed_fixed,
    seen_pairs,
)
from chaffinch.structures import Chain, Held, LabelStates, RuledChain, RuledLocalChain
from chaffinch.structures.ruled import unmet
from chaffinch.text.document import LABEL


class ForbiddenGold(DataError):
    """A gold labelling that breaks a rule.

    sentence, token: where, both counted from 0     rule: the broken rule
    """

    def __init__(self, sentence: int, token: int, rule: str) -> None:
        super().__init__(f"sentence {sentence + 1}, token {token + 1}: {rule}")
        self.sentence, self.token, self.rule = sentence, token, rule


@dataclass(frozen=True, kw_only=True)
class TransitionRules:
    """The knobs of the rules. Training and prediction search the same labellings."""

    constraints: bool = knob(True, "never predict a transition that the tag scheme forbids")
    legal: str = knob(
        "scheme",
        "allowed transitions: all, those of the tag scheme, or those seen in training",
        choices=LEGAL,
    )
    forbid: str = knob("", "further forbidden transitions, such as 'NAME->QTY, <s>->PREP, QTY-></s>'")
    need: str = knob("", "labels that need an earlier one, such as 'I needs B since SEP, X needs Y'")
    fixed: str | None = knob(
        None,
        "transitions that are not learnt, with their potentials: 'A->B=2.0, *-></s>'; no value: 0; *: every label",
    )


@dataclass(frozen=True, eq=False)
class LabelRules:
    """Rules over the inner labels of a task.

    legal:  masks of the allowed transitions, first labels and last labels; None: everything is allowed
    states: the states of labels that need an earlier label, and these needs
    held:   transitions with fixed values
    asked:  whether the user gave a rule; if so, training obeys all rules too
    """

    legal: Legal | None = None
    states: LabelStates | None = None
    needs: tuple[Need, ...] = ()
    held: Held | None = None
    asked: bool = False

    @classmethod
    def of(cls, config: TransitionRules, task: TaggingTask, inner: InnerLabels) -> "LabelRules":
        """The rules of a config; raises :class:`ForbiddenGold` if gold labels break them."""
        fixed = config.fixed if config.fixed and "->" in config.fixed else None
        asked = bool(config.forbid.strip() or config.need.strip() or fixed or config.legal == "seen")
        scheme = inner.legal if config.constraints and config.legal != "none" else None
        if not asked:
            return cls(scheme)
        if task.soft is not None:
            raise ConfigError("forbid, need, legal 'seen' and fixed transitions do not support soft labels")
        labels = inner.labels
        Y, outer, outer_of = len(labels.inner), list(labels.outer), labels.outer_of
        given = Legality.of(outer, forbid=config.forbid, need=config.need, lenient=task.fold)
        masks: list[Legal] = [] if scheme is None else [scheme]
        if config.legal == "seen":
            masks.append(seen_pairs(inner.y, task.table.ptr, Y))
        if given.follows is not None and given.starts is not None and given.ends is not None:
            both = np.ix_(outer_of, outer_of)
            masks.append((given.follows[both], given.starts[outer_of], given.ends[outer_of]))
        legal = None
        for mask in masks:
            legal = mask if legal is None else (legal[0] & mask[0], legal[1] & mask[1], legal[2] & mask[2])
        made = cls(
            legal,
            label_states(given.needs, labels) if given.needs else None,
            given.needs,
            _held(fixed, labels, task.fold) if fixed else None,
            True,
        )
        made.check(task, inner)
        return made

    def refined(self, labels: LabelSet) -> "LabelRules":
        """The rules for hidden labels, each of which refines one of the labels of these rules."""
        shows = labels.outer_of
        both = np.ix_(shows, shows)
        legal, held = self.legal, self.held
        return replace(
            self,
            legal=None if legal is None else (legal[0][both], legal[1][shows], legal[2][shows]),
            states=label_states(self.needs, labels) if self.needs else None,
            held=None if held is None else Held(held.pair[both], held.start[shows], held.end[shows]),
        )

    def chain(self, Y: int, order: int = 1) -> Chain | RuledChain:
        """The chain for learners of whole labellings."""
        follows, starts, ends = self.legal or (None, None, None)
        plain = Chain(Y, follows, starts, ends, order)
        if self.states is not None and order == 2:
            raise ConfigError("need works only with chains of order 1; set order to 1")
        return (
            plain if self.held is None and self.states is None else RuledChain(plain, self.held, self.states)
        )

    def local_chain(self, Y: int) -> RuledLocalChain:
        """The chain for learners that normalise label by label."""
        return RuledLocalChain(Chain(Y, *(self.legal or ())), self.held, self.states)

    def put_into(self, weights: ChainWeights) -> ChainWeights:
        """The weights with held transitions at their values and forbidden ones at minus infinity."""
        blocks: dict[str, Any] = {name: block.copy() for name, block in weights.shared().items()}
        if self.held is not None:
            blocks = {name: self.held.put_into(name, block) for name, block in blocks.items()}
        if self.legal is not None:
            follows, starts, ends = self.legal
            blocks["pair"][~follows] = -np.inf
            blocks["start"][~starts], blocks["end"][~ends] = -np.inf, -np.inf
        return replace(weights, **blocks)

    def check(self, task: TaggingTask, inner: InnerLabels) -> None:
        """Raise if gold labels break a rule; with partial labels, if no completion obeys the rules."""
        bounds = task.table.ptr.tolist()
        if inner.allowed is not None:
            chain = self.chain(len(inner.labels.inner))
            for n, (a, b) in enumerate(pairwise(bounds)):
                self._check_partial(chain, n, inner.allowed[a:b])
            return
        types, ids = task.table.columns[LABEL].types, task.table.columns[LABEL].ids
        y = inner.y

        def called(t: int) -> str:
            return types[ids[t]]

        for n, (a, b) in enumerate(pairwise(bounds)):
            if a == b:
                continue
            if self.legal is not None:
                follows, starts, ends = self.legal
                wrong = np.flatnonzero(~follows[y[a : b - 1], y[a + 1 : b]])
                if not starts[y[a]]:
                    raise ForbiddenGold(n, 0, f"<s> -> {called(a)} is forbidden")
                if len(wrong):
                    t = a + int(wrong[0])
                    raise ForbiddenGold(n, t + 1 - a, f"{called(t)} -> {called(t + 1)} is forbidden")
                if not ends[y[b - 1]]:
                    raise ForbiddenGold(n, b - 1 - a, f"{called(b - 1)} -> </s> is forbidden")
            if self.states is not None:
                barred = unmet(self.states, y[a:b], len(inner.labels.inner))[np.arange(b - a), y[a:b]]
                if len(at := np.flatnonzero(barred)):
                    label = called(a + int(at[0]))
                    rule = next((str(need) for need in self.needs if need.label == label), label)
                    raise ForbiddenGold(n, int(at[0]), f"{label} is forbidden here: {rule}")

    def _check_partial(self, chain: Chain | RuledChain, n: int, allowed: NDArray[np.bool_]) -> None:
        from chaffinch.structures import Parts

        potentials = Parts(unary=np.where(allowed, 0.0, -np.inf), pair=np.zeros((chain.Y, chain.Y)))
        try:
            chain.argmax(potentials)
        except DataError:
            raise ForbiddenGold(n, 0, "no labelling of this sentence obeys the rules") from None


def _held(text: str, labels: LabelSet, lenient: bool) -> Held:
    made = Held.none(len(labels.inner))
    for before, after, value in parsed_fixed(text, labels.outer, lenient=lenient):
        rows = slice(None) if before is None else np.isin(labels.outer_of, before)
        columns = slice(None) if after is None else np.isin(labels.outer_of, after)
        if before is not None and after is not None:
            made.pair[np.ix_(rows, columns)] = value  # type: ignore[arg-type]
        elif after is not None:
            made.start[columns] = value
        elif before is not None:
            made.end[rows] = value
    return made
