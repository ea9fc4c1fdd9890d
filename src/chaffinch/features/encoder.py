"""The feature encoder: columns and templates, fitted to a token table, then frozen."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import _core
from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.features.encoder_file import INDEX, EncoderFacts, EngineSections, WordLists
from chaffinch.features.files import feature_set
from chaffinch.features.own import OwnFeatures
from chaffinch.features.plan import Plan
from chaffinch.features.rows import FeatureRows, LabelTemplate
from chaffinch.features.templates import FeatureSet
from chaffinch.modelfile import ModelFile, Packed, Requirements
from chaffinch.text.attributes import ATTRIBUTES, Attributes
from chaffinch.text.clusters import Clusters
from chaffinch.text.columns import SentenceFunction, is_registered
from chaffinch.text.document import WORD
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.stretch import STRETCH, document_groups, natural_stretch
from chaffinch.text.table import Column, SharedTypes, TokenTable, up_to_date

Strings = Sequence[Sequence[str | None]]


class FeatureEncoder:
    """Tokens to rows of feature ids.

    features:   the name of a preset, templates, or a :class:`FeatureSet`
    min_count:  features seen fewer times in training are left out
    language:   of the stem, lemma and preposition columns
    clusters:   word clusters, for the columns ``cluster`` and ``clusterN``
    gazetteers: lists of phrases, for the columns ``gaz`` and ``gaz_NAME``
    stretch:    consecutive sentences that count as one document if the table marks none; None: estimated by ``fit``
    threads:    0 is all cores; the result is the same for any number

    >>> table = TokenTable.from_lists({"w": [["the", "dog", "barks"], ["the", "cat"]]})
    >>> encoder = FeatureEncoder(["w[0]", "w[-1]|w[0]", "suffix2[0]"])
    >>> rows = encoder.fit(table)
    >>> encoder.names(rows.ids[rows.ptr[1] : rows.ptr[2]])
    ['w[0]=dog', 'w[-1]=the|w[0]=dog', 'suffix2[0]=og']
    >>> rows = encoder.transform([["the", "frog"]])
    >>> encoder.names(rows.ids[rows.ptr[1] : rows.ptr[2]])
    ['suffix2[0]=og']
    """

    def __init__(
        self,
        features: FeatureSet | str | Sequence[str] = "default",
        *,
        min_count: int = 1,
        language: str = "english",
        clusters: Clusters | None = None,
        gazetteers: Gazetteers | None = None,
        stretch: int | None = None,
        threads: int = 0,
    ):
        for name, least in (("min_count", min_count), ("stretch", 1 if stretch is None else stretch)):
            if least < 1:
                raise ConfigError(f"FeatureEncoder.{name} must be >= 1, got {least}")
        self.features = features
        self.min_count = min_count
        self.language = language
        self.clusters = clusters
        self.gazetteers = gazetteers
        self.stretch = stretch
        self.threads = threads
        self._plan: Plan | None = None
        self._engine: _core.FeatureEngine | None = None
        self._own: OwnFeatures | None = None

    def fit(self, table: TokenTable) -> FeatureRows:
        """Build the feature index from a table and freeze it; the rows of the table itself."""
        chosen = feature_set(self.features, list(table.columns), self.clusters, self.gazetteers)
        own = table.attributes
        self._open(Plan.of(chosen, list(table.columns), self.language, self.clusters, self.gazetteers))
        engine, plan = self._engine, self._plan
        assert engine is not None
        assert plan is not None
        if self.stretch is None:
            self.stretch = natural_stretch(table) if plan.looks_elsewhere else STRETCH
        if own is not None and not plan.features.templates:
            rows = _no_rows(table.ptr)
        else:
            made = engine.fit(
                table.ptr,
                _columns(table, plan),
                document_groups(table, self.stretch),
                plan.external,
                self.min_count,
                self.threads,
            )
            rows = FeatureRows(*made, sentences=table.ptr)
        if own is not None:
            self._own, rows = OwnFeatures.fitted(own, rows, engine.counts(), self.min_count)
        return rows

    @classmethod
    def of_attributes(cls, names: Sequence[str]) -> "FeatureEncoder":
        """An encoder without templates, for the user's own features; the id of a feature is its position in ``names``.

        >>> encoder = FeatureEncoder.of_attributes(["bias", "w:tea"])
        >>> table = TokenTable.over_lists({"attributes": [[{"w": "tea", "bias": 0.5, "cap": True}]]})
        >>> rows = encoder.transform(table)
        >>> rows.ids.tolist(), rows.values.tolist(), encoder.names([1])
        ([1, 0], [1.0, 0.5], ['w:tea'])
        """
        made = cls(FeatureSet(()), stretch=STRETCH)
        made._open(Plan.of(FeatureSet(()), [WORD], made.language, None, None))
        try:
            made._own = OwnFeatures(_core.AttributeIndex(list(names)))
        except ValueError as e:
            raise DataError(str(e)) from None
        return made

    def grown(self, table: TokenTable, *, threads: int | None = None) -> "tuple[FeatureEncoder, FeatureRows]":
        """A new encoder that also knows the features of a further table, and the rows of that table.

        All features keep their ids; new ones follow, even if they are seen only once; this
        encoder does not change.

        >>> encoder = FeatureEncoder(["w[0]", "w[-1]|w[0]"])
        >>> _ = encoder.fit(TokenTable.from_lists({"w": [["the", "dog"]]}))
        >>> more, rows = encoder.grown(TokenTable.from_lists({"w": [["the", "cat"]]}))
        >>> more.names(range(encoder.n_features)) == encoder.names(range(encoder.n_features))
        True
        >>> more.names(rows.ids[rows.ptr[1] : rows.ptr[2]])
        ['w[0]=cat', 'w[-1]=the|w[0]=cat']
        """
        engine, plan = self._fitted()
        made = FeatureEncoder(
            self.features,
            min_count=self.min_count,
            language=self.language,
            clusters=self.clusters,
            gazetteers=self.gazetteers,
            stretch=self.stretch,
            threads=self.threads,
        )
        made._plan = plan
        if self._own is not None and not plan.features.templates:
            made._engine, rows = engine, _no_rows(table.ptr)
        else:
            made._engine, grown = engine.grown(
                table.ptr,
                _columns(table, plan),
                document_groups(table, self.stretch or STRETCH),
                plan.external,
                self.threads if threads is None else threads,
            )
            rows = FeatureRows(*grown, sentences=table.ptr)
        if self._own is not None:
            made._own, rows = self._own.grown(_attributes(table.attributes), rows, made._engine.n_features)
        return made, rows

    def transform(
        self,
        tokens: TokenTable | Mapping[str, Strings] | Strings,
        *,
        threads: int | None = None,
        attributes: Attributes | None = None,
        missing: bool = True,
    ) -> FeatureRows:
        """The rows of a table, of named columns of sentences, or of sentences of words.

        threads:    for this call; None: the encoder's own setting
        attributes: the user's own features of tokens, if ``tokens`` is not a table
        missing:    None among the strings is a missing value; otherwise it is refused
        """
        if self._own is None:
            return self._transformed(tokens, threads, missing)
        if isinstance(tokens, TokenTable):
            attributes = tokens.attributes
        given = _attributes(attributes)
        if self._fitted()[1].features.templates:
            return self._own.transform(given, self._transformed(tokens, threads, missing))
        if not isinstance(tokens, TokenTable):
            tokens = _table(tokens if isinstance(tokens, Mapping) else {WORD: tokens})
        return self._own.transform(given, _no_rows(tokens.ptr))

    def _transformed(
        self, tokens: TokenTable | Mapping[str, Strings] | Strings, threads: int | None, missing: bool
    ) -> FeatureRows:
        """The rows of templates."""
        engine, plan = self._fitted()
        threads = self.threads if threads is None else threads
        if isinstance(tokens, TokenTable):
            columns = _columns(tokens, plan)
            groups = document_groups(tokens, self.stretch or STRETCH)
            shared = [types for types, _ in columns if isinstance(types, SharedTypes)]
            if shared and len(shared) == len(columns):
                known, ids = _vocabulary(engine, plan, shared), [ids for _, ids in columns]
                made = engine.find_block(known, tokens.ptr, ids, groups, threads)
            else:
                made = engine.find_table(tokens.ptr, columns, groups, plan.external, threads)
            return FeatureRows(*made, sentences=tokens.ptr)
        given = tokens if isinstance(tokens, Mapping) else {WORD: tokens}
        in_python = plan.looks_elsewhere or plan.computed
        if in_python and not missing and any(None in row for rows in given.values() for row in rows):
            raise DataError("expected strings, found None")
        if plan.looks_elsewhere:
            return self._transformed(_table(given), threads, missing)
        if plan.computed:
            words = [[w or "" for w in row] for row in given[WORD]]
            given = {**given, **{name: [f(row) for row in words] for name, f in plan.computed.items()}}
        try:
            lists = [_as_list(given[name]) for name in plan.sources]
        except KeyError as e:
            raise _missing_column(str(e.args[0]), list(given)) from None
        try:
            sentences, made_lists = engine.find_lists(lists, plan.external, missing)
        except (TypeError, ValueError) as e:
            raise DataError(str(e)) from None
        return FeatureRows(*made_lists, sentences=sentences)

    @property
    def n_features(self) -> int:
        """The number of features, F."""
        return self._fitted()[0].n_features if self._own is None else self._own.n_features

    @property
    def own(self) -> OwnFeatures | None:
        """The user's own features of tokens; None: all features come from templates."""
        return self._own

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that the corpus must have, the word first; ``attributes`` for the user's own features."""
        plan = self._fitted()[1]
        if self._own is None:
            return plan.given
        reads = any(t.observed for t in plan.features.templates)
        return (*plan.given, ATTRIBUTES) if reads else (ATTRIBUTES,)

    @property
    def templates(self) -> tuple[str, ...]:
        """All templates in use, as text."""
        return tuple(map(str, self._fitted()[1].features.templates))

    @property
    def label_templates(self) -> tuple[LabelTemplate, ...]:
        """The templates that read labels, in the order of the columns of ``FeatureRows.observations``."""
        engine, plan = self._fitted()
        labelled = [t for t in plan.features.templates if t.label_offsets]
        return tuple(
            LabelTemplate(str(t), t.label_offsets, n)
            for t, n in zip(labelled, engine.n_observations, strict=True)
        )

    def names(self, ids: NDArray[np.int32] | Sequence[int]) -> list[str]:
        """The names of features, such as ``w[-1]=the|w[0]=dog``."""
        engine = self._fitted()[0]
        if self._own is None:
            return engine.feature_names(np.ascontiguousarray(ids, dtype=np.int32))
        own, number = self._own.split(np.asarray(ids, np.int32))
        named = iter(self._own.names(number[own]))
        made = iter(engine.feature_names(np.ascontiguousarray(number[~own])))
        return [next(named) if mine else next(made) for mine in own.tolist()]

    def template_offsets(self) -> list[tuple[str, tuple[int, ...]]]:
        """All templates, and the offsets of the tokens that each reads.

        >>> encoder = FeatureEncoder(["w[0]", "w[-1]|w[1]", "bias"])
        >>> _ = encoder.fit(TokenTable.from_lists({"w": [["tea"]]}))
        >>> encoder.template_offsets(), encoder.templates_of(np.arange(3))
        ([('w[0]', (0,)), ('w[-1]|w[1]', (-1, 1)), ('bias', (0,))], [0, 1, 2])
        """
        every = self._fitted()[1].features.templates
        found = [(str(t), tuple(sorted({a.offset for a in t.atoms})) or (0,)) for t in every]
        return found if self._own is None else [*found, (ATTRIBUTES, (0,))]

    def templates_of(self, ids: NDArray[np.int32]) -> list[int]:
        """The number of each feature's template; the number after the last template means the user's own features."""
        engine, plan = self._fitted()
        template = engine.state()[INDEX.index("feature_template")]
        if self._own is None:
            found: list[int] = template[ids].tolist()
            return found
        own, number = self._own.split(ids)
        of = np.full(len(number), len(plan.features.templates))
        of[~own] = template[number[~own]]
        listed: list[int] = of.tolist()
        return listed

    def observation_offsets(self) -> list[tuple[int, ...]]:
        """The offsets of the tokens that each label template observes; (0,) if it observes none."""
        labelled = [t for t in self._fitted()[1].features.templates if t.label_offsets]
        return [tuple(sorted({a.offset for a in t.observed})) or (0,) for t in labelled]

    def observation_name(self, label_template: int, observation: int) -> str:
        """The observed value of a label template, such as ``stem[0]=chop``."""
        return self._fitted()[0].observation_name(label_template, observation)

    def counts(self) -> NDArray[np.int32]:
        """The counts of features in training, descending; empty for a loaded encoder."""
        return self._fitted()[0].counts()

    def pruned(self, keep: NDArray[np.bool_]) -> "FeatureEncoder":
        """A new encoder with the features in ``keep`` (bool [F]), in the same order; this one does not change.

        >>> encoder = FeatureEncoder(["w[0]"])
        >>> _ = encoder.fit(TokenTable.from_lists({"w": [["the", "dog"]]}))
        >>> encoder.pruned(np.array([False, True])).names([0]), encoder.n_features
        (['w[0]=dog'], 2)
        """
        engine, _ = self._fitted()
        if keep.shape != (self.n_features,):
            raise ConfigError(f"expected keep for each of {self.n_features} features, got {len(keep)}")
        made = copy.copy(self)
        if self._own is not None:
            own, number = self._own.split(np.flatnonzero(keep))
            made._own, keep = self._own.kept(keep), np.zeros(self._own.T, bool)
            keep[number[~own]] = True
        made._engine = engine.pruned(np.ascontiguousarray(keep).view(np.uint8))
        return made

    def value_columns(self) -> dict[int, list[str]]:
        """For each column computed from words, by number: the columns that show its values in feature names.

        Empty if values are also compared with one another (``elsewhere``, ``run``, gazetteers), not only shown.
        """
        plan = self._fitted()[1]
        if plan.looks_elsewhere or any(
            s.function == "run" or s.function.startswith("phrases") for s in plan.sentences
        ):
            return {}
        return {
            c: [w.name, *(s.name for s in plan.sentences if s.argument == c)]
            for c, w in enumerate(plan.words)
        }

    def packed(self) -> Packed:
        """The content for a model file."""
        plan = self._fitted()[1]
        facts = EncoderFacts.of(plan, self.min_count, self.stretch)
        made = facts.packed() | self.index().packed() | WordLists.of(plan).packed()
        return made if self._own is None else made | self._own.packed()

    @classmethod
    def loaded(cls, file: ModelFile) -> "FeatureEncoder":
        """The encoder of a model file; every index is checked."""
        need = Requirements(file)
        facts = EncoderFacts.loaded(need)
        for name in facts.registered:
            if not is_registered(name):
                raise ConfigError(
                    f"this model reads the column {name!r}, which is not registered: "
                    f"register the function it was trained with (@column({name!r})) before loading"
                )
        lists = WordLists.loaded(need, gazetteers=facts.gazetteers)
        if facts.clusters != (lists.cluster is not None):
            raise need.fault("its header and its sections do not agree on word clusters")
        try:
            made = cls(
                facts.features(),
                min_count=facts.min_count,
                language=facts.language,
                clusters=None if lists.cluster is None else lists.cluster.clusters(),
                gazetteers=lists.phrases(facts.gazetteer_fold),
                stretch=facts.stretch,
            )
            made._open(
                Plan.of(facts.features(), facts.sources, made.language, made.clusters, made.gazetteers)
            )
            engine, plan = made._fitted()
            need.bind("its plan", "columns", len(plan.words))
            found = EngineSections.loaded(need)
            engine.restore(list(found.values), found.runs, *found.arrays())
        except (ConfigError, ModelFileError):
            raise
        except (KeyError, TypeError, IndexError, ValueError) as e:
            raise need.fault(f"the feature encoder in the file is damaged: {e}") from None
        made._own = OwnFeatures.loaded(file, engine.n_features)
        return made

    def index(self) -> EngineSections:
        """The index of the engine and the strings in it."""
        engine, plan = self._fitted()
        return EngineSections.of(engine, len(plan.words))

    def with_index(self, index: EngineSections, own: OwnFeatures | None) -> "FeatureEncoder":
        """A new encoder with the same plan and another index; the engine checks every key.

        A fitted encoder never changes, so ``reduced`` makes a new one here.
        own: the user's own features of tokens
        """
        made = copy.copy(self)
        made._open(self._fitted()[1])
        assert made._engine is not None
        made._engine.restore(list(index.values), index.runs, *index.arrays())
        made._own = own
        return made

    def _open(self, plan: Plan) -> None:
        self._plan = plan
        self._engine = plan.engine()

    def _fitted(self) -> tuple[_core.FeatureEngine, Plan]:
        if self._engine is None or self._plan is None:
            raise ConfigError("this FeatureEncoder is not fitted: call fit first")
        return self._engine, self._plan


