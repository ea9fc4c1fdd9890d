"""Presets of features of documents: kinds of n-grams, their weighting, and the scale of each kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chaffinch.corpus.phrases import LabelledPhrases
from chaffinch.errors import ConfigError
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.views import View
from chaffinch.knobs import check, knobs
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.text.clusters import Clusters

# Presence times idf, each kind of n-gram normalised to length one. Chosen on the training split of 20 newsgroups: there
# it beats counts and their logarithms, also with idf to the power of 1.5 or 2.
PRESENCE: dict[str, Any] = {"binary": True, "idf": True, "idf_power": 1.5, "norm": "l2", "min_df": 2}
RARITY: dict[str, Any] = {**PRESENCE, "idf_power": 2.0}

# Short texts: keep rare n-grams and punctuation.
SHORT: dict[str, Any] = {"binary": True, "idf": True, "norm": "l2", "min_df": 1, "tokens": "marks"}

# Questions: frequent words are the most informative.
ASKED: dict[str, Any] = {**SHORT, "idf": False}

# The approximate number of words in a mail's headers.
HEADERS = 30


@dataclass(frozen=True)
class TextFeatures:
    """Kinds of n-grams, each with a factor for its values.

    A kind has the settings of a :class:`TextVectorizer`, and ``opening``, ``bits`` and ``head`` of a :class:`View`.
    Labelled phrases add features of their own, multiplied by ``phrase_scale``.

    >>> TextFeatures.named("words").ngrams[0][0]["ngram_high"]
    2
    """

    ngrams: tuple[tuple[Mapping[str, Any], float], ...]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    clusters: Clusters | None = None
    phrases: LabelledPhrases | None = None
    phrase_scale: float = 0.4

    @classmethod
    def named(cls, name: str) -> "TextFeatures":
        """The preset of this name; ConfigError lists the known names."""
        if name not in PRESETS:
            raise ConfigError(f"there are no text features {name!r}; there are {', '.join(PRESETS)}")
        return PRESETS[name]

    @classmethod
    def of(cls, features: Any) -> "TextFeatures":
        """From a preset's name, one vectoriser, several, or pairs of a vectoriser and its scale."""
        if isinstance(features, TextFeatures):
            return features
        if features is None or isinstance(features, str):
            return cls.named(features or DEFAULT)
        if isinstance(features, TextVectorizer):
            return cls(((_settings(features), 1.0),))
        if isinstance(features, Sequence) and features:
            pairs = [one if isinstance(one, tuple) else (one, 1.0) for one in features]
            if all(isinstance(v, TextVectorizer) for v, _ in pairs):
                return cls(tuple((_settings(v), float(s)) for v, s in pairs))
        raise ConfigError(
            f"features must be one of {', '.join(PRESETS)}, a TextVectorizer, or a list of them, got {features!r}"
        )

    @classmethod
    def of_encoder(cls, encoder: DocumentEncoder) -> "TextFeatures":
        """The features of a trained model's encoder, to train another model with them."""
        if encoder.union is None or encoder.valences is not None or encoder.union.beside_columns:
            raise ConfigError(
                "this model reads numbers or labelled phrases, which its file does not hold: use chaffinch train"
            )
        kinds = []
        for vectorizer, view, scale in zip(
            encoder.union.vectorizers, encoder.views, encoder.scales, strict=True
        ):
            seen = {name: value for name in _OF_VIEW if (value := getattr(view, name))}
            kinds.append(({**_settings(vectorizer), **seen}, float(scale)))
        return cls(tuple(kinds), clusters=encoder.clusters)

    def with_clusters(self, path: str | Path | None) -> "TextFeatures":
        """The same with word clusters from a file; without a file, features that need clusters are left out."""
        if path is None:
            return self
        if not any("bits" in settings for settings, _ in self.ngrams):
            raise ConfigError("these features use no word clusters; the preset questions does")
        return replace(self, clusters=Clusters.read(path))

    def with_phrases(self, phrases: "str | Path | LabelledPhrases | None") -> "TextFeatures":
        """The same with features from labelled phrases: trees with a label at every node, or short documents."""
        if phrases is None:
            return self
        read = phrases if isinstance(phrases, LabelledPhrases) else LabelledPhrases.read(phrases)
        return replace(self, phrases=read)

    def with_settings(self, overrides: Mapping[str, Any]) -> "TextFeatures":
        """The same with some settings of the vectorisers replaced.

        Settings of n-grams and tokens apply to the first vectoriser only, stop words and stems to words only.
        """
        return replace(self, overrides={**self.overrides, **overrides}) if overrides else self

    @property
    def reads_labels(self) -> bool:
        """Whether some features are selected or weighted by the labels."""
        merged = [{**settings, **self.overrides} for settings, _ in self.ngrams]
        return any(m.get("ratios") or m.get("feature_drop") or m.get("feature_size") for m in merged)

    def encoder(self, documents: int, seed: int, threads: int) -> DocumentEncoder:
        """An unfitted encoder; ``documents`` is the number of documents that it will be fitted to."""
        vectorizers, scales, views = [], [], []
        for i, (given, scale) in enumerate(self.ngrams):
            view = View(**{k: v for k, v in given.items() if k in _OF_VIEW})
            if view.bits and self.clusters is None:
                continue
            settings = {k: v for k, v in given.items() if k not in _OF_VIEW}
            words = i == 0 or settings.get("unit", "word") == "word"
            kept = (() if i == 0 else _FIRST_ONLY) + (() if words else _WORDS_ONLY)
            mine = {k: v for k, v in self.overrides.items() if k not in kept}
            # In a handful of documents every n-gram is rare, so none is left out.
            least = (
                {"min_df": 1} if documents < FEW and settings.get("min_df", 1) == PRESENCE["min_df"] else {}
            )
            vectorizer = TextVectorizer(**{**settings, **least, **mine, "seed": seed, "threads": threads})
            check(vectorizer)
            vectorizers.append(vectorizer)
            scales.append(scale)
            views.append(view)
        return DocumentEncoder.of(
            vectorizers, scales, views, self.clusters if any(v.bits for v in views) else None
        )


