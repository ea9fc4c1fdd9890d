"""The tagger: labels for the tokens of sentences, by any recipe, as a scikit-learn estimator."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.defaults.tags import Settled, choose
from chaffinch.errors import ConfigError, DataError, ModelFileError, warn_about_data
from chaffinch.estimators.documents import texts_of
from chaffinch.estimators.inputs import is_text_column, words_of
from chaffinch.estimators.learnt import Learnt, sentence_strings
from chaffinch.estimators.persistent import Persistent
from chaffinch.estimators.sentences import (
    UNKNOWN,
    Sentences,
    column_names,
    given_labels,
    sentences_of,
    table_of,
    unread_remarks,
)
from chaffinch.estimators.weights import SampleWeight, counting, sample_weights
from chaffinch.model import LabelSet, TaggingModel
from chaffinch.model.distribution import SentenceDistribution, distributions
from chaffinch.model.evidence import Question
from chaffinch.model.protocols import LatticeModel, Packed, Tempered
from chaffinch.model.ruled import under_rules
from chaffinch.progress import Listener, keep_going
from chaffinch.recipes import DEFAULT_TAGGER, TAGGERS, TaggingTask
from chaffinch.recipes.calibration import calibrate, decision_probabilities
from chaffinch.recipes.recipe import Change
from chaffinch.search.label_rules import OF_TOKENS, Rule, RuleBook, rules_as_data, rules_of
from chaffinch.text.attributes import ATTRIBUTES
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.table import TokenTable
from chaffinch.text.tokens import tokens
from chaffinch.trust.confidence import SPANS, Confidence
from chaffinch.trust.explain import explain
from chaffinch.trust.explanation import Explanation

RULES = "rules"  # of a model file's details


class FoundSpan(NamedTuple):
    """Tokens start to end - 1 of a sentence, their label, and the probability that it is right."""

    start: int
    end: int
    label: str
    probability: float


class TextSpan(NamedTuple):
    """Characters start to end - 1 of a text, their label, the text itself, and the probability that it is right."""

    start: int
    end: int
    label: str
    text: str
    probability: float


class SentenceList(list[Any]):
    """A list with an entry per sentence that scikit-learn can join: as an array it has one object per sentence."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[np.object_]:
        found = np.empty(len(self), dtype=object)
        for n, entry in enumerate(self):
            found[n] = entry
        return found