def _no_rows(ptr: NDArray[np.int64]) -> FeatureRows:
    """Rows of sentences without features."""
    T = int(ptr[-1])
    return FeatureRows(np.zeros(T + 1, np.int64), np.zeros(0, np.int32), np.zeros((T, 0), np.int32), ptr)


def _attributes(given: Attributes | None) -> Attributes:
    if given is None:
        raise _missing_column(ATTRIBUTES, [])
    return given


def _columns(table: TokenTable, plan: Plan) -> list[tuple[list[str], NDArray[np.int32]]]:
    columns = dict(table.columns)
    if plan.computed:
        words = table.lists(WORD)
        for name, function in plan.computed.items():
            columns[name] = _computed(name, function, words)
    for name in plan.sources:
        if name not in columns:
            raise _missing_column(name, list(columns))
    return [(up_to_date(columns[name].types), columns[name].ids) for name in plan.sources]


def _vocabulary(engine: _core.FeatureEngine, plan: Plan, shared: Sequence[SharedTypes]) -> _core.Vocabulary:
    """The words of the sources, of which only new ones are described."""
    if id(engine) not in shared[0].kept:
        empty = engine.described([[] for _ in shared], plan.external, False), [0] * len(shared)
        shared[0].kept[id(engine)] = engine, empty
    words, counts = shared[0].kept[id(engine)][1]
    new = [types[count:] for types, count in zip(shared, counts, strict=True)]
    if any(new):
        engine.describe_more(words, new, plan.external)
        counts[:] = map(len, shared)
    found: _core.Vocabulary = words
    return found


