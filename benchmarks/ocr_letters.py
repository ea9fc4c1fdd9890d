"""OCR letters for the benchmarks of margins: words of some folds, as ours reads them and as python-crfsuite does."""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.corpora import corpus

LETTERS = "ocr_letters/letters.npz"
SMALL, LARGE = ("0", "1-9"), ("1-9", "0")


def tables(folds: tuple[str, str]) -> tuple[Any, Any]:
    """Training and test words as tables; reading the archive is not timed."""
    from chaffinch.corpus import read
    from chaffinch.text.table import TokenTable

    train, test = (TokenTable.from_documents(read(corpus(LETTERS), folds=f)) for f in folds)
    return train, test


def imported(given: tuple[Any, Any]) -> Any:
    """The training words, and what is imported before the clock starts."""
    from chaffinch.estimators import Tagger

    return given[0], Tagger


def structured_svm(ready: Any) -> Any:
    """The structured SVM as the recipe ships it, from images to a tagger, its gap measured after every pass."""
    train, Tagger = ready
    return Tagger("ssvm", folds=0, threads=1).fit(train)


def pixel_strings(table: Any) -> list[list[list[str]]]:
    """The black pixels of every letter, by name, and a constant: what a CRFsuite user writes."""
    names = [f"p{k}" for k in range(128)]
    rows = []
    for word in table.lists("w"):
        bits = [bin(int(image, 16))[2:].zfill(128) for image in word]
        rows.append([["bias", *(names[k] for k, b in enumerate(letter) if b == "1")] for letter in bits])
    return rows


def crfsuite_input(given: tuple[Any, Any]) -> Any:
    """Items ready for the trainer; not timed."""
    import pycrfsuite

    train, _ = given
    return pixel_strings(train), train.lists("y"), pycrfsuite


def crfsuite_lbfgs(ready: Any) -> Any:
    """CRFsuite's L-BFGS with c2 = 1 and weights for all transitions, from lists of features to a tagger."""
    return _crfsuite(ready, "lbfgs", {"c1": 0.0, "c2": 1.0})


def crfsuite_perceptron(ready: Any) -> Any:
    """CRFsuite's averaged perceptron as it comes, with weights for all transitions."""
    return _crfsuite(ready, "ap", {})


def _crfsuite(ready: Any, algorithm: str, settings: dict[str, float]) -> Any:
    """A tagger from lists of features."""
    X, y, pycrfsuite = ready
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    trainer.set_params({**settings, "feature.possible_transitions": True})
    for word, labels in zip(X, y, strict=True):
        trainer.append(word, labels)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "m.crfsuite")
        trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        return tagger


def right(given: tuple[Any, Any], output: Any) -> dict[str, float]:
    """Shares of letters and words that are right when the test words are read."""
    test = given[1]
    gold = test.lists("y")
    ours = hasattr(output, "predict")
    read = output.predict(test) if ours else [output.tag(word) for word in pixel_strings(test)]
    pairs = [(g, list(f)) for g, f in zip(gold, read, strict=True)]
    letters = sum(len(g) for g, _ in pairs)
    return {
        "letters": sum(a == b for g, f in pairs for a, b in zip(g, f, strict=True)) / letters,
        "words": sum(g == f for g, f in pairs) / len(pairs),
    }


def benchmark(name: str, folds: tuple[str, str], question: str, *, repeats: int) -> Benchmark:
    """The structured SVM beside CRFsuite's CRF in one regime."""
    return Benchmark(
        name=name,
        question=question,
        input=lambda _seed: tables(folds),
        work=lambda given: (float(given[0].n_tokens), "letters"),
        ours=Contender(name="chaffinch ssvm", prepare=imported, run=structured_svm),
        rivals=(
            Contender(
                name="python-crfsuite lbfgs",
                prepare=crfsuite_input,
                run=crfsuite_lbfgs,
                package="python-crfsuite",
            ),
        ),
        scores=right,
        bar=8.0,
        needs=(LETTERS,),
        repeats=repeats,
        timeout=900.0,
    )