class Tagger(Persistent[TaggingModel]):
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
    recipes = TAGGERS

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
    _memory: Any = None
    _learnt: Learnt | None = None
    _trained_on: tuple[TokenTable, NDArray[np.float32] | None] | None = None
    _features: Any = None  # of the last fit, given or chosen

    rules_: tuple[Rule, ...] = ()  # that answers obey
    _ruled: tuple[TaggingModel, TaggingModel] | None = None  # a model, and the same under the rules

    # -- learning ---------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Sentences,
        y: Sequence[Sequence[Any]] | None = None,
        *,
        dev: tuple[Sentences, Sequence[Sequence[str]]] | TokenTable | None = None,
        sample_weight: SampleWeight = None,
        on_epoch: Listener = keep_going,
    ) -> "Tagger":
        """Learn from sentences and their labels; a token table may hold the labels as its column ``y``.

        ``sample_weight`` scales the loss of each sentence: 2 counts as much as the sentence given twice, 0 as its
        absence. Recipes without a loss refuse it, hmm and emission count and need whole numbers. A label may be None
        (not known) or a mapping from labels to probabilities if the recipe can use it: crf can.
        """
        return self._learn(X, y, dev, sample_weight, on_epoch)

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
        weights as the further sentences allow. Other recipes train anew on all sentences, and need them: they cannot
        learn on once they were loaded from a file.
        """
        if not hasattr(self, "model_"):
            return self._learn(X, y, None, sample_weight, on_epoch)
        table = _known_labels(X, y, self.columns_)
        self._table(table)
        learnt = self._remember()
        pairs = zip(self.predict(table), table.lists(LABEL), strict=True)
        right = np.array([found == gold for found, gold in pairs], bool)
        weight = _weights(sample_weight, table)
        if weight is not None and (kept := counting(weight)) is not None:
            table, weight, right = table.taken(kept), weight[kept], right[kept]
        change, learnt = learnt.taught(table, self.columns_, weight, right)
        return self._changed(change, learnt, on_epoch)

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
        table = _known_labels(X, y, self.columns_) if labelled else table_of(X, self.columns_)
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
        if self._memory is None and recipe.remember is not None:
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

    def _changed(self, change: Change | None, learnt: Learnt, on_epoch: Listener) -> "Tagger":
        if change is None:
            return self
        recipe = TAGGERS.by_config(self.config_)
        if self._memory is not None and recipe.learn_on is not None:
            trained = recipe.learn_on(self._memory, change, self.threads)
        elif learnt.table is not None and learnt.table.n_sentences:
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
        else:
            raise DataError("expected at least one sentence left to train on, found none")
        model, temperature = trained.model, getattr(self.model_, "temperature", 1.0)
        if isinstance(model, Tempered) and temperature != 1:
            model = model.with_temperature(temperature)
        self.model_, self.history_ = model, trained.history
        self._memory, self._learnt = trained.memory, learnt
        self.fingerprint_ = modelfile.fingerprint(learnt.texts, learnt.golds, [self.fingerprint_])
        self.trained_on_ = {}  # a model that was loaded does not know how much it had learnt before
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
        given = None if y is None else given_labels(sentences_of(y))
        train = _labelled(X, None if given is None else given.y)
        columns = [name for name in train.names if name != LABEL]
        rules = _checked_rules(self.rules, train)
        weight = _weights(train.weight if sample_weight is None else sample_weight, train)
        soft = None if given is None else given.soft
        if weight is not None and (kept := counting(weight)) is not None:
            soft = None if soft is None else _soft_of(soft, weight > 0, train)
            train, weight = train.taken(kept), weight[kept]
        held_out = None
        if dev is not None:
            held_out = _labelled(dev) if isinstance(dev, TokenTable) else _held_out(*dev)
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
        self.fingerprint_ = _fingerprint(train)
        self.trained_on_ = {"sentences": train.n_sentences, "tokens": train.n_tokens}
        certain = task.soft is None and task.unknown is None and getattr(config, "start", None) is None
        self._memory, self._learnt = trained.memory, None
        self._trained_on = (train, task.weight) if certain else None
        return self

    def _settled(self, task: TaggingTask, config: Any) -> Settled:
        """What is open is chosen, if that is wanted."""
        wanted = self.recipe is None if self.choose is None else self.choose
        return choose(task, None if self.recipe is None else config) if wanted else Settled(task, config)

    def _config(self) -> Any:
        """The recipe's config: the default one if the recipe is named, that of crf if it is to be chosen."""
        return TAGGERS.by_name(DEFAULT_TAGGER).config() if self.recipe is None else super()._config()

    # -- answering --------------------------------------------------------------------------------------------

    def with_rules(self, rules: Iterable[Rule]) -> "Tagger":
        """The same tagger whose answers obey rules; none: without rules. A saved file keeps rules that name no tokens.

        >>> from chaffinch.rules import once
        >>> X, y = [["2", "eggs", "and", "1", "onion"]] * 2, [["QTY", "NAME", "O", "QTY", "NAME"]] * 2
        >>> tagger = Tagger("crf", folds=0).fit(X, y)
        >>> tagger.with_rules([once("QTY")]).predict(X[:1])
        [['NAME', 'NAME', 'O', 'QTY', 'NAME']]
        """
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        made._memory = None  # the recipe changes it in place when it learns on
        made.rules = made.rules_ = tuple(rules)
        made._ruled = (self._fitted(), under_rules(self._fitted(), made.rules_))
        return made

    def answering(self) -> TaggingModel:
        """The model whose answers obey the rules; without rules ``model_``."""
        model = self._fitted()
        if not self.rules_:
            return model
        if self._ruled is None or self._ruled[0] is not model:
            self._ruled = (model, under_rules(model, self.rules_))
        return self._ruled[1]

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The labels, in the order of ``predict_marginals``'s columns."""
        return np.array(self.answering().labels.outer)

    def predict(self, X: "Sentences | str", *, k: int | None = None) -> list[list[Any]]:
        """The best labels of each sentence; one text, or each of a column of texts, is cut into words as one sentence.

        k: give each sentence its k best labellings instead, best first; ``predict_kbest`` has their scores
        """
        if k is not None:
            return SentenceList([labels for _, labels in found] for found in self.predict_kbest(X, k))
        model, table = self.answering(), self._table(X)
        return SentenceList(_labels_by_sentence(model.labels, model.decode(table, self.threads), table.ptr))

    def spans(self, text: str) -> list[TextSpan]:
        """The spans in plain text, tokenised as in training, with their character offsets.

        >>> X, y = [["Ann", "left"], ["Bob", "left"]], [["B-PER", "O"], ["B-PER", "O"]]
        >>> [(s.start, s.end, s.label, s.text) for s in Tagger(folds=0).fit(X, y).spans("Ann left")]
        [(0, 3, 'PER', 'Ann')]
        """
        read = self.answering().columns
        if read != (WORD,):
            raise DataError(
                f"this tagger reads the columns {', '.join(read)}, and plain text has only words: tag the text first, "
                f"and give predict_spans sentences of tuples ({', '.join(self.columns_)})"
            )
        cut = tokens(text)
        if not cut:
            return []
        made = []
        for found in self.predict_spans([[token.text for token in cut]])[0]:
            start, end = cut[found.start].start, cut[found.end - 1].end
            made.append(TextSpan(start, end, found.label, text[start:end], found.probability))
        return made

    def predict_kbest(self, X: Sentences, k: int) -> list[list[tuple[float, list[str]]]]:
        """The k best labellings of each sentence with their scores, best first."""
        if k < 1:
            raise ConfigError(f"k must be >= 1, got {k}")
        model, table = self.answering(), self._table(X)
        outer = model.labels.outer
        return [
            [(reading.score, [outer[i] for i in reading.labels.tolist()]) for reading in readings]
            for readings in model.kbest(table, k, self.threads)
        ]

    def predict_marginals(self, X: Sentences) -> list[NDArray[np.float32]]:
        """p(label|sentence) of each token: for each sentence an array [T, labels], columns as ``classes_``."""
        model, table = self.answering(), self._table(X)
        p = model.marginals(table, self.threads)
        bounds = table.ptr.tolist()
        return [p[a:b] for a, b in pairwise(bounds)]

    def predict_posterior(self, X: Sentences) -> list[list[str]]:
        """The labels with the highest expected accuracy: the most probable ones that break no rule of the model."""
        model, table = self.answering(), self._table(X)
        found, outer = model.posterior(table, self.threads).tolist(), model.labels.outer
        return [[outer[i] for i in found[a:b]] for a, b in pairwise(table.ptr.tolist())]

    def distributions(self, X: Sentences) -> list[SentenceDistribution]:
        """The distribution over labellings of each sentence: probabilities of labels, pairs, spans; samples."""
        model, table = self.answering(), self._table(X)
        if not isinstance(model, LatticeModel):
            raise ConfigError(
                f"recipe {TAGGERS.by_config(self.config_).name} has no distribution over labellings"
            )
        known = self.confidence_
        to_honest = None if known is None or known.unit != SPANS else known.to_honest
        return list(distributions(model, table, self.threads, to_honest))

    def predict_spans(self, X: Sentences) -> list[list[FoundSpan]]:
        """The spans of each sentence with the probability that each is right; each token if labels mark no spans.

        >>> X, y = [["Ann", "left"], ["Bob", "left"]], [["B-PER", "O"], ["B-PER", "O"]]
        >>> Tagger(folds=0).fit(X, y).predict_spans([["Ann", "left"]])[0][0].label
        'PER'
        """
        model, table = self.answering(), self._table(X)
        if not isinstance(model, Tempered):
            raise ConfigError(f"recipe {TAGGERS.by_config(self.config_).name} has no probabilities")
        found = decision_probabilities(model, table, self.threads)
        flat = np.array([d[3] for made in found for d in made], np.float64)
        honest = iter((flat if self.confidence_ is None else self.confidence_.to_honest(flat)).tolist())
        return [[FoundSpan(a, b, label, next(honest)) for a, b, label, _ in made] for made in found]

    def threshold(self, *, precision: float, risk: float = 0.1) -> float:
        """The lowest probability at which decisions of ``predict_spans`` have at least this precision.

        With a probability of 1 - ``risk`` over the training data, decisions at or above it have the precision asked for
        on data of the same distribution (learn-then-test on out-of-fold decisions). ConfigError if the data cannot
        show that.
        """
        self.answering()
        if self.confidence_ is None:
            raise ConfigError(
                "this tagger was not calibrated, so no threshold can be certified: train it with folds > 0 "
                "or with dev data"
            )
        return self.confidence_.threshold(precision, risk)

    def explain(
        self, sentence: Sequence[Any], *, token: int | None = None, against: str | None = None
    ) -> Explanation:
        """Explanations of the labels of one sentence: named contributions that add up to the model's scores.

        token:   which token, counted from 0; None: each
        against: the label to compare with ("why B and not A"); None: the best other one

        >>> tagger = Tagger("hmm").fit([["a", "dog"], ["a", "cat"], ["dogs"]], [["D", "N"], ["D", "N"], ["N"]])
        >>> why = tagger.explain(["a", "dog"], token=0).decisions[0]
        >>> why.answer, why.rival, round(sum(c.difference for c in why.contributions) - why.margin, 6)
        ('D', 'N', 0.0)
        """
        return self.explanations([sentence], token=token, against=against)[0]

    def explanations(
        self,
        X: Sentences,
        *,
        token: int | None = None,
        against: str | None = None,
        which: Iterable[int] | None = None,
    ) -> list[Explanation]:
        """The same for each sentence, or ``which`` of them, encoded together with the others."""
        model, table = self.answering(), self._table(X)
        recipe, question = TAGGERS.by_config(self.config_).name, Question(token, against)
        every = table.lists(WORD)
        asked = list(range(len(every)) if which is None else which)
        found = []
        for n, tagged in zip(asked, model.examples(table, asked, question, self.threads), strict=True):
            words, decisions = every[n], (one for x in tagged.examples for one in explain(x, question))
            answer = " ".join(f"{word}/{label}" for word, label in zip(words, tagged.labels, strict=True))
            found.append(Explanation(recipe, " ".join(words), tuple(words), answer, tuple(decisions)))
        return found

    def score(self, X: Sentences, y: Sequence[Sequence[str]] | None = None) -> float:
        """Token accuracy over the tokens with a known label."""
        X = X if isinstance(X, TokenTable | Mapping) else sentences_of(X)
        gold = _labelled(X, None if y is None else given_labels(sentences_of(y)).y)
        model = self.answering()
        self._table(gold)
        place = {label: i for i, label in enumerate(model.labels.outer)}
        column = gold.columns[LABEL]
        wanted = np.array([place.get(t, -1) for t in column.types], dtype=np.int32)[column.ids]
        hidden = {UNKNOWN, self.hidden_label_}
        known = np.array([t not in hidden for t in column.types], dtype=np.bool_)[column.ids]
        if not known.any():
            raise DataError("expected at least one token with a known label to score, got none")
        return float((model.decode(gold, self.threads) == wanted)[known].mean())

    @property
    def hidden_label_(self) -> str | None:
        """The recipe's marker of unknown labels, if any."""
        recipe = TAGGERS.by_config(self.config_)
        return self.config_.unknown if "unknown" in recipe.options else None

    # -- keeping ----------------------------------------------------------------------------------------------

    @classmethod
    def loaded(cls, file: modelfile.ModelFile) -> Self:
        """The tagger of a model file."""
        made = super().loaded(file)
        made.columns_ = _columns(file)
        made.confidence_ = Confidence.loaded(file)
        made.rules = made.rules_ = _rules(file, made.model_)
        return made

    def _header_labels(self) -> tuple[str, ...]:
        return self._fitted().labels.inner

    def _packed(self) -> Packed:
        details: dict[str, Any] = {"columns": list(self.columns_)}
        if kept := [rule for rule in self.rules_ if rule.name not in OF_TOKENS]:
            details[RULES] = rules_as_data(kept)
        packed = Packed(details=details) | self._fitted().labels.packed() | super()._packed()
        return packed if self.confidence_ is None else packed | self.confidence_.packed()

    # -- scikit-learn's interface -------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    # -- inside -------------------------------------------------------------------------------------------------

    def _table(self, X: "Sentences | str") -> TokenTable:
        if isinstance(X, str):
            X = [words_of(X)]
        elif is_text_column(X):
            X = [words_of(text) for text in texts_of(X)]
        return table_of(X, self.columns_, self._fitted().columns)


