"""The structured perceptron on CoNLL-2000 from raw columns, beside CRFsuite's averaged perceptron."""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.benchmark import Benchmark, Contender
from benchmarks.chunking_columns import NEEDS, Columns, columns, string_features

EPOCHS = 10


def parts(_seed: int) -> dict[str, Columns]:
    return {part: columns(part) for part in ("train", "test")}


def tagger(given: dict[str, Columns]) -> Any:
    from chaffinch.estimators import Tagger
    from chaffinch.recipes.perceptron import StructuredPerceptron
    from chaffinch.text.table import TokenTable

    config = StructuredPerceptron(epochs=EPOCHS, margin=0.0, inside="as given", constraints=False)
    return Tagger(config, features="chunking19", folds=0, threads=1), TokenTable, given


def ours(prepared: Any) -> Any:
    made, table, given = prepared
    return made.fit(table.from_lists(given["train"]))


def crfsuite(given: dict[str, Columns]) -> Any:
    import pycrfsuite

    return pycrfsuite, given["train"]


def theirs(prepared: Any) -> str:
    pycrfsuite, train = prepared
    trainer = pycrfsuite.Trainer("ap", {"max_iterations": EPOCHS}, verbose=False)
    for words, tags, labels in zip(train["w"], train["pos"], train["y"], strict=True):
        trainer.append(string_features(words, tags), labels)
    path = Path(tempfile.mkdtemp()) / "model.crfsuite"
    trainer.train(str(path))
    return str(path)


def scores(given: dict[str, Columns], trained: Any) -> dict[str, float]:
    from chaffinch.evaluate import score_tags

    test = given["test"]
    if isinstance(trained, str):
        import pycrfsuite

        made = pycrfsuite.Tagger()
        made.open(trained)
        found = [made.tag(string_features(w, p)) for w, p in zip(test["w"], test["pos"], strict=True)]
        Path(trained).unlink()
    else:
        found = trained.predict({name: test[name] for name in ("w", "pos")})
    return {"F1": score_tags(test["y"], found).as_dict()["span.micro.f1"]}


BENCHMARK = Benchmark(
    name="perceptron_conll2000",
    question="How fast is a structured perceptron trained on CoNLL-2000, ten epochs from raw columns, one thread?",
    input=parts,
    work=lambda given: (float(EPOCHS * sum(map(len, given["train"]["w"]))), "tokens"),
    ours=Contender(name="chaffinch", prepare=tagger, run=ours),
    rivals=(Contender(name="crfsuite ap", prepare=crfsuite, run=theirs, package="python-crfsuite"),),
    scores=scores,
    bar=8.0,
    needs=NEEDS,
    repeats=3,
)
