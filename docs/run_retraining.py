"""Run the commands of retraining.md in an empty folder and count the slips that are found; both go into the page."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from docs.run_laboratory import written_anew

from chaffinch import samples
from chaffinch.doctor.corpus_file import CorpusFile
from chaffinch.doctor.label_errors import ODDS, judged_corpus
from chaffinch.doctor.out_of_fold import out_of_fold
from chaffinch.text.document import LABEL, Document

PAGE = Path(__file__).parent / "retraining.md"
SEED = 14
NAMES = ("ingredients", "questions", "topics", "reviews", "posts")


def main() -> None:
    """Rewrite both."""
    written_anew(PAGE, answers=(0, 1))
    text = PAGE.read_text(encoding="utf-8")
    table = re.compile(r"(?s)(<!-- slips -->\n).*?(<!-- end -->)")
    PAGE.write_text(table.sub(lambda m: f"{m[1]}{slips()}{m[2]}", text), encoding="utf-8")


def slips() -> str:
    """A row per sample: the number of slips, of suspects, and the shares that are both."""
    lines = [
        "| sample | labels | slips | suspects | suspects that are slips | slips that are suspects |",
        "|---|---|---|---|---|---|",
    ]
    for name in NAMES:
        written, meant = (samples.load(name, seed=SEED, careful=careful) for careful in (False, True))
        wrong = [
            a != b for d, e in zip(written, meant, strict=True) for a, b in zip(_y(d), _y(e), strict=True)
        ]
        corpus, _ = judged_corpus([CorpusFile(Path(name), "", written)])
        assert corpus is not None
        suspects = out_of_fold(corpus, [d.text.casefold() for d in written]).doubtful(ODDS)
        both = sum(wrong[i] for i in suspects.tolist())
        shares = f"{100 * both / len(suspects):.0f} %", f"{100 * both / sum(wrong):.0f} %"
        lines.append(f"| {name} | {len(wrong):,} | {sum(wrong)} | {len(suspects)} | {' | '.join(shares)} |")
    return "\n".join(lines) + "\n"


def _y(d: Document) -> list[str]:
    return d.columns.get(LABEL) or d.labels


if __name__ == "__main__":
    main()
