"""The tagger: labels for the tokens of sentences, by any recipe, as a scikit-learn estimator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from chaffinch import modelfile
from chaffinch.cache import Cache
from chaffinch.defaults.tags import TaggingPlan, choose
from chaffinch.errors import ConfigError, warn_about_data
from chaffinch.estimators.inputs import SampleWeight, counting, numbered
from chaffinch.estimators.sentences import (
    UNKNOWN,
    Sentences,
    given_labels,
    held_out_sentences,
    known_labels,
    labelled,
    sentence_weights,
    sentences_of,
    soft_of,
    unread_remarks,
    word_columns,
)
from chaffinch.estimators.streams import cached_sentences, is_stream, pairs, sentence_tables
from chaffinch.estimators.tag_learning import TagLearning
from chaffinch.evaluate import TagScores, score_tags
from chaffinch.model import LabelSet, TaggingModel
from chaffinch.model.protocols import Packed, Tempered
from chaffinch.model.ruled import under_rules
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes import DEFAULT_TAGGER, TAGGERS, TaggingTask
from chaffinch.recipes.calibration import calibrate, calibrated_on_sentences
from chaffinch.recipes.crf_blocks import CachedTask, train_blocks
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.fingerprints import table_fingerprint
from chaffinch.recipes.perceptron import MiraTagger, StructuredPerceptron
from chaffinch.recipes.perceptron_blocks import train_online_blocks
from chaffinch.search.label_rules import OF_TOKENS, Rule, RuleBook, rules_as_data, rules_of
from chaffinch.text.document import LABEL
from chaffinch.text.label_names import look_alike_remark
from chaffinch.text.schemes import scheme_doubt
from chaffinch.text.table import TokenTable


class Tagger(TagLearning):
    """Labels for the tokens of sentences.

    recipe:   a recipe's name, or its config with knobs set: ``Tagger("hmm")``, ``Tagger(Hmm(order=1))``; None: the best
              on held-out folds for small data, otherwise crf
    features: a preset's name, a file of templates or a list of them; None: the recipe's own choice
    choose:   whether to choose the settings that are not given by cross-validation, if the training data has 100
              sentences or more and at most 100,000 tokens; None: if no recipe is given
    folds:    number of models for calibrating probabilities on held-out sentences; None: five or three for small data,
              one for large; 0: no calibration
    rules:    rules that answers must obey, such as ``once("QTY")``; see :mod:`chaffinch.rules`
    seed:     seed of the order of examples
    threads:  0 for all cores; the result does not depend on it

    Tokens are strings, or tuples of a word and further columns. They may also hold your own features: a token is then
    a dict (``{"word.lower()": "tea", "cap": True, "length": 3.0}``), a list of strings, or a tuple of a word and a dict
    or set of features; with words, ``features="own"`` turns templates off.

    >>> X = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
    >>> y = [["DET", "NOUN", "VERB"]] * 3
    >>> tagger = Tagger("hmm").fit(X, y)
    >>> tagger.predict([["the", "bird", "sings"]])
    [['DET', 'NOUN', 'VERB']]
    """

    task: ClassVar[str | None] = None

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
        block, so that they need not fit in memory. Other sentences are too if ``cache`` names a folder for their ids.
        A CRF is then trained by SGD; perceptron and MIRA learn as in memory. Nothing is chosen by cross-validation,
        and probabilities are calibrated on ``dev`` alone.

        ``sample_weight`` scales the loss of each sentence: 2 is equivalent to giving the sentence twice, 0 to leaving
        it out. Recipes without a loss refuse it; hmm and emission count, so they need whole numbers. The recipe crf
        also takes labels that are None (unknown) or a mapping from labels to probabilities.
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
        """Learn from a cache. checkpoint: file from which a stopped run resumes."""
        config = self._config()
        if not isinstance(config, Crf | StructuredPerceptron | MiraTagger):
            name = TAGGERS.by_config(config).name
            raise ConfigError(
                f"training from a cache is for the recipes crf, perceptron and mira; {name} needs training in memory"
            )
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
        trained = train_blocks(task, config) if isinstance(config, Crf) else train_online_blocks(task, config)
        self.shards_ = None if trained.shards is None else trained.shards.as_dict()
        self.model_, self.confidence_, self.choice_ = trained.model, None, None
        if dev is not None and self.folds != 0:
            self.model_, self.confidence_ = calibrated_on_sentences(trained.model, dev, self.threads)
        _say_doubts(self.classes_.tolist())
        self.rules_, self.columns_, self._features = rules, tuple(columns), self.features
        self.config_, self.history_ = config, trained.history
        self.fingerprint_ = modelfile.fingerprint([cache.fingerprint])
        self.trained_on_ = {"sentences": cache.n_sentences, "tokens": cache.n_tokens}
        self._memory = self._learnt = self._trained_on = self._before = None
        return self

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
        given = None if y is None else given_labels(y)
        train = labelled(X, None if given is None else given.y)
        _say_doubts(train.columns[LABEL].types)
        _say_empty(train)
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
        plan = self._plan(task, config)
        task, config = plan.task, plan.config
        self.choice_ = None if plan.choice is None else plan.choice.as_dict()
        trained = TAGGERS.train(task, config)
        self.model_, self.confidence_ = calibrate(
            task,
            TAGGERS.by_config(config),
            config,
            trained.model,
            _calibration_folds(self.folds, plan),
            plan.known,
        )
        if (start := getattr(config, "start", None)) is not None:
            self._keep_calibration_of(start)
        if not isinstance(X, TokenTable | Mapping):
            for remark in unread_remarks(columns, trained.model.columns):
                warn_about_data(remark)
        self.rules_ = rules
        self.columns_ = tuple(columns)
        self._features = task.features
        self.config_ = config
        self.history_ = trained.history
        self.shards_ = None if trained.shards is None else trained.shards.as_dict()
        self.fingerprint_ = table_fingerprint(train)
        self.trained_on_ = {"sentences": train.n_sentences, "tokens": train.n_tokens}
        certain = task.soft is None and task.unknown is None and getattr(config, "start", None) is None
        self._memory, self._learnt, self._before, self._stepped = trained.memory, None, None, 0
        self._trained_on = (train, task.weight) if certain else None
        return self

    def recalibrate(self, X: Sentences, y: Sequence[Sequence[str]] | None = None) -> "Tagger":
        """Fit the probabilities on sentences that training has not seen; the answers stay.

        For a model that was made smaller, or for sentences of another kind than those of training. The guarantee of
        ``threshold`` then holds for sentences like these.
        """
        table = known_labels(X, y, self.columns_)
        model, confidence = calibrated_on_sentences(self._fitted(), table, self.threads)
        if confidence is None:
            warn_about_data(
                f"probabilities stay as they were: {table.n_sentences} sentences are too few, or the model has none"
            )
        else:
            self.model_, self.confidence_ = model, confidence
        return self

    def _keep_calibration_of(self, path: str) -> None:
        """Take over the calibration of the model from which training started, as ``partial_fit`` does."""
        begun = type(self).loaded(modelfile.read(path))
        temperature = getattr(begun.model_, "temperature", 1.0)
        if isinstance(self.model_, Tempered) and temperature != 1:
            self.model_ = self.model_.with_temperature(temperature)
        self.confidence_ = begun.confidence_

    def _plan(self, task: TaggingTask, config: Any) -> TaggingPlan:
        """The task and config, with the settings that are not given chosen if that is wanted."""
        wanted = self._choice_wanted(self.choose)
        return choose(task, None if self.recipe is None else config) if wanted else TaggingPlan(task, config)

    def _config(self) -> Any:
        """The recipe's config: its defaults if the recipe is named, those of crf if it will be chosen."""
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


