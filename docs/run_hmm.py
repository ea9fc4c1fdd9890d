"""Train the hidden Markov models of hmm.md on the course project's data and write their scores into the page."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.corpora import corpus

from chaffinch import Tagger
from chaffinch.corpus import read_table
from chaffinch.evaluate import score_tags
from chaffinch.recipes.hmm import Emission, Hmm

PAGE = Path(__file__).parent / "hmm.md"
FIRST = {"order": 1, "transition_smoothing": "none"}
ONE = {**FIRST, "unknown": "one", "rare": 1}
CLASSES = {**FIRST, "unknown": "classes", "rare": 2}

MODELS = {
    'part 2, `Emission(unknown="one", rare=1, emission_smoothing="none")`': Emission(
        unknown="one", rare=1, emission_smoothing="none"
    ),
    '`order=1, unknown="half", transition_smoothing="none", floor=None`': Hmm(
        **FIRST, unknown="half", floor=None
    ),
    'part 3, `order=1, unknown="constant", transition_smoothing="none"`': Hmm(**FIRST, unknown="constant"),
    "`order=1`": Hmm(order=1),
    "the default, `order=2`": Hmm(),
}
SMOOTHINGS = {
    f"{name}, {smoothing}{'' if smoothing == 'none' else f' {amount}'}": Hmm(
        **rule, emission_smoothing=smoothing, emission_amount=amount
    )
    for name, rule in (("one symbol", ONE), ("classes of words seen once", CLASSES))
    for smoothing, amount in (
        ("none", 0.0),
        ("add-k", 0.1),
        ("absolute", 0.1),
        ("absolute", 0.5),
        ("kneser-ney", 0.5),
    )
}


def main() -> None:
    """Rewrite both tables."""
    data = {
        name: [read_table(corpus("sutd_hmm_2020") / name / part) for part in ("train", "dev.out")]
        for name in ("EN", "SG")
    }
    text = PAGE.read_text(encoding="utf-8")
    for mark, models in (("models", MODELS), ("smoothings", SMOOTHINGS)):
        head = "settings" if mark == "models" else "unknown words, smoothing of e(x\\|y)"
        lines = [f"| {head} | EN | SG |", "|---|---|---|"]
        for name, config in models.items():
            cells = []
            for train, dev in data.values():
                predicted = Tagger(config, folds=0).fit(train).predict(dev)
                scores = score_tags(dev.lists("y"), predicted, convention="hmm-project").as_dict()
                cells.append(f"{scores['untyped.f1']:.4f} / {scores['span.micro.f1']:.4f}")
            lines.append(f"| {name} | {' | '.join(cells)} |")
        table = "\n".join(lines) + "\n"
        block = re.compile(rf"(?s)(<!-- {mark} -->\n).*?(<!-- /{mark} -->)")
        text = block.sub(lambda m, table=table: f"{m[1]}{table}{m[2]}", text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