def _columns(file: modelfile.ModelFile) -> tuple[str, ...]:
    columns = file.header.details.get("columns")
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise ModelFileError(f"{file.source}: its header lacks the columns of its input")
    return tuple(columns)


def _rules(file: modelfile.ModelFile, model: TaggingModel) -> tuple[Rule, ...]:
    """The rules of a file, checked against the labels of its model."""
    found = file.header.details.get(RULES, {})
    try:
        rules = rules_of(found)
        under_rules(model, rules)
    except (ConfigError, AttributeError, TypeError) as e:
        raise ModelFileError(f"{file.source}: its rules are damaged: {e}") from None
    return rules


def _checked_rules(rules: Sequence[Rule], table: TokenTable) -> tuple[Rule, ...]:
    """The rules; refused before training if they name labels that the data does not have."""
    labels = LabelSet.plain([label for label in table.columns[LABEL].types if label != UNKNOWN])
    RuleBook(tuple(rules), labels.outer, labels.inner, labels.outer_of)
    return tuple(rules)


def word_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that templates may read."""
    return tuple(name for name in columns if name != ATTRIBUTES)


def _labelled(X: Sentences, y: Sequence[Sequence[str]] | None = None) -> TokenTable:
    """Sentences and labels as one table."""
    table = table_of(X, column_names(X))
    if y is None:
        if LABEL not in table.columns:
            raise DataError("expected labels: give y, or a table with a column 'y'")
        return table
    labels = TokenTable.from_lists({LABEL: y if isinstance(y, list) else list(y)})
    if not np.array_equal(labels.ptr, table.ptr):
        raise DataError(_length_difference(table, labels))
    if table.n_tokens == 0:
        raise DataError("expected at least one token to train on, got none")
    return dataclasses.replace(table, columns={**table.columns, LABEL: labels.columns[LABEL]})


def _held_out(X: Sentences, y: Sequence[Sequence[str]]) -> TokenTable:
    X = X if isinstance(X, TokenTable | Mapping) else sentences_of(X)
    return _labelled(X, given_labels(sentences_of(y)).y)


def _known_labels(X: Sentences, y: Sequence[Sequence[Any]] | None, columns: Sequence[str]) -> TokenTable:
    """Sentences whose labels are all known, with the columns of the earlier sentences."""
    X = (
        X
        if isinstance(X, TokenTable)
        else table_of(X if isinstance(X, Mapping) else sentences_of(X), columns)
    )
    given = None if y is None else given_labels(sentences_of(y))
    if given is not None and (given.soft is not None or given.unknown is not None):
        raise ConfigError("partial_fit needs a known, certain label for every token")
    return _labelled(X, None if given is None else given.y)


def _weights(sample_weight: SampleWeight, table: TokenTable) -> NDArray[np.float32] | None:
    return sample_weights(sample_weight, table.n_sentences, "sentences")


def _soft_of(
    soft: tuple[tuple[str, ...], NDArray[np.float32]], sentences: NDArray[np.bool_], table: TokenTable
) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """The soft labels of some sentences; labels that none of their tokens may have are left out."""
    labels, q = soft
    left = q[np.repeat(sentences, np.diff(table.ptr))]
    seen = np.flatnonzero(left.any(axis=0))
    return tuple(labels[y] for y in seen.tolist()), np.ascontiguousarray(left[:, seen])


def _length_difference(table: TokenTable, labels: TokenTable) -> str:
    if table.n_sentences != labels.n_sentences:
        return f"X has {table.n_sentences} sentences, y has {labels.n_sentences}"
    n = int(np.flatnonzero(np.diff(table.ptr) != np.diff(labels.ptr))[0])
    return f"sentence {n + 1} has {np.diff(table.ptr)[n]} tokens and {np.diff(labels.ptr)[n]} labels"


def _labels_by_sentence(labels: LabelSet, ids: NDArray[np.int32], ptr: NDArray[np.int64]) -> list[list[str]]:
    flat = list(map(labels.outer.__getitem__, ids.tolist()))
    bounds = ptr.tolist()
    return [flat[a:b] for a, b in pairwise(bounds)]


def _fingerprint(table: TokenTable) -> str:
    """The fingerprint of the training data."""
    columns: list[Any] = [a for column in table.columns.values() for a in (column.types, column.ids)]
    if table.attributes is not None:
        rows = table.attributes.rows
        columns += [rows.names.names(np.arange(len(rows.names), dtype=np.int32)), rows.ptr, rows.ids]
        columns += [] if rows.values is None else [rows.values]
    return modelfile.fingerprint(table.names, table.ptr, *columns)
