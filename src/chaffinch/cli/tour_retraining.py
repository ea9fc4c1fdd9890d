"""The tour's part on retraining: a doctor for the data, and a comparison that says what a correction changed."""

from pathlib import Path

from rich.table import Table

from chaffinch import samples
from chaffinch.cli.console import out
from chaffinch.doctor.examination import examine
from chaffinch.doctor.label_errors import CHECK
from chaffinch.estimators import Tagger
from chaffinch.evaluate.wording import title_of
from chaffinch.lab.model_difference import BOTH_WRONG, BROKEN, FIXED, compare_models
from chaffinch.lab.regression import verdict

SHOWN = 4


def show_retraining(folder: Path) -> None:
    """Doubt labels, correct the slips, retrain, compare."""
    given, mended = folder / "slips", folder / "mended"
    for path, careful in ((given, False), (mended, True)):
        samples.export("ingredients", path, careful=careful, force=True)
    doubted = examine([given / "train.conll"], checks=[CHECK]).of(CHECK)
    slips = _slips()
    real = sum(finding.line in slips for finding in doubted)
    out.print(
        f"Our annotator slips now and then. chaffinch doctor doubts {len(doubted)} labels by models of the other "
        f"lines, and {real} of them are slips, of {len(slips)} that there are:\n"
    )
    for finding in doubted[:SHOWN]:
        out.print(f"  line {finding.line}: {finding.what}", markup=False, soft_wrap=True)
    models = {}
    for name, path in (("old", given), ("new", mended)):
        models[name] = folder / f"{name}.chaff"
        lines = samples.load("ingredients", careful=name == "new")
        Tagger("hmm").fit([d.words() for d in lines], [d.columns["y"] for d in lines]).save(models[name])
        out.print(f"\n{name}: an HMM trained on {path.name}/train.conll", end="")
    out.print("\n\nchaffinch compare old.chaff new.chaff mended/test.conll:\n")
    difference = compare_models(models["old"], models["new"], mended / "test.conll")
    shown = Table("score", "old", "new", "95 % interval of the change", box=None, pad_edge=False)
    assert difference.evaluation is not None
    for key in difference.evaluation.headline:
        c = (difference.evaluation.comparison or {})[key]
        shown.add_row(title_of(key), f"{c.other:.4f}", f"{c.ours:.4f}", f"{c.low:+.4f} to {c.high:+.4f}")
    out.print(shown)
    counts = (f"{len(difference.of_kind(kind))} {kind}" for kind in (FIXED, BROKEN, BOTH_WRONG))
    out.print(f"\n{difference.rows} lines: {', '.join(counts)}. {verdict(difference.evaluation).sentence}")


def _slips() -> set[int]:
    """The lines of the training file whose label is a slip."""
    found, line = set[int](), 1
    both = (samples.load("ingredients", careful=careful) for careful in (False, True))
    for written, meant in zip(*both, strict=True):
        pairs = zip(written.columns["y"], meant.columns["y"], strict=True)
        found |= {line + t for t, (a, b) in enumerate(pairs) if a != b}
        line += len(written.tokens) + 1
    return found
