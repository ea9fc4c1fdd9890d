"""Model files of an earlier version and what their models answered, so that every later version reads them alike.

    python tests/old_models.py [NAME ...]    trains models, writes tests/files/models/NAME.chaff and NAME.json

Files that are there already are kept: they show what an earlier version wrote. Delete one to have it written anew.
"""

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

import recipe_models as small
from chaffinch import Aligner, Classifier, ConfigError, Parser, Reranker, Tagger, load, samples
from chaffinch.corpus.brackets import bracketed
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.kernels import PartialTreeKernel, Spectrum, SubsetTreeKernel, WordSequence
from chaffinch.learners.choice_gradient import ChoiceBatch, ChoiceSgd
from chaffinch.learners.dual import DualRest, DualRidge
from chaffinch.learners.kernel_svm import KernelSvm
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.hmm import Hmm
from chaffinch.recipes.incremental_search import BeamTagger, EasiestFirstTagger, Greedy
from chaffinch.recipes.margin import MaxMarginMarkovNetwork, StructuredSvm
from chaffinch.recipes.memm import Memm
from chaffinch.recipes.perceptron import MiraTagger
from chaffinch.recipes.semi_crf import SemiCrf
from chaffinch.text.document import Tree

FOLDER = Path(__file__).parent / "files" / "models"

WORDS = [
    *small.WORDS[:3],
    ["Ann", "sang", "in", "Oslo"],
    ["Lee"],
    ["Bob", "Lee", "left", "Paris", "in", "Rome"],
]
TEXTS = ["so good", "very bad", "good jays, bad owls", "quite unheard of", ""]
PRESETS = ("mail", "questions", "sentences", "tf-idf", "top-20000")

Trained = Callable[[], Any]


def models() -> dict[str, Trained]:
    """How each model is trained, by the name of its file: every recipe of every kind, and settings beyond."""
    made = {name.replace(" ", "-"): train for name, (train, _) in small.models().items()}
    for name, tagger in _taggers().items():
        made[f"tagger-{name}"] = lambda tagger=tagger: tagger.fit(small.WORDS, small.TAGS)
    for name, classifier in _classifiers().items():
        made[f"classifier-{name}"] = lambda classifier=classifier: classifier.fit(small.TEXTS, small.LABELS)
    several = [["+"], ["-"], ["+", "bird"], ["-", "bird"]] * 3
    for name, config in {
        "svm": DualRest(),
        "ridge": DualRidge(),
        "maxent": ChoiceBatch(each=True),
        "loglinear": ChoiceSgd(loss="labels"),
    }.items():
        made[f"classifier-several-labels-{name}"] = lambda config=config: Classifier(config).fit(
            small.TEXTS, several
        )
    three = [*"abc"] * 4
    made["classifier-three-labels-logistic"] = lambda: Classifier("logistic").fit(small.TEXTS, three)
    made["classifier-three-labels-kernel"] = lambda: Classifier("kernel-svm").fit(small.TEXTS, three)
    made["classifier-numbers"] = lambda: Classifier("ridge").fit(_numbers(), small.LABELS)
    made["classifier-trees"] = lambda: Classifier("kernel-svm", kernel=SubsetTreeKernel().normalised()).fit(
        _labelled_trees(), small.LABELS
    )
    made["classifier-partial-trees"] = lambda: Classifier("knn", kernel=PartialTreeKernel()).fit(
        _labelled_trees(), small.LABELS
    )
    return made


def _taggers() -> dict[str, Any]:
    bigrams = ["w[-1..1]", "suffix2[0]", "y[-1]|w[0]"]
    few = ["w[-1..1]", "suffix2[0]"]
    return {
        "crf-bigram-templates": Tagger(Crf(), features=bigrams),
        "crf-pruned": Tagger(Crf(prune=0.05)),
        "crf-sparse": Tagger(Crf(c1=0.5, optimiser="lbfgs")),
        "crf-observed": Tagger(Crf(states="observed")),
        "crf-order-2-8-bits": Tagger(Crf(order=2, bits=8)),
        "crf-second-pass-pruned": Tagger(Crf(second_pass=True, prune=0.05)),
        "crf-as-given": Tagger(Crf(inside="as given", constraints=False), features=few),
        "memm-lbfgs": Tagger(Memm(optimiser="lbfgs")),
        "semi-crf-short": Tagger(SemiCrf(longest=2, span_count=1)),
        "mira-k-best": Tagger(MiraTagger(k=3)),
        "mira-arow": Tagger(MiraTagger(rule="arow")),
        "ssvm-subgradient": Tagger(StructuredSvm(learner="subgradient")),
        "m3n-with-a-kernel": Tagger(MaxMarginMarkovNetwork(kernel="quadratic"), features=few),
        "m3n-cubic": Tagger(MaxMarginMarkovNetwork(kernel="cubic"), features=few),
        "hmm-of-order-1": Tagger(Hmm(order=1)),
        "hmm-one-unknown": Tagger(Hmm(unknown="one")),
        "greedy-8-bits": Tagger(Greedy(bits=8, window=2)),
        "easiest-first-templates": Tagger(EasiestFirstTagger(), features=[*bigrams, "y[1]|w[0]"]),
        "beam-dictionary": Tagger(BeamTagger(width=3, dictionary=1)),
    }


