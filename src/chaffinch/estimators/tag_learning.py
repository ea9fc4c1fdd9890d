"""Incremental learning of a tagger: it learns or forgets sentences and keeps its other answers."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators.inputs import SampleWeight, counting
from chaffinch.estimators.learnt import (
    Learnt,
    contradicted,
    contradiction_remark,
    mistakes_remark,
    sentence_strings,
)
from chaffinch.estimators.sentences import Sentences, known_labels, sentence_weights, table_of, word_columns
from chaffinch.estimators.tag_predictions import TagPredictions
from chaffinch.model import TaggingModel
from chaffinch.model.protocols import Tempered
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes import TAGGERS, TaggingTask
from chaffinch.recipes.recipe import Change, Trained, are_corrections
from chaffinch.recipes.token_step import (
    corrected_chain,
    corrected_tokens,
    gives_gold,
    takes_chain_steps,
    takes_token_steps,
)
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable

# A counting recipe refuses a lesson of a few sentences if it changes more than this share of other sentences.
FEW_CHANGES = 0.005
WATCHED = 500  # learnt sentences whose answers are compared


def _few(sentences: int) -> int:
    """The number of sentences that are learnt near the weights: 1% of all, at least one."""
    return max(1, sentences // 100)


def _sampled(learnt: Learnt) -> TokenTable:
    """Some of the learnt sentences, evenly spaced."""
    assert learnt.table is not None
    N = learnt.table.n_sentences
    return learnt.table.taken(np.arange(min(N, WATCHED)) * N // max(min(N, WATCHED), 1))


def _answers(model: TaggingModel, table: TokenTable, threads: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The labels of tokens, and the bounds of sentences."""
    return np.array(model.labels.outer)[model.decode(table, threads)], table.ptr


def _changed_share(
    before: tuple[NDArray[Any], NDArray[np.int64]], after: tuple[NDArray[Any], NDArray[np.int64]]
) -> float:
    """The share of sentences with a changed answer."""
    changed = np.concatenate([[0], np.cumsum(before[0] != after[0])])[before[1]]
    return float(np.mean(np.diff(changed) > 0)) if len(before[1]) > 1 else 0.0


def _needs_all(recipe: str) -> ConfigError:
    return ConfigError(
        f"this model of the recipe {recipe} cannot continue training without its training data; retrain it on all data"
    )


def _refusal(recipe: str) -> ConfigError:
    able = ", ".join(one.name for one in TAGGERS if one.near)
    return ConfigError(
        f"the counts of the recipe {recipe} cannot learn this correction without changing the answers of other "
        f"sentences; the model is unchanged. These recipes can: {able}"
    )


STILL_WRONG = (
    "other sentences, rules or weights that are held contradict it; forget sentences that contradict it, or add "
    "features that distinguish it from them"
)

# The attributes that a lesson changes.
LEARNT_STATE = ("model_", "history_", "fingerprint_", "trained_on_", "_memory", "_learnt", "_stepped")


@dataclass(frozen=True)
class Before:
    """A tagger before its last lesson.

    known: the number of sentences known then; the lesson added others, and replaced or reweighted none of them
    state: its attributes
    """

    known: int
    state: dict[str, Any]

    def undoes(self, dropped: NDArray[np.bool_]) -> bool:
        """Whether forgetting these sentences is undoing the lesson."""
        return not dropped[: self.known].any() and bool(dropped[self.known :].all())