def _table(given: Mapping[str, Strings]) -> TokenTable:
    """Columns of sentences as a table; a value may be None."""
    ptr = np.cumsum([0, *(len(row) for row in next(iter(given.values())))], dtype=np.int64)
    if any(len(row) != n for rows in given.values() for row, n in zip(rows, np.diff(ptr), strict=True)):
        raise DataError(
            "expected the same number of tokens in all columns of a sentence, found different numbers"
        )
    return TokenTable(ptr, {name: _column(v for row in rows for v in row) for name, rows in given.items()})


def _computed(name: str, function: SentenceFunction, sentences: list[list[str]]) -> Column:
    found: list[str | None] = []
    for words in sentences:
        values = function(words)
        if len(values) != len(words):
            raise DataError(f"column {name!r} gave {len(values)} values for {len(words)} words")
        found.extend(values)
    return _column(found)


def _column(values: Iterable[str | None]) -> Column:
    types: dict[str, int] = {}
    ids = [-1 if v is None else types.setdefault(v, len(types)) for v in values]
    return Column(list(types), np.array(ids, dtype=np.int32))


def _as_list(rows: Strings) -> list[Any]:
    return rows if isinstance(rows, list) else [list(row) for row in rows]


def _missing_column(name: str, there: Sequence[str]) -> DataError:
    return DataError(f"the features need column {name!r}; there are {', '.join(there) or 'none'}")
