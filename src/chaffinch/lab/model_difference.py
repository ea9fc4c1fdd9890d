"""The effect of a retraining: two models on one corpus, rows fixed and broken, the verdict, a history of scores."""

import csv
import io
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from chaffinch.corpus.registry import MODEL_START
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import load
from chaffinch.evaluate.evaluation import ERRORS, Evaluation, evaluated, title_of
from chaffinch.evaluate.mistakes import NONE, Pieces, mistake_name
from chaffinch.evaluate.outputs import Outputs, read_outputs, row_place
from chaffinch.files import display_name, head, writing_text
from chaffinch.kinds import KINDS, Kind, kind_of_model
from chaffinch.kinds.kind import Confusion, TestSet
from chaffinch.kinds.requests import COLUMN_FLAGS
from chaffinch.rescue import format_of

# How a row's answer changed; without gold only the last applies.
FIXED, BROKEN, BOTH_WRONG, CHANGED = "fixed", "broken", "both wrong", "changed"
OUTCOMES = (BROKEN, FIXED, BOTH_WRONG, CHANGED)

TASKS = [task for kind in reversed(KINDS) for task in kind.outputs]
ENOUGH_SECONDS = 0.2  # of prediction, for a reliable speed
MOST_RUNS = 5
MOST_LISTED = 12  # names in a sentence


@dataclass(frozen=True)
class Side:
    """One side of the comparison: a model, or a file of answers.

    labels: those that it can predict   model_bytes: size of the file   speed: tokens, documents ... per CPU second
    """

    name: str
    recipe: str | None = None
    labels: tuple[str, ...] = ()
    model_bytes: int | None = None
    speed: float | None = None


@dataclass(frozen=True)
class ChangedAnswer:
    """A row that the two models answer differently.

    gold, old, new: the pieces of the answers; gold is None if it is unknown
    gone, come:     mistakes of the old answer that the new one does not have, and the reverse; without gold
                    ``come`` holds the changes from the old answer to the new one
    """

    row: int
    where: str
    kind: str
    text: str
    gold: Pieces | None
    old: Pieces
    new: Pieces
    gone: Counter[str]
    come: Counter[str]
    answers: dict[str, Any] = field(repr=False)

    @property
    def better(self) -> bool | None:
        """Whether the new answer has fewer mistakes than the old; None if it has the same number, or without gold."""
        gone, come = self.gone.total(), self.come.total()
        return None if self.gold is None or gone == come else gone > come

    @property
    def confusions(self) -> Counter[str]:
        """The mistakes under which the row is listed."""
        return self.gone if self.kind == FIXED else self.come or self.gone

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = {"row": self.row + 1, "where": self.where, "kind": self.kind, "text": self.text}
        return found | self.answers | {"gone": dict(self.gone), "come": dict(self.come)}