def _say_doubts(labels: Sequence[str]) -> None:
    known = [label for label in labels if label != UNKNOWN]
    for doubt in (scheme_doubt(known), look_alike_remark(known)):
        if doubt is not None:
            warn_about_data(doubt)


def _say_empty(table: TokenTable) -> None:
    """Name the sentences that have the empty string as a label."""
    column = table.columns[LABEL]
    if "" in column.types:
        tokens = np.flatnonzero(column.ids == list(column.types).index(""))
        found = np.unique(np.searchsorted(table.ptr, tokens, side="right"))
        if len(found):
            warn_about_data(
                f"{numbered('sentence', found.tolist())}: a label is the empty string, which is learned as a label "
                "like any other"
            )


def _calibration_folds(given: int | None, plan: TaggingPlan) -> int | None:
    """The number of models to train for calibration; None: it depends on the data and on what the choice computed."""
    if getattr(plan.config, "start", None) is not None:
        return 0
    return plan.folds if given is None else given


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
    """The rules; ConfigError before training if they name labels that the data does not have."""
    labels = LabelSet.plain([label for label in table.columns[LABEL].types if label != UNKNOWN])
    RuleBook(tuple(rules), labels.outer, labels.inner, labels.outer_of)
    return tuple(rules)


# -- scorers for scikit-learn's model selection: higher is better ---------------------------------------------------


def span_f1_scorer(tagger: Any, X: Any, y: Sequence[Sequence[str]]) -> float:
    """Micro F1 of spans, as conlleval counts; token accuracy if labels mark no spans.

    >>> from chaffinch import Tagger
    >>> X, y = [["Ann", "left"], ["Bob", "left"]], [["B-PER", "O"], ["B-PER", "O"]]
    >>> span_f1_scorer(Tagger("hmm").fit(X, y), X, y)
    1.0
    """
    found = _scores(tagger, X, y)
    return found.token_accuracy if found.span is None else found.span.micro.f1


def token_accuracy_scorer(tagger: Any, X: Any, y: Sequence[Sequence[str]]) -> float:
    """Token accuracy."""
    return _scores(tagger, X, y).token_accuracy


def sentence_accuracy_scorer(tagger: Any, X: Any, y: Sequence[Sequence[str]]) -> float:
    """Sentence accuracy: the share of sentences with every label right."""
    return _scores(tagger, X, y).sentence_accuracy


def _scores(tagger: Any, X: Any, y: Sequence[Sequence[str]]) -> TagScores:
    return score_tags([list(labels) for labels in y], [list(labels) for labels in tagger.predict(X)])
