"""How fast does a structured SVM learn to read letters as well as a CRF? The large regime, one thread each."""

from benchmarks import ocr_letters as ocr

BENCHMARK = ocr.benchmark(
    "ssvm_ocr_large",
    ocr.LARGE,
    "OCR letters, nine folds to learn from, fold 0 to read: how long does a linear structured SVM train?",
    repeats=1,
)