@dataclass(frozen=True)
class ModelDifference:
    """Two models on one corpus; ``evaluation`` scores the new one against the old, if there is gold."""

    test_set: TestSet = field(repr=False)
    old: Side
    new: Side
    changes: list[ChangedAnswer]
    evaluation: Evaluation | None = field(repr=False)

    @property
    def rows(self) -> int:
        """The number of sentences, documents or pairs."""
        return len(self.test_set.documents)

    def of_kind(self, kind: str) -> list[ChangedAnswer]:
        """The rows that changed in one way: those with the most frequent confusion first, short ones before long."""
        chosen = [c for c in self.changes if c.kind == kind]
        times = Counter[str]()
        for c in chosen:
            times.update(c.confusions)
        return sorted(
            chosen, key=lambda c: (-times[leading(c, times)], leading(c, times), len(c.text), c.row)
        )

    def grouped(self, kind: str, each: int, most: int) -> list[tuple[str, int, list[ChangedAnswer]]]:
        """The confusions of one kind with their number of rows and the first ``each`` rows; ``most`` rows in all."""
        times = Counter[str]()
        ordered = self.of_kind(kind)
        for c in ordered:
            times.update(c.confusions)
        groups: dict[str, list[ChangedAnswer]] = {}
        for c in ordered:
            groups.setdefault(leading(c, times), []).append(c)
        found, left = [], most
        for name, changes in groups.items():
            shown = changes[: min(each, left)]
            left -= len(shown)
            if shown:
                found.append((name, len(changes), shown))
        return found

    def summary(self) -> str:
        """The number of changed rows by kind, in words."""
        counts = [f"{len(self.of_kind(kind)):,} {kind}" for kind in OUTCOMES if self.of_kind(kind)]
        partly = [c.better for c in self.of_kind(BOTH_WRONG)]
        if any(better is not None for better in partly):
            counts[-1] += (
                f" ({partly.count(True):,} with fewer mistakes now, {partly.count(False):,} with more)"
            )
        return ", ".join(counts) or "no answer changed"

    def confusions(self) -> list[tuple[str, int, int]]:
        """Every mistake that became rarer or more frequent: name, times gone, times come; the largest first."""
        gone, come = Counter[str](), Counter[str]()
        for c in self.changes:
            gone.update(c.gone)
            come.update(c.come)
        names = sorted(gone | come, key=lambda name: (-(gone[name] + come[name]), name))
        return [(name, gone[name], come[name]) for name in names]

    def notes(self) -> list[str]:
        """The differences between the two models, in sentences."""
        found = []
        if self.old.recipe and self.new.recipe and self.old.recipe != self.new.recipe:
            found.append(
                f"The recipe of the old model is {self.old.recipe}, that of the new one {self.new.recipe}."
            )
        if self.old.labels and self.new.labels:
            for side, other in ((self.old, self.new), (self.new, self.old)):
                only = sorted(set(side.labels) - set(other.labels))
                if only:
                    which = "old" if side is self.old else "new"
                    found.append(f"Labels of the {which} model only: {_listed(only)}.")
            strange = self.test_set.unknown_labels({*self.old.labels, *self.new.labels})
            if strange:
                found.append(f"Labels of the data that neither model knows: {_listed(strange)}.")
        if self.evaluation is None:
            found.append("The data has no gold answers, so changes are listed but not judged.")
        return found

    def as_dict(self, top: int | None = None) -> dict[str, Any]:
        """Everything, ready for JSON; ``top`` rows of each kind, or all."""
        found: dict[str, Any] = {
            "data": display_name(self.test_set.path),
            "old": asdict(self.old),
            "new": asdict(self.new),
            "rows": self.rows,
            "unit": self.test_set.unit,
            "changes": {kind: len(self.of_kind(kind)) for kind in OUTCOMES if self._possible(kind)},
            "notes": self.notes(),
        }
        if self.evaluation is not None and self.evaluation.comparison is not None:
            scores = {}
            for key, c in self.evaluation.comparison.items():
                known = asdict(c)
                scores[key] = {"new": known.pop("ours"), "old": known.pop("other"), **known}
            found["task"] = self.evaluation.outputs.task
            found["scores"] = scores
        found["confusions"] = [{"what": n, "gone": g, "come": c} for n, g, c in self.confusions()]
        found["listed"] = [c.as_dict() for kind in OUTCOMES for c in self.of_kind(kind)[:top]]
        return found

    def _possible(self, kind: str) -> bool:
        return (kind == CHANGED) == (self.evaluation is None)


def leading(change: ChangedAnswer, times: Counter[str]) -> str:
    """The confusion that a row is listed under: the one that most rows have."""
    return max(sorted(change.confusions), key=lambda name: times[name], default="")


def compare_models(
    old: str | Path,
    new: str | Path,
    data: str | Path,
    *,
    label: str | None = None,
    text: str | None = None,
    label_separator: str | None = None,
    confidence: float = 95.0,
    seed: int = 0,
    threads: int = 0,
) -> ModelDifference:
    """Run both models on every row of a corpus and report what changed.

    old, new: model files of one kind; either may be a file of answers as ``chaffinch predict`` writes it
    label, text, label_separator: options of the reader, if columns have unusual names

    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> X, y = [["two", "eggs"], ["one", "lemon"]], [["QTY", "NAME"], ["QTY", "NAME"]]
    >>> from chaffinch import Tagger
    >>> Tagger("hmm").fit(X, [["QTY", "QTY"], y[1]]).save(folder / "old.chaff")
    >>> Tagger("hmm").fit(X, y).save(folder / "new.chaff")
    >>> _ = (folder / "test.conll").write_text("two QTY\\neggs NAME\\n\\n")
    >>> found = compare_models(folder / "old.chaff", folder / "new.chaff", folder / "test.conll")
    >>> [(c.kind, dict(c.gone)) for c in found.changes]
    [('fixed', {'NAME taken for QTY': 1})]
    """
    paths, data = [Path(old), Path(new)], Path(data)
    models = [load(path) if _is_model(path) else None for path in paths]
    for model in models:
        if model is not None:
            model.threads = threads
    known = [model for model in models if model is not None]
    given = dict(zip(COLUMN_FLAGS, (label, text, label_separator), strict=True))
    told = {name: value for name, value in given.items() if value is not None}
    files = {
        path: read_outputs([data, path], None, told, TASKS)
        for path, model in zip(paths, models, strict=True)
        if model is None
    }
    test_set = _test_set(known, data, told, list(files.values()))
    answers = [
        test_set.ask(model) if model is not None else test_set.answers_of(files[path])
        for path, model in zip(paths, models, strict=True)
    ]
    speeds = _speeds(test_set, models)
    sides = [_side(p, m, s) for p, m, s in zip(paths, models, speeds, strict=True)]
    evaluation = None
    if test_set.labelled:
        names = (display_name(data), sides[1].name, sides[0].name)
        evaluation = evaluated(test_set.outputs(names, answers[::-1]), confidence=confidence, seed=seed)
    return ModelDifference(test_set, sides[0], sides[1], _changes(test_set, *answers), evaluation)