class TagLearning(TagPredictions):
    """Incremental learning and forgetting."""

    # For partial_fit: the sentences learnt so far, and the data of fit; a recipe's memory is ``_memory``.
    _learnt: Learnt | None = None
    _trained_on: tuple[TokenTable, NDArray[np.float32] | None] | None = None
    _features: Any = None  # of the last fit, given or chosen
    _stepped: int = 0  # sentences learnt near the weights since the last training on all sentences

    @abstractmethod
    def _learn(
        self,
        X: Sentences,
        y: Sequence[Sequence[Any]] | None,
        dev: tuple[Sentences, Sequence[Sequence[str]]] | TokenTable | None,
        sample_weight: SampleWeight,
        on_epoch: Listener,
    ) -> Self:
        """The first training."""

    def partial_fit(
        self,
        X: Sentences,
        y: Sequence[Sequence[Any]] | None = None,
        *,
        sample_weight: SampleWeight = None,
        on_epoch: Listener = keep_going,
    ) -> Self:
        """Train on further sentences besides all earlier ones; new words and labels get features.

        A sentence that is known with the same labels changes nothing, unless the tagger still gets it wrong: then its
        weight doubles. A sentence that is known with other labels replaces the earlier one, also within one lesson,
        with a :class:`DataWarning`. Up to 20 sentences, or 1% of all, are corrections: a :class:`DataWarning` names
        those that are still wrong afterwards.

        A CRF that was trained by dual ascent moves to the optimum of all sentences; one that was loaded, or trained
        otherwise, stays as near its weights as the further sentences allow. The weight of corrections that are still
        wrong doubles until they are right, up to 32. Other recipes learn a few sentences by the
        smallest change of their weights that tags them correctly. Once these sentences are more than 1% of all, and for
        larger lessons, they train on all sentences. Loaded from a file, they learn all sentences by such changes, with
        a :class:`DataWarning` if these are many. hmm and emission count again, so they cannot continue after loading
        from a file; they refuse a sentence if they cannot tag it correctly without changing the answers of more than
        0.5% of the others.
        """
        if not hasattr(self, "model_"):
            return self._learn(X, y, None, sample_weight, on_epoch)
        table = known_labels(X, y, self.columns_)
        self._table(table)
        learnt = self._remember()
        weight, number = sentence_weights(sample_weight, table), np.arange(table.n_sentences)
        if weight is not None and (kept := counting(weight)) is not None:
            table, weight, number = table.taken(kept), weight[kept], number[kept]
        if found := contradicted(sentence_strings(table, self.columns_), sentence_strings(table, [LABEL])):
            named = {int(number[a]): int(number[b]) for a, b in found.items()}
            warn_about_data(contradiction_remark(named, "sentences"))
            kept = np.delete(np.arange(table.n_sentences), list(found))
            table, weight, number = table.taken(kept), None if weight is None else weight[kept], number[kept]
        right = self._right(table)
        known = learnt
        change, learnt = known.taught(table, self.columns_, weight, right)
        before = None
        if change is not None and not change.dropped.any() and np.array_equal(change.weight, known.weight):
            state = {name: getattr(self, name) for name in LEARNT_STATE}
            before = Before(len(known.texts), {**state, "_learnt": known})
        sure = False
        if change is not None:
            lesson = table.of_sentences(~right)
            sure = self._changed(change, learnt, on_epoch, lesson, table.n_sentences) and not self.rules_
            self._before = before
        from_file = learnt.table is None and self._memory is None
        if not sure and (from_file or are_corrections(table.n_sentences, len(learnt.texts))):
            wrong = number[~self._right(table)].tolist()
            if wrong:
                warn_about_data(mistakes_remark(wrong, table.n_sentences, "sentences", STILL_WRONG))
        return self

    def _right(self, table: TokenTable) -> NDArray[np.bool_]:
        """Whether each sentence gets its labels: bool [sentences]."""
        pairs = zip(self.predict(table), table.lists(LABEL), strict=True)
        return np.array([found == gold for found, gold in pairs], bool)

    def forget(self, X: Sentences, y: Sequence[Sequence[Any]] | None = None) -> Self:
        """Remove sentences from the training data, as if never learnt; if labels are given, only sentences with them.

        If these are the sentences that the last lesson added, and it changed no others, the tagger is again exactly as
        before that lesson. Otherwise training continues without them, to within its tolerance. A tagger loaded from a
        file can forget what it learnt since.

        >>> from chaffinch import Tagger
        >>> tagger = Tagger("crf", features=["w[0]"]).fit([["a", "b"]] * 3, [["A", "B"]] * 3)
        >>> tagger.partial_fit([["c"]], [["A"]]).forget([["c"]]).classes_.tolist()
        ['A', 'B']
        """
        self._fitted()
        learnt = self._remember()
        labelled = y is not None or (isinstance(X, TokenTable) and LABEL in X.columns)
        table = known_labels(X, y, self.columns_) if labelled else table_of(X, self.columns_)
        golds = sentence_strings(table, [LABEL]) if labelled else None
        change, learnt = learnt.forgotten(sentence_strings(table, self.columns_), golds)
        if change is None:
            raise DataError(
                "expected sentences that were learnt, found none of them: there is nothing to forget"
            )
        if self._before is not None and self._before.undoes(change.dropped):
            vars(self).update(self._before.state, _before=None)
            return self
        self._changed(change, learnt, keep_going)
        return self

    def _remember(self) -> Learnt:
        """The sentences learnt so far; afterwards the recipe has a memory, or the tagger holds all sentences."""
        if self._learnt is not None:
            return self._learnt
        recipe = TAGGERS.by_config(self.config_)
        sparse = (
            getattr(self.config_, "c1", 0.0) > 0 and self._trained_on is not None
        )  # retrained, to stay sparse
        if self._memory is None and recipe.remember is not None and not sparse:
            self._memory = recipe.remember(self.model_, self.config_, self.seed)
            if self._memory is not None:
                self._learnt = Learnt()
                return self._learnt
        if self._trained_on is None:
            if recipe.near and takes_token_steps(self.model_):
                return Learnt()
            raise _needs_all(recipe.name)
        table, weight = self._trained_on
        if self._memory is not None:
            weight = self._memory.weight  # times those of classes
        return Learnt.of(table, self.columns_, weight)

    def _changed(
        self,
        change: Change,
        learnt: Learnt,
        on_epoch: Listener,
        lesson: TokenTable | None = None,
        taught: int = 0,
    ) -> bool:
        """Change the training data; whether the lesson is known to be right afterwards.

        lesson: those sentences of the lesson that the tagger gets wrong; None: the change forgets sentences
        taught: the number of sentences to learn, right or wrong
        """
        recipe = TAGGERS.by_config(self.config_)
        if self._memory is not None and recipe.learn_on is not None:
            trained = recipe.learn_on(self._memory, change, self.threads)
        elif (near := self._near(change, learnt, lesson, taught)) is not None:
            trained = near
        else:
            trained, learnt = self._train_on_all(learnt, on_epoch, lesson, taught)
            self._stepped = 0
        if trained.model is not self.model_:
            model, temperature = trained.model, getattr(self.model_, "temperature", 1.0)
            if isinstance(model, Tempered) and temperature != 1:
                model = model.with_temperature(temperature)
            self.model_, self.history_ = model, trained.history
        if trained.memory is not None:
            learnt = learnt.weighing(trained.memory.weight)
        self._memory, self._learnt = trained.memory, learnt
        fresh = slice(len(learnt.texts) - (0 if change.fresh is None else change.fresh.n_sentences), None)
        self.fingerprint_ = modelfile.fingerprint(
            [self.fingerprint_], change.dropped, change.weight, learnt.texts[fresh], learnt.golds[fresh]
        )
        self.trained_on_ = {}  # unknown for a loaded model
        self._before = None
        return trained.all_right

    def _near(self, change: Change, learnt: Learnt, lesson: TokenTable | None, taught: int) -> Trained | None:
        """Learn a few sentences near the weights; None if they are too many, or if some stay wrong.

        Once the sentences learnt this way are more than 1% of all, training on all sentences is due.
        """
        if learnt.table is None:
            return self._near_file(lesson, taught)
        if lesson is None:
            return None
        near = TAGGERS.by_config(self.config_).near
        if not near or self._stepped + taught > _few(len(change.weight)):
            return None
        model = self._near_weights(self.model_, lesson, learnt)
        if model is None:
            return None
        self._stepped += taught
        return Trained(model, self.history_)

    def _near_file(self, lesson: TokenTable | None, taught: int) -> Trained:
        """Learn sentences near the weights of a file, without learnt sentences in memory.

        If not all can be right together, each is learnt alone, and those that cannot be are left out.
        """
        if lesson is None:
            raise _needs_all(TAGGERS.by_config(self.config_).name)
        known = self.trained_on_.get("sentences", 0)
        if known and not are_corrections(taught, known):
            warn_about_data(
                f"{taught:,} sentences were learnt by small changes of a model of {known:,} sentences that are not in "
                "memory: training on all of them together usually gives a better model"
            )
        model = self._near_weights_of_file(self.model_, lesson)
        if model is None:
            model = self.model_
            for n in range(lesson.n_sentences if lesson.n_sentences > 1 else 0):
                alone = lesson.taken(np.array([n]))
                if not gives_gold(model, alone, self.threads):
                    model = self._near_weights_of_file(model, alone) or model
        return Trained(model, self.history_)

    def _near_weights_of_file(self, model: TaggingModel, lesson: TokenTable) -> TaggingModel | None:
        if lesson.n_sentences == 0:
            return model
        made = corrected_tokens(model, lesson, None, self.threads)
        constraints = getattr(self.config_, "constraints", True)
        return made or corrected_chain(model, lesson, constraints, self.seed, self.threads)

    def _near_weights(self, model: TaggingModel, lesson: TokenTable, learnt: Learnt) -> TaggingModel | None:
        """Among models near ``model`` that get the lesson right, the one that changes the fewest learnt answers."""
        if lesson.n_sentences == 0:
            return model
        watched = _sampled(learnt)
        if not takes_chain_steps(model):
            return corrected_tokens(model, lesson, watched, self.threads)
        before = _answers(model, watched, self.threads)
        best: tuple[float, TaggingModel] | None = None
        for made in self._steps(model, lesson, watched):
            moved = _changed_share(before, _answers(made, watched, self.threads))
            if best is None or moved < best[0]:
                best = moved, made
            if moved <= 1 / WATCHED:
                break
        return None if best is None else best[1]

    def _steps(self, model: TaggingModel, lesson: TokenTable, watched: TokenTable) -> Iterator[TaggingModel]:
        """Models near ``model`` that get the lesson right."""
        if (made := corrected_tokens(model, lesson, watched, self.threads)) is not None:
            yield made
        constraints = getattr(self.config_, "constraints", True)
        if (made := corrected_chain(model, lesson, constraints, self.seed, self.threads)) is not None:
            yield made

    def _train_on_all(
        self, learnt: Learnt, on_epoch: Listener, lesson: TokenTable | None, taught: int
    ) -> tuple[Trained, Learnt]:
        """Train on all sentences; a lesson of a few sentences is either learnt or refused."""
        if learnt.table is None or not learnt.table.n_sentences:
            raise DataError("expected at least one sentence left to train on, found none")
        recipe = TAGGERS.by_config(self.config_)
        few = taught <= _few(learnt.table.n_sentences)
        watched = _sampled(learnt)
        while True:
            assert learnt.table is not None
            uneven = "weight" in recipe.options and bool((learnt.weight != 1).any())
            task = TaggingTask(
                table=learnt.table,
                columns=word_columns(self.columns_),
                features=self._features,
                seed=self.seed,
                threads=self.threads,
                on_epoch=on_epoch,
                weight=learnt.weight if uneven else None,
                keep=True,
            )
            trained = TAGGERS.train(task, self.config_)
            if not few or lesson is None or gives_gold(trained.model, lesson, self.threads):
                break
            if recipe.near:
                model = self._near_weights(trained.model, lesson, learnt)
                trained = trained if model is None else replace(trained, model=model, memory=None)
                break
            wrong = np.zeros(lesson.n_sentences, bool)
            change, learnt = learnt.taught(lesson, self.columns_, None, wrong)
            if change is None:
                raise _refusal(recipe.name)
        if few and lesson is not None and not recipe.near:
            moved = _changed_share(
                _answers(self.model_, watched, self.threads), _answers(trained.model, watched, self.threads)
            )
            if moved > FEW_CHANGES:
                raise _refusal(recipe.name)
        return trained, learnt
