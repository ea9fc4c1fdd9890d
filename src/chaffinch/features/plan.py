"""The plan: the columns that a set of templates needs, in the core's order."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chaffinch import _core
from chaffinch.errors import ConfigError
from chaffinch.features.templates import FeatureSet, columns_of
from chaffinch.text.clusters import Clusters
from chaffinch.text.columns import (
    SentenceFunction,
    WordsFunction,
    code_point_kinds,
    known_columns,
    native_column,
    pattern_column,
    sentence_column,
    words_column,
)
from chaffinch.text.document import WORD
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.sentence_structure import SENTENCE_COLUMNS, TRIGGERS, prepositions


@dataclass(frozen=True)
class WordColumn:
    """A function of the strings of one source; ``python`` is set if the core cannot compute it."""

    name: str
    source: int
    function: str
    parameter: int = 0
    python: WordsFunction | None = None


@dataclass(frozen=True)
class SentenceColumn:
    """A function of the whole sentence; ``argument`` is a word column or a list of phrases."""

    name: str
    function: str
    argument: int = -1


@dataclass(frozen=True)
class Plan:
    """Columns resolved to their sources, ready for the core.

    sources:  the columns that are read token by token, the word first
    computed: the sources that a registered function computes from the sentence's words
    """

    features: FeatureSet
    sources: list[str]
    computed: dict[str, SentenceFunction]
    words: list[WordColumn]
    sentences: list[SentenceColumn]
    language: str
    clusters: Clusters | None
    gazetteers: Gazetteers | None

    @cached_property
    def given(self) -> tuple[str, ...]:
        """The sources that the corpus must have."""
        return tuple(s for s in self.sources if s not in self.computed)

    @cached_property
    def looks_elsewhere(self) -> bool:
        """Whether some template reads the other occurrences of a word in its document."""
        return any(s.function.startswith("elsewhere") for s in self.sentences)

    @classmethod
    def of(
        cls,
        features: FeatureSet,
        columns: Sequence[str],
        language: str,
        clusters: Clusters | None,
        gazetteers: Gazetteers | None,
    ) -> "Plan":
        """Resolve the columns of the templates: the corpus's own first, then patterns, then functions."""
        made = cls(features, [WORD], {}, [], [], language, clusters, gazetteers)
        if WORD not in columns:
            raise ConfigError(
                f"features need the word column {WORD!r}; there are {', '.join(columns) or 'none'}"
            )
        for name in columns_of(features.templates):
            made._add(name, columns)
        return made

    def external(self, column: int, words: list[str]) -> list[str | None]:
        """The values of a Python column for words that are new to the core."""
        function = self.words[column].python
        assert function is not None
        return list(function(words))

    def engine(self) -> _core.FeatureEngine:
        """A fresh engine for this plan."""
        names = [c.name for c in self.words] + [c.name for c in self.sentences]
        number = {name: i for i, name in enumerate(names)}
        clusters = self.clusters or Clusters([], np.zeros(0, np.int32), [])
        gazetteers = self.gazetteers or Gazetteers({})
        return _core.FeatureEngine(
            sources=len(self.sources),
            words=[(c.source, c.function, c.parameter) for c in self.words],
            sentences=[(c.function, c.argument) for c in self.sentences],
            names=names,
            templates=[
                ([(number[a.column], a.offset) for a in t.observed], t.window, list(t.label_offsets))
                for t in self.features.templates
            ],
            marked=self.features.boundary,
            prepositions=list(prepositions(self.language)),
            triggers=list(TRIGGERS),
            lists=[(name, [list(p) for p in phrases]) for name, phrases in gazetteers.lists.items()],
            fold=gazetteers.fold,
            cluster_words=clusters.words,
            cluster_path=clusters.path,
            cluster_paths=clusters.paths,
            kinds=code_point_kinds,
        )

    def _add(self, name: str, columns: Sequence[str]) -> None:
        if name in columns:
            self._add_word(WordColumn(name, self._source(name), "identity"))
        elif name in SENTENCE_COLUMNS:
            function, reads, _ = SENTENCE_COLUMNS[name]
            argument = -1
            if reads is not None:
                hidden = name if reads != "lower" else "lower"
                argument = self._add_word(WordColumn(f"{hidden}'", 0, reads))
            self.sentences.append(SentenceColumn(name, function, argument))
        elif (computed := sentence_column(name)) is not None:
            self.computed[name] = computed
            self._add_word(WordColumn(name, self._source(name), "identity"))
        elif name == "gaz" or name.startswith("gaz_"):
            self.sentences.append(self._phrases(name))
        else:
            self._add_word(self._function(name, columns))

    def _add_word(self, column: WordColumn) -> int:
        for i, c in enumerate(self.words):
            if c.name == column.name:
                return i
        self.words.append(column)
        return len(self.words) - 1

    def _source(self, name: str) -> int:
        if name not in self.sources:
            self.sources.append(name)
        return self.sources.index(name)

    def _phrases(self, name: str) -> SentenceColumn:
        lists = list(self.gazetteers.lists) if self.gazetteers else []
        if name == "gaz":
            if not lists:
                raise ConfigError("a template reads 'gaz', but no gazetteer was given")
            return SentenceColumn(name, "phrases")
        wanted = name.removeprefix("gaz_")
        if wanted not in lists:
            there = f"there are {', '.join(lists)}" if lists else "none was given"
            raise ConfigError(f"a template reads {name!r}, but there is no gazetteer {wanted!r}; {there}")
        return SentenceColumn(name, "phrases_list", lists.index(wanted))

    def _function(self, name: str, columns: Sequence[str]) -> WordColumn:
        function, _, source = name.rstrip(")").partition("(")
        source = source or WORD
        if source not in columns:
            raise ConfigError(f"a template reads {name!r}, but there is no column {source!r}")
        number = self._source(source)
        if function in self.features.patterns:
            p = self.features.patterns[function]
            return WordColumn(name, number, "external", 0, pattern_column(p.regex, p.what, p.lower, function))
        native = native_column(function)
        if native is not None:
            if native.function == "cluster" and self.clusters is None:
                raise ConfigError(f"a template reads {name!r}, but no clusters were given")
            return WordColumn(name, number, native.function, native.parameter)
        python = words_column(function, self.language)
        if python is None:
            raise ConfigError(
                f"no column {name!r}: the corpus has {', '.join(columns)}; functions are "
                f"{', '.join([*known_columns(), *SENTENCE_COLUMNS])}; "
                f"register your own with @column({name!r})"
            )
        return WordColumn(name, number, "external", 0, python)
