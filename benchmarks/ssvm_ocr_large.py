"""How fast does a structured SVM learn to read letters as well as a CRF? The large regime, one thread each."""

from benchmarks import ocr_letters as ocr
from benchmarks.benchmark import Benchmark, Contender

BENCHMARK = Benchmark(
    name="ssvm_ocr_large",
    question="OCR letters, nine folds to learn from, fold 0 to read: how long to a linear chain of margins?",
    input=lambda _seed: ocr.tables(ocr.LARGE),
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
    repeats=1,
    timeout=900.0,
)
