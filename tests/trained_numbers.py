"""What every recipe learns from a small sample, in a few numbers that do not depend on how a model is laid out.

After a change of defaults or of arithmetic that is meant: ``python trained_numbers.py files/trained.json /dev/null``.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch import Aligner, Classifier, Parser, Reranker, Tagger, modelfile, samples
from chaffinch.estimators.candidate_lists import tag_lists
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.aligners import ALIGNERS
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.parsers import PARSERS
from chaffinch.recipes.rerankers import RERANKERS
from chaffinch.text.table import TokenTable
from recipe_models import MANY, _pairs, _trees

CALIBRATION = (
    "confidence",
    "prior",
)  # arrays that say how sure a model is: no weights, fitted after training
NUMBERS = Path(__file__).parent / "files" / "trained.json"

# Settings as the command line and the headers of files have them: flat.
TAGGER_SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "crf": ("crf", {}),
    "crf by sdca": ("crf", {"optimiser": "sdca", "passes": 4, "c2": 0.3}),
    "crf, precise": ("crf", {"optimiser": "precise", "tolerance": 0.01}),
    "crf, fast": ("crf", {"optimiser": "fast", "passes": 3}),
    "crf by sgd": ("crf", {"optimiser": "sgd", "rate": 0.1, "calibrate": True}),
    "crf by l-bfgs": ("crf", {"optimiser": "lbfgs", "passes": 8}),
    "crf with L1": ("crf", {"c1": 0.5, "tolerance": 0.001}),
    "crf of order 2": ("crf", {"order": 2}),
    "crf with a margin": ("crf", {"margin": 3.0, "recall": 1.5, "class_weight": "balanced"}),
    "crf of observed states": ("crf", {"states": "observed", "min_weight": 0.0}),
    "crf, pruned": ("crf", {"prune": 0.01, "bits": 8}),
    "crf in two passes": ("crf", {"second_pass": True}),
    "memm by l-bfgs": ("memm", {"optimiser": "lbfgs"}),
    "mira by arow": ("mira", {"rule": "arow"}),
    "mira of 3 best": ("mira", {"k": 3}),
    "perceptron without a margin": ("perceptron", {"margin": 0.0}),
    "ssvm by subgradient": ("ssvm", {"learner": "subgradient", "passes": 3}),
    "ssvm by n-slack": ("ssvm", {"learner": "n-slack", "passes": 3}),
    "ssvm by one-slack": ("ssvm", {"learner": "one-slack", "passes": 60, "rescale": "slack"}),
    "m3n by eg": ("m3n", {"learner": "exponentiated-gradient", "passes": 2}),
    "m3n by smo": ("m3n", {"learner": "smo", "passes": 2}),
    **{recipe.name: (recipe.name, {}) for recipe in TAGGERS if recipe.name != "crf"},
}
CLASSIFIER_SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    **{recipe.name: (recipe.name, {}) for recipe in CLASSIFIERS},
    "ridge to a gap": ("ridge", {"gap": 0.001}),
    "svm by the hinge": ("svm", {"loss": "hinge", "epochs": 7}),
    "maxent with L1": ("maxent", {"l1": 0.1}),
    "loglinear by AdaGrad": ("loglinear", {"adaptive": True, "epochs": 3, "schedule": "decaying"}),
}


def trained() -> dict[str, Callable[[], Any]]:
    """By name, how each is trained."""
    made: dict[str, Callable[[], Any]] = {}
    for name, (recipe, settings) in TAGGER_SETTINGS.items():
        made[f"tagger {name}"] = partial(_tagger, recipe, settings, dev=False)
        if "dev" in _WITH_DEV.get(recipe, ""):
            made[f"tagger {name}, dev"] = partial(_tagger, recipe, settings, dev=True)
    made["tagger crf of many labels"] = lambda: Tagger("crf").fit(MANY)
    for name, (recipe, settings) in CLASSIFIER_SETTINGS.items():
        made[f"classifier {name}"] = partial(_classifier, recipe, settings, dev=False)
        if CLASSIFIERS.by_name(recipe).train.__name__ == "train_classifier" and "nb" not in recipe:
            made[f"classifier {name}, dev"] = partial(_classifier, recipe, settings, dev=True)
    for recipe in PARSERS:
        made[f"parser {recipe.name}"] = partial(_parser, recipe.name)
    for recipe in ALIGNERS:
        made[f"aligner {recipe.name}"] = partial(_aligner, recipe.name)
    for recipe in RERANKERS:
        made[f"reranker {recipe.name}"] = partial(_reranker, recipe.name)
    return made


_WITH_DEV = dict.fromkeys(("crf", "memm", "perceptron", "mira", "ssvm", "m3n", "greedy", "beam"), "dev")


def _tagger(recipe: str, settings: dict[str, Any], dev: bool) -> Tagger:
    sample = "posts" if recipe == "semi-crf" or settings.get("order") == 2 else "ingredients"
    labelled = samples.load(sample, "train", n=30)
    words, tags = [d.words() for d in labelled], [d.columns["y"] for d in labelled]
    held_out = samples.load(sample, "dev", n=30)
    tagger = Tagger(TAGGERS.by_name(recipe).configured(settings), seed=3)
    if not dev:
        return tagger.fit(words, tags)
    return tagger.fit(words, tags, dev=([d.words() for d in held_out], [d.columns["y"] for d in held_out]))


def _classifier(recipe: str, settings: dict[str, Any], dev: bool) -> Classifier:
    texts = samples.load("reviews", "train", n=60)
    X, y = [d.text for d in texts], [d.labels[0] for d in texts]
    held_out = samples.load("reviews", "dev", n=60)
    kept = ([d.text for d in held_out], [d.labels[0] for d in held_out]) if dev else None
    classifier = Classifier(CLASSIFIERS.by_name(recipe).configured(settings), features="words", seed=3)
    return classifier.fit(X, y, dev=kept)


def _parser(recipe: str) -> Parser:
    return Parser(recipe).fit(_trees())


def _aligner(recipe: str) -> Aligner:
    return Aligner(recipe).fit(*_pairs())


def _reranker(recipe: str) -> Reranker:
    labelled = samples.load("ingredients", "train", n=80)
    words, tags = [d.words() for d in labelled], [d.columns["y"] for d in labelled]
    base = Tagger("hmm").fit(words[:20], tags[:20])
    table = TokenTable.from_lists({"w": words[20:], "y": tags[20:]})
    return Reranker(recipe).fit(tag_lists(base, table, 5, gold=tags[20:]))


def numbers(estimator: Any, path: Path) -> list[float]:
    """How many weights are not zero; sums of those above zero, of all sizes, of all squares; how many passes."""
    estimator.save(path)
    arrays = modelfile.read(str(path)).arrays
    floats = [
        array.ravel().astype(np.float64)
        for name, array in arrays.items()
        if not name.startswith(CALIBRATION) and (array.dtype.kind == "f" or array.dtype == np.int8)
    ]
    values = np.concatenate([np.zeros(1), *floats])
    values = values[(np.abs(values) < 1e30) & (values != 0)]
    values = np.sort(values)
    sums = (values[values > 0].sum(), np.abs(values).sum(), np.square(values).sum())
    return [float(len(values)), *(float(s) for s in sums), float(len(estimator.history_))]


if __name__ == "__main__":
    import hashlib
    import sys
    import tempfile

    found, exact = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, train in trained().items():
            path = Path(folder) / "model.chaff"
            found[name] = numbers(train(), path)
            arrays = modelfile.read(str(path)).arrays
            whole = hashlib.sha256()
            for key in sorted(arrays):
                whole.update(key.encode() + np.ascontiguousarray(arrays[key]).tobytes())
            exact[name] = whole.hexdigest()
            print(name, found[name], file=sys.stderr)
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n")
    Path(sys.argv[2]).write_text(json.dumps(exact, indent=1) + "\n")
