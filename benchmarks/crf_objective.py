"""How fast is the optimum reached? The same model as CRFsuite's: weights for observed pairs only, c2 = 1."""

from typing import Any

import numpy as np

from benchmarks import crfsuite_rival as rival
from benchmarks.benchmark import Benchmark, Contender
from benchmarks.crf_conll2000 import TOKENS, TRAIN, files

# Dual ascent stops here, at less than 0.1 % above the optimum.
TOLERANCE = 0.004


def prepared(given: Any) -> Any:
    import chaffinch.corpus
    from chaffinch.features.encoder import FeatureEncoder
    from chaffinch.learners.likelihood import Sdca
    from chaffinch.recipes.crf_problem import CrfLayout, crf_problem
    from chaffinch.recipes.encoding import InnerLabels

    return given, chaffinch.corpus.read_table, FeatureEncoder, InnerLabels, CrfLayout, crf_problem, Sdca


def ours(ready: Any) -> Any:
    (train, _, seed), read_table, FeatureEncoder, InnerLabels, CrfLayout, crf_problem, Sdca = ready
    table = read_table(train)
    encoder = FeatureEncoder("chunking19", threads=1)
    rows = encoder.fit(table)
    inner = InnerLabels.of(table.columns["y"], table.ptr, "as given")
    shape = CrfLayout(encoder.n_features, len(inner.labels.inner))
    problem = crf_problem(shape, rows, inner, seed=seed, observed_only=True)
    return problem, Sdca(c2=1.0, tolerance=TOLERANCE, epochs=50).fit(problem, threads=1).w


def crfsuite(given: Any) -> Any:
    _, lines = rival.trained(
        rival.read_columns(given[0]), rival.chunking_features, {"c1": 0.0, "c2": 1.0, "max_iterations": 1000}
    )
    return rival.objective(lines)


def scores(_given: Any, output: Any) -> dict[str, float]:
    if isinstance(output, float):
        return {"objective": output}
    from chaffinch import _core
    from chaffinch.learners.native_likelihood import crf_problem

    problem, w = output
    return {"objective": _core.CrfObjective(crf_problem(problem), 1.0, 1)(w, np.empty_like(w))}


BENCHMARK = Benchmark(
    name="crf_objective",
    question="CoNLL-2000, CRFsuite's own model, c2 = 1: how long to its optimum within 0.1 %?",
    input=files,
    work=lambda _: (TOKENS, "tokens"),
    ours=Contender(name="chaffinch sdca", prepare=prepared, run=ours),
    rivals=(Contender(name="python-crfsuite lbfgs", run=crfsuite, package="python-crfsuite"),),
    scores=scores,
    bar=25.0,
    needs=(TRAIN,),
    repeats=1,
    timeout=1800.0,
)
