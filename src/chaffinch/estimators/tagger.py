"""The tagger: labels for the tokens of sentences, by any recipe, as a scikit-learn estimator."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.cache import Cache
from chaffinch.defaults.tags import Settled, choose
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators.learnt import Learnt, sentence_strings
from chaffinch.estimators.sentences import (
    UNKNOWN,
    Sentences,
    given_labels,
    held_out_sentences,
    known_labels,
    labelled,
    sentence_weights,
    sentences_fingerprint,
    sentences_of,
    soft_of,
    table_of,
    unread_remarks,
    word_columns,
)
from chaffinch.estimators.streams import cached_sentences, is_stream, pairs, sentence_tables
from chaffinch.estimators.tag_predictions import TagPredictions
from chaffinch.estimators.weights import SampleWeight, counting
from chaffinch.model import LabelSet, TaggingModel
from chaffinch.model.protocols import Packed, Tempered
from chaffinch.model.ruled import under_rules
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes import DEFAULT_TAGGER, TAGGERS, TaggingTask
from chaffinch.recipes.calibration import calibrate
from chaffinch.recipes.chain_step import corrected_chain
from chaffinch.recipes.crf_blocks import CachedTask, train_blocks
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.recipe import Change, Trained
from chaffinch.recipes.token_step import HELD, corrected_tokens, gives_gold
from chaffinch.search.label_rules import OF_TOKENS, Rule, RuleBook, rules_as_data, rules_of
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable


class Tagger(TagPredictions):
    """Labels for the tokens of sentences.

    recipe:   a recipe's name, or its config with knobs set: ``Tagger("hmm")``, ``Tagger(Hmm(order=1))``; None: the one
              that does best on held-out folds of small data, crf for others
    features: a preset's name, a file of templates or a list of them; None: the recipe's own choice
    choose:   choose what is not given by cross-validation within the training data, if it has 100 sentences or more and
              at most 60,000 tokens; None: if no recipe is given
    folds:    models trained to calibrate probabilities on sentences that they have not seen; None: five or three for
              small data, one for large; 0: no calibration
    rules:    rules that answers obey, such as ``once("QTY")``; see :mod:`chaffinch.rules`
    seed:     seed of the order of examples
    threads:  0 for all cores; the result does not depend on it

    Tokens are strings, or tuples of a word and further columns. They may also bring along features of their own: a
    token is then a dict (``{"word.lower()": "tea", "cap": True, "length": 3.0}``), a list of strings, or a tuple of a
    word and such a dict or set; ``features="own"`` leaves templates out if there are words as well.

    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
    >>> y = [["DET", "NOUN", "VERB"]] * 3
    >>> tagger = Tagger("hmm").fit(X, y)
    >>> tagger.predict([["the", "bird", "sings"]])
    [['DET', 'NOUN', 'VERB']]
    """

    task = None

    def __init__(
        self,
        recipe: Any = None,
        *,
        features: str | Sequence[str] | None = None,
        choose: bool | None = None,
        folds: int | None = None,
        rules: Sequence[Rule] = (),
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        super().__init__(recipe, seed=seed, threads=threads)
        self.features = features
        self.choose = choose
        self.folds = folds
        self.rules = rules

    # What partial_fit needs: a recipe's memory, the sentences learnt so far, and the data of fit.
    _learnt: Learnt | None = None
    _trained_on: tuple[TokenTable, NDArray[np.float32] | None] | None = None
    _features: Any = None  # of the last fit, given or chosen
    _stepped: int = 0  # sentences that were learnt near the weights since the last training on all of them

    # -- learning ---------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Sentences,
        y: Sequence[Sequence[Any]] | None = None,
        *,
        dev: tuple[Sentences, Sequence[Sequence[str]]] | TokenTable | None = None,
        sample_weight: SampleWeight = None,
        cache: str | Path | None = None,
        on_epoch: Listener = keep_going,
    ) -> "Tagger":
        """Learn from sentences and their labels; a token table may hold the labels as its column ``y``.

        An iterator of pairs (sentence, labels), a reader of Arrow's batches and a :class:`Cache` are learnt block by
        block, so that they need not fit in memory; so are all sentences if ``cache`` names a folder for their ids. Such
        a CRF is found by SGD, nothing is chosen by cross-validation, and probabilities are not calibrated.

        ``sample_weight`` scales the loss of each sentence: 2 counts as much as the sentence given twice, 0 as its
        absence. Recipes without a loss refuse it, hmm and emission count and need whole numbers. A label may be None
        (not known) or a mapping from labels to probabilities if the recipe can use it: crf can.
        """
        if cache is None and not isinstance(X, Cache) and not is_stream(X, y):
            return self._learn(X, y, dev, sample_weight, on_epoch)
        if sample_weight is not None:
            raise ConfigError("sample_weight needs training in memory: leave it out, or give lists")
        held_out = None if dev is None or isinstance(dev, TokenTable) else held_out_sentences(*dev)
        held_out = dev if isinstance(dev, TokenTable) else held_out
        if isinstance(X, Cache):
            return self.fit_cache(X, dev=held_out, on_epoch=on_epoch)
        tables = iter([labelled(X)]) if isinstance(X, TokenTable) else sentence_tables(pairs(X, y))
        with cached_sentences(tables, cache) as made:
            return self.fit_cache(made, dev=held_out, on_epoch=on_epoch)

    def fit_cache(
        self,
        cache: Cache,
        *,
        dev: TokenTable | None = None,
        checkpoint: Path | None = None,
        on_epoch: Listener = keep_going,
    ) -> "Tagger":
        """Learn from a cache. checkpoint: file from which a run that was stopped goes on."""
        config = self._config()
        if not isinstance(config, Crf):
            name = TAGGERS.by_config(config).name
            raise ConfigError(f"training from a cache is for the recipe crf; {name} needs training in memory")
        columns = [name for name in cache.columns if name != LABEL]
        rules = _checked_rules(self.rules, cache.block(0)) if self.rules else ()
        task = CachedTask(
            cache,
            word_columns(columns),
            dev=dev,
            features=self.features,
            seed=self.seed,
            threads=self.threads,
            on_epoch=on_epoch,
            checkpoint=checkpoint,
            sharding=self.sharding,
        )
        trained = train_blocks(task, config)
        self.shards_ = None if trained.shards is None else trained.shards.as_dict()
        self.model_, self.confidence_, self.choice_ = trained.model, None, None
        self.rules_, self.columns_, self._features = rules, tuple(columns), self.features
        self.config_, self.history_ = config, trained.history
        self.fingerprint_ = modelfile.fingerprint([cache.fingerprint])
        self.trained_on_ = {"sentences": cache.n_sentences, "tokens": cache.n_tokens}
        self._memory = self._learnt = self._trained_on = None
        return self

    def partial_fit(
        self,
        X: Sentences,
        y: Sequence[Sequence[Any]] | None = None,
        *,
        sample_weight: SampleWeight = None,
        on_epoch: Listener = keep_going,
    ) -> "Tagger":
        """Train on further sentences besides all earlier ones; new words and labels get features.

        A sentence that is known with the same labels changes nothing, unless the tagger still gets it wrong: then it
        counts twice as much. One that is known with other labels takes their place. A CRF that was trained by dual
        ascent moves to the optimum of all sentences; one that was loaded, or trained otherwise, stays as near its
        weights as the further sentences allow. Other recipes learn a few sentences near their weights too: the smallest
        change that makes them right. After one such sentence for each hundred, and for larger lessons, they train on
        all sentences, so they cannot learn on once they were loaded from a file. hmm and emission count anew; they
        refuse a sentence that they cannot get right without changing the answers of more than 0.5 % of the others.
        """
        if not hasattr(self, "model_"):
            return self._learn(X, y, None, sample_weight, on_epoch)
        table = known_labels(X, y, self.columns_)
        self._table(table)
        learnt = self._remember()
        pairs = zip(self.predict(table), table.lists(LABEL), strict=True)
        right = np.array([found == gold for found, gold in pairs], bool)
        weight = sentence_weights(sample_weight, table)
        if weight is not None and (kept := counting(weight)) is not None:
            table, weight, right = table.taken(kept), weight[kept], right[kept]
        change, learnt = learnt.taught(table, self.columns_, weight, right)
        return self._changed(change, learnt, on_epoch, table.of_sentences(~right), table.n_sentences)

    def forget(self, X: Sentences, y: Sequence[Sequence[Any]] | None = None) -> "Tagger":
        """Remove sentences from the training data, as if never learnt; with labels, only those with these labels.

        A tagger loaded from a file can forget what it learnt since.

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
        return self._changed(change, learnt, keep_going)

    def _remember(self) -> Learnt:
        """The sentences learnt so far; the recipe then has a memory to change, or the tagger all sentences."""
        if self._learnt is not None:
            return self._learnt
        recipe = TAGGERS.by_config(self.config_)
        sparse = (
            getattr(self.config_, "c1", 0.0) > 0 and self._trained_on is not None
        )  # trains anew to stay sparse
        if self._memory is None and recipe.remember is not None and not sparse:
            self._memory = recipe.remember(self.model_, self.config_, self.seed)
            if self._memory is not None:
                return Learnt()
        if self._trained_on is None:
            raise ConfigError(
                f"this model of the recipe {recipe.name} cannot continue training without its training data; "
                "retrain it on all data"
            )
        table, weight = self._trained_on
        return Learnt.of(table, self.columns_, weight)

    def _changed(
        self,
        change: Change | None,
        learnt: Learnt,
        on_epoch: Listener,
        lesson: TokenTable | None = None,
        taught: int = 0,
    ) -> "Tagger":
        """The tagger after a change.

        lesson: the sentences to learn that it gets wrong; None: some are forgotten
        taught: the number of sentences to learn, right or wrong
        """
        if change is None:
            return self
        recipe = TAGGERS.by_config(self.config_)
        if self._memory is not None and recipe.learn_on is not None:
            trained = recipe.learn_on(self._memory, change, self.threads)
        elif (near := self._near(change, learnt, lesson, taught)) is not None:
            trained = near
        else:
            trained, learnt = self._trained_on_all(learnt, on_epoch, lesson, taught)
            self._stepped = 0
        if trained.model is not self.model_:
            model, temperature = trained.model, getattr(self.model_, "temperature", 1.0)
            if isinstance(model, Tempered) and temperature != 1:
                model = model.with_temperature(temperature)
            self.model_, self.history_ = model, trained.history
        self._memory, self._learnt = trained.memory, learnt
        self.fingerprint_ = modelfile.fingerprint(learnt.texts, learnt.golds, [self.fingerprint_])
        self.trained_on_ = {}  # a model that was loaded does not know how much it had learnt before
        return self

    def _near(self, change: Change, learnt: Learnt, lesson: TokenTable | None, taught: int) -> Trained | None:
        """A few further sentences learnt near the weights; None if there are more, or if that does not make them right.

        After one such sentence for each hundred, all sentences are trained on again.
        """
        if lesson is None or learnt.table is None:
            return None
        near = TAGGERS.by_config(self.config_).near
        if not near or self._stepped + taught > _few(len(change.weight)):
            return None
        model = self._near_weights(self.model_, lesson, learnt)
        if model is None:
            return None
        self._stepped += taught
        return Trained(model, self.history_)

    def _near_weights(self, model: TaggingModel, lesson: TokenTable, learnt: Learnt) -> TaggingModel | None:
        """Of models near a model that get the lesson right, the one that changes the fewest learnt answers."""
        if lesson.n_sentences == 0:
            return model
        watched = _sampled(learnt)
        before = _answers(model, watched, self.threads)
        best: tuple[float, TaggingModel] | None = None
        for made in self._steps(model, lesson):
            moved = _changed_share(before, _answers(made, watched, self.threads))
            if best is None or moved < best[0]:
                best = moved, made
            if moved <= 1 / WATCHED:
                break
        return None if best is None else best[1]

    def _steps(self, model: TaggingModel, lesson: TokenTable) -> Iterator[TaggingModel]:
        """Models near a model that get the lesson right."""
        for held in HELD:
            if (made := corrected_tokens(model, lesson, self.threads, held)) is not None:
                yield made
        constraints = getattr(self.config_, "constraints", True)
        if (made := corrected_chain(model, lesson, constraints, self.seed, self.threads)) is not None:
            yield made

    def _trained_on_all(
        self, learnt: Learnt, on_epoch: Listener, lesson: TokenTable | None, taught: int
    ) -> tuple[Trained, Learnt]:
        """A training on all sentences; a lesson of a few sentences is right afterwards, or refused."""
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
            trained = TAGGERS.trained(task, self.config_)
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

    def _learn(
        self,
        X: Sentences,
        y: Sequence[Sequence[Any]] | None,
        dev: tuple[Sentences, Sequence[Sequence[str]]] | TokenTable | None,
        sample_weight: SampleWeight,
        on_epoch: Listener,
    ) -> "Tagger":
        config = self._config()
        X = X if isinstance(X, TokenTable | Mapping) else sentences_of(X)
        given = None if y is None else given_labels(sentences_of(y))
        train = labelled(X, None if given is None else given.y)
        columns = [name for name in train.names if name != LABEL]
        rules = _checked_rules(self.rules, train)
        weight = sentence_weights(train.weight if sample_weight is None else sample_weight, train)
        soft = None if given is None else given.soft
        if weight is not None and (kept := counting(weight)) is not None:
            soft = None if soft is None else soft_of(soft, weight > 0, train)
            train, weight = train.taken(kept), weight[kept]
        held_out = None
        if dev is not None:
            held_out = labelled(dev) if isinstance(dev, TokenTable) else held_out_sentences(*dev)
        task = TaggingTask(
            table=train,
            columns=word_columns(columns),
            dev=held_out,
            features=self.features,
            seed=self.seed,
            threads=self.threads,
            on_epoch=on_epoch,
            weight=weight,
            soft=soft,
            unknown=None if given is None else given.unknown,
            keep=True,
            sharding=self.sharding,
        )
        settled = self._settled(task, config)
        task, config = settled.task, settled.config
        self.choice_ = None if settled.choice is None else settled.choice.as_dict()
        trained = TAGGERS.trained(task, config)
        self.model_, self.confidence_ = calibrate(
            task,
            TAGGERS.by_config(config),
            config,
            trained.model,
            self.folds if getattr(config, "start", None) is None else 0,
            settled.known,
        )
        if not isinstance(X, TokenTable | Mapping):
            for remark in unread_remarks(columns, trained.model.columns):
                warn_about_data(remark)
        self.rules_ = rules
        self.columns_ = tuple(columns)
        self._features = task.features
        self.config_ = config
        self.history_ = trained.history
        self.shards_ = None if trained.shards is None else trained.shards.as_dict()
        self.fingerprint_ = sentences_fingerprint(train)
        self.trained_on_ = {"sentences": train.n_sentences, "tokens": train.n_tokens}
        certain = task.soft is None and task.unknown is None and getattr(config, "start", None) is None
        self._memory, self._learnt, self._stepped = trained.memory, None, 0
        self._trained_on = (train, task.weight) if certain else None
        return self

    def _settled(self, task: TaggingTask, config: Any) -> Settled:
        """What is open is chosen, if that is wanted."""
        wanted = self._choice_wanted(self.choose)
        return choose(task, None if self.recipe is None else config) if wanted else Settled(task, config)

    def _config(self) -> Any:
        """The recipe's config: the default one if the recipe is named, that of crf if it is to be chosen."""
        return TAGGERS.by_name(DEFAULT_TAGGER).config() if self.recipe is None else super()._config()

    # -- keeping ----------------------------------------------------------------------------------------------

    @classmethod
    def loaded(cls, file: modelfile.ModelFile) -> Self:
        """The tagger of a model file."""
        made = super().loaded(file)
        facts = _Facts.loaded(modelfile.Requirements(file))
        made.columns_ = tuple(facts.columns)
        made.rules = made.rules_ = _rules(facts, file, made.model_)
        return made

    def _header_labels(self) -> tuple[str, ...]:
        return self._fitted().labels.inner

    def _packed(self) -> Packed:
        kept = [rule for rule in self.rules_ if rule.name not in OF_TOKENS]
        facts = _Facts(self.columns_, rules_as_data(kept) or None)
        return facts.packed() | self._fitted().labels.packed() | super()._packed()

    # -- scikit-learn's interface -------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))


