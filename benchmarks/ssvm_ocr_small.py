"""How fast does a structured SVM learn to read letters as well as a CRF? The small regime, one thread each."""

from benchmarks import ocr_letters as ocr

BENCHMARK = ocr.benchmark(
    "ssvm_ocr_small",
    ocr.SMALL,
    "OCR letters, fold 0 to learn from, nine to read: how long does a linear structured SVM train?",
    repeats=3,
)