FEW = 100
_OF_VIEW = ("opening", "bits", "head")
_FIRST_ONLY = ("ngram_low", "ngram_high", "tokens", "unit")
_WORDS_ONLY = ("stopwords", "stemming")

# Kinds of features that several presets share: words, pairs, the strings between white space.
MORE_WORDS: tuple[tuple[Mapping[str, Any], float], ...] = (
    ({"ngram_high": 1, **RARITY}, 1.0),
    ({"ngram_low": 2, "ngram_high": 2, **RARITY}, 0.7),
    ({"tokens": "spaces", "ngram_high": 1, **RARITY}, 0.7),
)
CHARACTERS: tuple[Mapping[str, Any], float] = (
    {"unit": "char_wb", "ngram_low": 3, "ngram_high": 5, **PRESENCE, "min_df": 3},
    1.0,
)
# The same with stems, and the headers again as features of their own: sender, host, subject.
MAIL: tuple[tuple[Mapping[str, Any], float], ...] = (
    ({"ngram_high": 1, "stemming": "stem", **RARITY}, 1.0),
    *MORE_WORDS[1:],
    ({"opening": HEADERS, "ngram_high": 2, **RARITY}, 0.5),
    ({"opening": HEADERS, "tokens": "spaces", "ngram_high": 1, **RARITY}, 0.5),
)

LOGARITHMS: dict[str, Any] = {**SHORT, "binary": False, "sublinear": True}
SENTENCES: tuple[Mapping[str, Any], ...] = (
    {"ngram_high": 2, **LOGARITHMS},
    {"unit": "char", "ngram_low": 2, "ngram_high": 6, **LOGARITHMS},
)

PRESETS = {
    "words": TextFeatures((({"ngram_high": 2, **PRESENCE}, 1.0),)),
    "more-words": TextFeatures(MORE_WORDS),
    "words+characters": TextFeatures((*MORE_WORDS, CHARACTERS)),
    "characters": TextFeatures(
        (
            (
                {
                    "unit": "char_wb",
                    "ngram_low": 1,
                    "ngram_high": 4,
                    "sublinear": True,
                    "idf": True,
                    "norm": "l2",
                    "min_df": 2,
                },
                1.0,
            ),
        )
    ),
    "mail": TextFeatures(MAIL),
    "mail+characters": TextFeatures(
        (
            *MAIL,
            CHARACTERS,
            (
                {
                    "unit": "char_wb",
                    "ngram_low": 3,
                    "ngram_high": 5,
                    "opening": HEADERS,
                    **PRESENCE,
                },
                0.5,
            ),
        )
    ),
    "questions": TextFeatures(
        (
            ({"ngram_high": 1, **ASKED}, 1.0),
            ({"ngram_low": 2, "ngram_high": 2, **ASKED}, 0.7),
            ({"ngram_high": 4, "opening": 4, **ASKED}, 1.0),
            ({"unit": "char", "ngram_low": 2, "ngram_high": 6, **ASKED}, 1.0),
            ({"ngram_high": 2, "head": True, **ASKED, "tokens": "spaces"}, 0.7),
            *(({**ASKED, "tokens": "spaces", "bits": bits}, 0.7) for bits in (6, 10, 20)),
        )
    ),
    "sentences": TextFeatures(tuple((kind, 1.0) for kind in SENTENCES)),
    "counts": TextFeatures((({"ngram_high": 2, "min_df": 2}, 1.0),)),
    "presence": TextFeatures((({"ngram_high": 2, "binary": True, "min_df": 2}, 1.0),)),
    "tf-idf": TextFeatures(
        (({"ngram_high": 2, "sublinear": True, "idf": True, "norm": "l2", "min_df": 2}, 1.0),)
    ),
    "top-20000": TextFeatures(
        (
            (
                {
                    "ngram_high": 2,
                    "binary": True,
                    "stopwords": "english",
                    "stemming": "stem",
                    "cleaning": "mail",
                    "feature_size": 20000,
                },
                1.0,
            ),
        )
    ),
}
DEFAULT = "words"


def _settings(vectorizer: TextVectorizer) -> dict[str, Any]:
    own = {
        k.name: getattr(vectorizer, k.name) for k in knobs(vectorizer) if k.name not in ("seed", "threads")
    }
    return own | {"stop_list": vectorizer.stop_list}