def _changes(test_set: TestSet, old: Sequence[Any], new: Sequence[Any]) -> list[ChangedAnswer]:
    rows = [n for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    outputs = [old, new, test_set.gold] if test_set.labelled else [old, new]
    readings = test_set.pieces(outputs, rows)
    found = []
    for i, n in enumerate(rows):
        before, after = readings[0][i], readings[1][i]
        if before == after:
            continue
        gold = readings[2][i] if test_set.labelled else None
        gone, come, kind = Counter[str](), _named(test_set.mistakes(n, before, after), _change_name), CHANGED
        if gold is not None:
            was, now = (_named(test_set.mistakes(n, gold, x), mistake_name) for x in (before, after))
            gone, come = was - now, now - was
            if not was and not now:
                continue
            kind = BOTH_WRONG if was and now else FIXED if was else BROKEN
        d = test_set.documents[n]
        plain = {"old": test_set.plain(old[n]), "new": test_set.plain(new[n])}
        if gold is not None:
            plain = {"gold": test_set.plain(test_set.gold[n]), **plain}
        where = row_place(test_set.path, n, d)
        found.append(ChangedAnswer(n, where, kind, d.text, gold, before, after, gone, come, plain))
    return found


def _named(found: Counter[Confusion], name: Callable[[str, str], str]) -> Counter[str]:
    return Counter({name(*pair): times for pair, times in found.items()})


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_LISTED
    return ", ".join(names[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def _change_name(old: str, new: str) -> str:
    """The changes of an answer without gold."""
    if old == NONE:
        return f"{new} newly found"
    if new == NONE:
        return f"{old} no longer found"
    return f"{old} with other bounds" if old == new else f"{old} became {new}"


def _test_set(models: Sequence[Any], data: Path, told: dict[str, str], files: Sequence[Any]) -> TestSet:
    """The test set for these models, or for files of answers."""
    kinds = [kind_of_model(model) for model in models] or [_kind_of_answers(files[0])]
    if len(set(kinds)) > 1:
        names = " and ".join(kind.model_name for kind in kinds)
        raise ConfigError(f"expected two models of one kind, got {names}; their answers cannot be compared")
    kind = kinds[0]
    for name in told:
        if name not in kind.tells:
            raise ConfigError(f"--{name.replace('_', '-')} does not apply to {kind.model_name}; leave it out")
    for found in files:
        if _kind_of_answers(found) is not kind:
            raise DataError(f"{found.names[1]}: does not hold the answers of {kind.model_name}")
    return kind.test_set(data, models, told)


def _kind_of_answers(found: Outputs) -> Kind:
    return next(kind for kind in KINDS if isinstance(found, tuple(kind.outputs)))


def _is_model(path: Path) -> bool:
    return head(path)[8:].startswith(MODEL_START) or format_of(path) is not None


def _side(path: Path, model: Any, speed: float | None) -> Side:
    if model is None:
        return Side(display_name(path))
    labels = getattr(model, "classes_", getattr(model, "labels_", ()))
    recipe = model.recipes.by_config(model.config_).name
    return Side(display_name(path), recipe, tuple(map(str, labels)), path.stat().st_size, speed)


def _speeds(test_set: TestSet, models: Sequence[Any]) -> list[float | None]:
    """The best units per CPU second, measured in alternating runs; slow models are run only once more."""
    best: list[float | None] = [None] * len(models)
    spent = [0.0] * len(models)
    for _ in range(MOST_RUNS):
        for i, model in enumerate(models):
            if model is None or spent[i] >= ENOUGH_SECONDS:
                continue
            start = time.process_time()
            test_set.ask(model)
            took = max(time.process_time() - start, 1e-9)
            spent[i] += took
            best[i] = max(best[i] or 0.0, test_set.units / took)
    return best


@dataclass(frozen=True)
class Verdict:
    """The verdict, its score, and the reason in one sentence."""

    regression: bool
    score: str
    sentence: str


def verdict(
    evaluation: Evaluation,
    *,
    score: str | None = None,
    tolerance: float = 0.0,
    point: bool = False,
    fail_below: float | None = None,
) -> Verdict:
    """Whether the new model is worse than the old.

    It is worse if the whole interval of the difference lies below minus the tolerance (with ``point``, if the
    difference itself does), or if its score is below ``fail_below``. For error rates, lower is better.

    score: the key of the score; by default the task's first headline score
    """
    comparison = evaluation.comparison or {}
    key = evaluation.headline[0] if score is None else score
    if key not in comparison:
        raise ConfigError(f"there is no score {key!r} to judge by; there are {', '.join(comparison)}")
    if tolerance < 0:
        raise ConfigError(f"a tolerance must not be negative, got {tolerance:g}")
    c = comparison[key]
    sign = -1.0 if key in ERRORS else 1.0
    gain = sign * c.difference
    best = max(sign * c.low, sign * c.high)
    figures = (
        f"{c.other:.4f} -> {c.ours:.4f}, {c.difference:+.4f} "
        f"({evaluation.confidence:g}% interval {c.low:+.4f} to {c.high:+.4f})"
    )
    title = title_of(key)
    if fail_below is not None and sign * (c.ours - fail_below) < 0:
        side = "below" if sign > 0 else "above"
        return Verdict(True, key, f"Regression: {title} is {c.ours:.4f}, {side} the limit of {fail_below:g}.")
    allowed = f" beyond the tolerance of {tolerance:g}" if tolerance else ""
    if (gain if point else best) < -tolerance:
        return Verdict(True, key, f"Regression: by {title} the new model is worse{allowed}: {figures}.")
    if min(sign * c.low, sign * c.high) > 0:
        return Verdict(False, key, f"By {title} the new model is better: {figures}.")
    if best < 0:
        return Verdict(
            False,
            key,
            f"By {title} the new model is worse, within the tolerance of {tolerance:g}: {figures}.",
        )
    return Verdict(False, key, f"The two do not differ significantly in {title}: {figures}.")


COLUMNS = (
    "time",
    "data",
    "old",
    "new",
    "recipe",
    "score",
    "old_value",
    "new_value",
    "low",
    "high",
    "fixed",
    "broken",
    "both_wrong",
    "bytes",
    "per_second",
    "regression",
)


def add_to_history(path: str | Path, difference: ModelDifference, verdict: Verdict, when: datetime) -> None:
    """Append a comparison to a history, which is created if needed; the file is replaced atomically."""
    if difference.evaluation is None or difference.evaluation.comparison is None:
        raise DataError("expected data with gold answers for a history of scores, found none")
    c = difference.evaluation.comparison[verdict.score]
    row = (
        f"{when:%Y-%m-%d %H:%M:%S}",
        difference.test_set.path,
        difference.old.name,
        difference.new.name,
        difference.new.recipe or "",
        verdict.score,
        *(f"{value:.6f}" for value in (c.other, c.ours, c.low, c.high)),
        *(len(difference.of_kind(kind)) for kind in (FIXED, BROKEN, BOTH_WRONG)),
        "" if difference.new.model_bytes is None else difference.new.model_bytes,
        "" if difference.new.speed is None else round(difference.new.speed),
        "yes" if verdict.regression else "no",
    )
    before = _history(Path(path))
    with writing_text(path) as out:
        out.write(before + _line(row))


def _history(path: Path) -> str:
    """The content of the file, or the header if there is no file."""
    head = _line(COLUMNS)
    if not path.exists():
        return head
    text = path.read_text(encoding="utf-8")
    if not text.startswith(head):
        raise DataError(
            f"{path}:1: is not a history of comparisons: expected the columns {', '.join(COLUMNS)}"
        )
    return text if text.endswith("\n") else text + "\n"


def _line(cells: tuple[object, ...]) -> str:
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerow(cells)
    return made.getvalue()