# A recipe that counts refuses a lesson of a few sentences that changes more than this share of other sentences.
FEW_CHANGES = 0.005
WATCHED = 500  # learnt sentences whose answers are compared


def _few(sentences: int) -> int:
    """The number of sentences that are learnt near the weights: one for each hundred."""
    return max(1, sentences // 100)


def _sampled(learnt: Learnt) -> TokenTable:
    """Some of the sentences learnt, evenly spaced."""
    assert learnt.table is not None
    N = learnt.table.n_sentences
    return learnt.table.taken(np.arange(min(N, WATCHED)) * N // max(min(N, WATCHED), 1))


def _answers(model: TaggingModel, table: TokenTable, threads: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The labels of tokens, and the bounds of sentences."""
    return np.array(model.labels.outer)[model.decode(table, threads)], table.ptr


def _changed_share(
    before: tuple[NDArray[Any], NDArray[np.int64]], after: tuple[NDArray[Any], NDArray[np.int64]]
) -> float:
    """The share of sentences with another answer."""
    changed = np.concatenate([[0], np.cumsum(before[0] != after[0])])[before[1]]
    return float(np.mean(np.diff(changed) > 0)) if len(before[1]) > 1 else 0.0


def _refusal(recipe: str) -> ConfigError:
    able = ", ".join(one.name for one in TAGGERS if one.near)
    return ConfigError(
        f"the recipe {recipe} counts, and cannot learn this correction without changing the answers of other "
        f"sentences; the model stays as it was. These recipes can: {able}"
    )


@dataclass(frozen=True)
class _Facts(modelfile.Saved):
    """The columns of a tagger's input and its rules, in the header of its file."""

    columns: Sequence[str] = modelfile.fact(
        list, check=modelfile.listed_strings, expected="the columns of its input"
    )
    rules: dict[str, Any] | None = modelfile.fact(dict, default=None, omit=True)


def _rules(facts: _Facts, file: modelfile.ModelFile, model: TaggingModel) -> tuple[Rule, ...]:
    """The rules of a file, checked against the labels of its model."""
    try:
        rules = rules_of(facts.rules or {})
        under_rules(model, rules)
    except (ConfigError, AttributeError, TypeError) as e:
        raise file.fault(f"its rules are damaged: {e}") from None
    return rules


def _checked_rules(rules: Sequence[Rule], table: TokenTable) -> tuple[Rule, ...]:
    """The rules; refused before training if they name labels that the data does not have."""
    labels = LabelSet.plain([label for label in table.columns[LABEL].types if label != UNKNOWN])
    RuleBook(tuple(rules), labels.outer, labels.inner, labels.outer_of)
    return tuple(rules)