def _classifiers() -> dict[str, Any]:
    characters = TextVectorizer(unit="char_wb", ngram_low=2, ngram_high=3)
    return {
        "32-bits": Classifier("logistic", bits=32),
        "weighted-features": Classifier("svm", features=TextVectorizer(min_df=2, idf=True, norm="l2")),
        "hashed": Classifier("ridge", features=TextVectorizer(hash_bits=6)),
        "union": Classifier("maxent", features=[TextVectorizer(), characters]),
        **{preset: Classifier("ridge", features=preset) for preset in PRESETS},
        "spectrum": Classifier("kernel-svm", kernel=Spectrum(low=1, high=3).normalised()),
        "word-sequence": Classifier("kernel-perceptron", kernel=WordSequence().normalised()),
        "one-against-rest": Classifier(KernelSvm(against="rest")),
    }


def _numbers() -> Any:
    return np.array([[i % 2, i % 3, 0.25 * i] for i in range(len(small.TEXTS))])


def _labelled_trees() -> list[Tree]:
    """Trees of the sample, as many as there are labels."""
    return [d.tree for d in samples.load("trees", "train", n=len(small.LABELS)) if d.tree is not None]


def answers(model: Any, name: str) -> Any:
    """What a model says of a few inputs, as JSON holds it."""
    match model:
        case Tagger():
            found = {"predict": model.predict(WORDS)}
            with suppress(ConfigError):  # some give one labelling and no probabilities
                found["kbest"] = model.predict_kbest(WORDS, 2)
            with suppress(ConfigError):
                found["marginals"] = model.predict_marginals(WORDS)
        case Classifier():
            X = _numbers()[:4] if "numbers" in name else _labelled_trees()[:4] if "trees" in name else TEXTS
            found = {"predict": model.predict(X), "scores": model.decision_function(X)}
            found["proba"] = model.predict_proba(X)
        case Parser():
            words = [[t.text for t in d.tokens] for d in samples.load("trees", "dev", n=3)]
            found = {"predict": model.predict(words), "kbest": model.predict_kbest(words, 2)}
            found["marginals"] = model.predict_marginals(words)
        case Aligner():
            pairs = [(d.words(), d.links.target) for d in samples.load("pairs", "dev", n=3)]
            found = {"predict": model.predict(pairs), "kbest": model.predict_kbest(pairs, 2)}
        case Reranker():
            lists = small._tree_lists() if "kernel" in name else small._lists()[:3]
            found = {"choose": model.choose(lists), "scores": model.scores(lists)}
        case _:
            raise TypeError(type(model))
    return plain(found)


def plain(thing: Any) -> Any:
    """Lists, mappings, strings and numbers alone."""
    match thing:
        case Tree():
            return bracketed(thing)
        case np.ndarray() | np.generic():
            return plain(thing.tolist())
        case dict():
            return {key: plain(value) for key, value in thing.items()}
        case set() | frozenset():
            return sorted(plain(value) for value in thing)
        case list() | tuple():
            return [plain(value) for value in thing]
        case float():
            return float(f"{thing:.9g}") if np.isfinite(thing) else str(thing)
        case _ if is_dataclass(thing) and not isinstance(thing, type):
            return plain(asdict(thing))
    return thing


def differences(now: Any, then: Any, at: str = "") -> list[str]:
    """What differs: strings and lengths at all, numbers by more than a millionth."""
    if isinstance(then, dict) and isinstance(now, dict) and now.keys() == then.keys():
        return [d for key in then for d in differences(now[key], then[key], f"{at}/{key}")]
    if isinstance(then, list) and isinstance(now, list) and len(now) == len(then):
        return [
            d for i, (a, b) in enumerate(zip(now, then, strict=True)) for d in differences(a, b, f"{at}/{i}")
        ]
    if isinstance(then, float) and isinstance(now, float):
        return [] if abs(now - then) <= 1e-6 * max(1.0, abs(then)) else [f"{at}: {now!r} was {then!r}"]
    return [] if now == then else [f"{at}: {now!r} was {then!r}"]


def main(names: list[str]) -> None:
    """Write what is not there yet."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, train in models().items():
        path = FOLDER / f"{name}.chaff"
        if path.exists() or (names and name not in names):
            continue
        train().save(path)
        text = json.dumps(answers(load(path), name), ensure_ascii=False)
        path.with_suffix(".json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {path.stat().st_size:,} bytes, answers {len(text):,}")


if __name__ == "__main__":
    main(sys.argv[1:])
