"""The lines of a training log as events and numbers."""

import re
from fractions import Fraction
from typing import Any, NamedTuple


class LabelScore(NamedTuple):
    """How well a label is predicted on held-out sequences; None: it occurs nowhere."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


NUMBER = r"(\d+(?:\.\d+)?)"
HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
SECONDS = re.compile(rf"Seconds required: {NUMBER}")
FACTS: dict[str, tuple[re.Pattern[str], type]] = {
    key: (re.compile(rf"{words}: {NUMBER}"), kind)
    for key, words, kind in (
        ("loss", "Loss", float),
        ("feature_norm", "Feature norm", float),
        ("error_norm", "Error norm", float),
        ("active_features", "Active features", int),
        ("linesearch_trials", "Line search trials", int),
        ("linesearch_step", "Line search step", float),
        ("time", "Seconds required for this iteration", float),
    )
}
MACRO = re.compile(rf"Macro-average precision, recall, F1: \({NUMBER}, {NUMBER}, {NUMBER}\)")
ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
LABEL = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \((\S+), (\S+), (\S+)\)")


class TrainLogParser:
    """Reads a log line by line.

    iterations:     a dict of numbers for each iteration; ``last_iteration`` is the last of them
    log:            all lines
    events:         (name, begin, end): the lines of each event
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    @property
    def last_log(self) -> str:
        """The lines of the last event."""
        _, begin, end = self.events[-1]
        return "".join(self.log[begin:end])

    def feed(self, line: str) -> str | None:
        """Read a line; the name of the event that it ends or begins, if any."""
        self.log.append(line)
        begin = self.events[-1][2] if self.events else 0
        event = self._event(line)
        if event is not None:
            # These are recognised by the first line of what follows them.
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, begin, end))
        return event

    def _event(self, line: str) -> str | None:
        if self.state is None:
            self.state = "featgen" if line.startswith("Feature generation") else "starting"
            return "start"
        if self.state == "starting" and line.startswith("Feature generation"):
            self.state = "featgen"
        elif self.state == "featgen":
            return self._generation(line)
        elif self.state in ("prepared", "between"):
            return self._outside_iterations(line)
        elif self.state == "iteration":
            if line == "\n":
                self.state = "between"
                return "iteration"
            self._facts(line)
        elif self.state == "storing":
            if line == "\n":
                return "end"
            if found := SECONDS.match(line):
                self.storing_seconds = float(found[1])
        return None

    def _generation(self, line: str) -> str | None:
        if re.fullmatch(r"\.|\d|10", line):
            self.featgen_percent += 2
            return "featgen_progress"
        if found := re.match(r"Number of features: (\d+)", line):
            self.featgen_num_features = int(found[1])
        elif found := SECONDS.match(line):
            self.featgen_seconds, self.state = float(found[1]), "prepared"
            return "featgen_end"
        return None

    def _outside_iterations(self, line: str) -> str | None:
        first = self.state == "prepared"
        if found := HEAD.match(line):
            self.state = "iteration"
            self.last_iteration = {"num": int(found[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
            return "prepared" if first else None
        if first:
            if "terminated with error" in line:
                self.state = "between"
                return "prepare_error"
            return None
        if found := re.match(rf"Total seconds required for training: {NUMBER}", line):
            self.training_seconds = float(found[1])
        if line.startswith("Storing the model"):
            self.state = "storing"
            return "optimization_end"
        return None

    def _facts(self, line: str) -> None:
        assert self.last_iteration is not None
        known = self.last_iteration
        for key, (pattern, kind) in FACTS.items():
            if found := pattern.match(line):
                known[key] = kind(found[1])
        if found := MACRO.match(line):
            names = ("avg_precision", "avg_recall", "avg_f1")
            known.update(zip(names, map(float, found.groups()), strict=True))
        if found := ACCURACY.match(line):
            name, share = f"{found[1].lower()}_accuracy", Fraction(int(found[2]), int(found[3]))
            known[name], known[f"{name}_float"] = share, float(share)
        if found := LABEL.match(line):
            counts = map(int, found.groups()[1:4])
            rates = (None if rate.startswith("*") else float(rate) for rate in found.groups()[4:])
            known["scores"][found[1]] = LabelScore(*counts, *rates)
