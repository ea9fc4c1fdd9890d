"""How fast does a structured SVM learn to read letters as well as a CRF? The small regime, one thread each."""

from benchmarks import ocr_letters as ocr
from benchmarks.benchmark import Benchmark, Contender

BENCHMARK = Benchmark(
    name="ssvm_ocr_small",
    question="OCR letters, fold 0 to learn from, nine to read: how long to a linear chain of margins?",
    input=lambda _seed: ocr.tables(ocr.SMALL),
    work=lambda given: (float(given[0].n_tokens), "letters"),
    ours=Contender(name="chaffinch ssvm", prepare=ocr.imported, run=ocr.structured_svm),
    rivals=(
        Contender(
            name="python-crfsuite lbfgs",
            prepare=ocr.crfsuite_input,
            run=ocr.crfsuite_lbfgs,
            package="python-crfsuite",
        ),
    ),
    scores=ocr.right,
    bar=8.0,
    needs=(ocr.LETTERS,),
    repeats=3,
    timeout=900.0,
)
