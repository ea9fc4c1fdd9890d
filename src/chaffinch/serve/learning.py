"""Learning at three speeds: the exact input at once, the model in a moment, a full retraining when the server is idle.

1. A correction is journalled, and its exact input is answered as corrected from then on (``corrections.py``).
2. ``learn`` teaches all waiting corrections: a CRF moves its dual variables to the new optimum, other
   recipes use ``partial_fit``. The result is a new version, and the rows of all data files are answered
   again.
3. ``retrain`` trains on the training files and the corrections from the beginning, in a thread of its own. Its model
   becomes a version only if it is at least as good on rows whose answer is known.

A correction that was learnt and then taken back is not unlearnt: the model learns anew from the last full training.
"""

import threading
import time
from dataclasses import dataclass
from typing import Any

from chaffinch.errors import ChaffinchError, ConfigError
from chaffinch.kinds.corpora import joined, taken
from chaffinch.serve.answers import twin
from chaffinch.serve.corrections import Correction
from chaffinch.serve.messages import Asked
from chaffinch.serve.pools import NEAR_TIE, DataPool
from chaffinch.serve.served import ServedModel
from chaffinch.serve.versions import Version
from chaffinch.text.document import WORD, Document
from chaffinch.text.table import TokenTable

FORGOTTEN = (
    "_memory",
    "_learnt",
    "_before",
    "_trained_on",
    "_lessons",
    "_rows",
    "_watched",
    "_increment",
)  # attributes that only learning needs
MOST_LISTED = 2_000  # changed rows in one answer


@dataclass(frozen=True)
class TaughtModel:
    """An estimator with all that it needs to continue learning, and the corrections that it learnt."""

    model: Any
    learnt: frozenset[int] = frozenset()


class Learning:
    """How one served model learns. Its methods are called from threads, one at a time."""

    def __init__(self, served: ServedModel) -> None:
        self.served = served
        self.base = TaughtModel(served.loaded)  # the last full training
        self._warm: tuple[str, TaughtModel] | None = None  # a version's name, and its learner
        self._lock = threading.RLock()
        self._failed = self.stopping = False
        self.retrained: frozenset[int] = frozenset()  # the corrections in the last full training
        self.cannot = served.answering.can_learn(served.loaded)
        if self.cannot is not None and served.train and served.answering.corrected:
            self.cannot = None

    @property
    def learns(self) -> bool:
        """Whether the model can learn."""
        return self.cannot is None

    # -- in a moment

    def learn(self) -> dict[str, Any]:
        """Teach the model all waiting corrections, and forget those that were taken back."""
        with self._lock:
            served = self.served
            if self.cannot is not None:
                raise ConfigError(self.cannot)
            start, before = time.perf_counter(), served.active
            live = served.corrections.live()
            version, gap = self._taught(before, live)
            seconds = time.perf_counter() - start
            learnt = len(version.learnt - before.learnt)
            return self.outcome(before, version, seconds=round(seconds, 4), learnt=learnt, gap=gap)

    def _taught(self, before: Version, live: list[Correction]) -> tuple[Version, float | None]:
        wanted = frozenset(c.seq for c in live)
        if wanted == before.learnt:
            return before, None
        learner = self._learner(before, wanted)
        lessons = [(c.row, c.answer) for c in live if c.seq not in learner.learnt]
        model = twin(learner.model)
        gap = None
        if lessons:
            sentence = self.served.answering.can_learn(model)
            if sentence is not None:
                raise ConfigError(
                    f"{sentence}; a full training in the background will include its corrections"
                )
            self.served.answering.learn(model, lessons)
            gap = _gap(model)
        made = "learnt" if wanted - before.learnt else "took back"
        note = f"{made} {len(wanted ^ before.learnt)} corrections"
        return self._published(TaughtModel(model, wanted), note), gap

    def _learner(self, before: Version, wanted: frozenset[int]) -> TaughtModel:
        """The learner to start from: that of the version if it only has to learn more, else the base."""
        if self._warm is not None and self._warm[0] == before.name and self._warm[1].learnt <= wanted:
            return self._warm[1]
        if self.base.learnt <= wanted:
            return self.base
        return TaughtModel(self.served.loaded)

    def _published(self, learner: TaughtModel, note: str) -> Version:
        version = self.served.versions.publish(light(learner.model), note, learner.learnt)
        self._warm = version.name, learner
        return version

    # -- versions

    def take_back(self, name: str) -> dict[str, Any]:
        """Switch to another version."""
        with self._lock:
            before = self.served.active
            return self.outcome(before, self.served.versions.take_back(name))

    def reload(self, model: Any, note: str) -> Version:
        """A model from a file is the base from now on; corrections are learnt again."""
        with self._lock:
            model.threads = 1
            self.served.loaded = model
            self.base, self._warm, self.retrained = TaughtModel(model), None, frozenset()
            self.served.probabilities = self.served.answering.has_probabilities(model)
            return self._published(self.base, note)

    def outcome(self, before: Version, after: Version, **facts: Any) -> dict[str, Any]:
        """A change of version and every row that it changed."""
        served = self.served
        changed, near = 0, 0
        listed: list[dict[str, Any]] = []
        for pool in served.pools.values():
            if before is after:
                continue
            rows = pool.difference(before, after, lambda n, pool=pool: served.known(pool, n))  # type: ignore[misc]
            changed += len(rows)
            near += self._near_ties(pool, before, [row["row"] for row in rows])
            listed += rows[: MOST_LISTED - len(listed)]
        facts = {name: value for name, value in facts.items() if value is not None}
        verdicts = {
            name: sum(row["verdict"] == name for row in listed) for name in ("fixed", "broken", "moved")
        }
        return {
            "version": after.name,
            **facts,
            "changed": listed,
            "counts": {"changed": changed, **verdicts},
            "noise": self._noise(changed, near),
        }

    def _near_ties(self, pool: DataPool, before: Version, rows: list[int]) -> int:
        if not self.served.probabilities or not rows:
            return 0
        given = [pool.rows[n] for n in rows[:MOST_LISTED]]
        try:
            answers = self.served.answering.answers(before.model, given, Asked())
        except ChaffinchError:
            return 0
        return sum((answer["certainty"] or 0.0) < NEAR_TIE for answer in answers)

    def _noise(self, changed: int, near: int) -> str:
        """The part of a change that may be chance."""
        if not self.served.pools:
            return "There is no data file, so other changes are unknown."
        if changed == 0:
            return "No row changed."
        rows = f"{changed:,} rows changed" if changed > 1 else "1 row changed"
        if not self.served.probabilities:
            return f"{rows}. The model has no probabilities, so near ties are unknown."
        return (
            f"{rows}, of which {near:,} had been near ties (certainty below {NEAR_TIE:g}), "
            "which any training may change."
        )

    # -- a full retraining

    @property
    def stale(self) -> bool:
        """Whether a full training would have something new to train on."""
        if not self.served.train or not self.served.answering.corrected:
            return False
        live = frozenset(c.seq for c in self.served.corrections.live())
        return live != self.retrained or (self.base.model is self.served.loaded and not self._failed)

    def retrain(self) -> dict[str, Any]:
        """Train on all files and corrections; the model is used if it is at least as good on known answers."""
        served = self.served
        live = served.corrections.live()
        fresh = served.answering.untrained(served.loaded)
        served.kind.fit(fresh, self._corpus(live), None, lambda _: not self.stopping)
        if self.stopping:
            return {"version": served.active.name, "kept": False, "note": "full training was stopped"}
        if served.answering.several(fresh) != served.answering.several(served.loaded):
            raise ConfigError(
                "the training files and the model disagree on whether a text has one label or several: "
                "say how labels are separated with --label-separator"
            )
        fresh.threads = 1
        with self._lock:
            seen = frozenset(c.seq for c in live)
            self.retrained = seen
            before = served.active
            learner = TaughtModel(fresh, seen)
            trial = Version(0, f"trial {time.monotonic_ns()}", light(fresh), "", seen)
            new, old, judged, where = self._judged(trial, before)
            kept = new >= old
            told = f"{new:,} of {judged:,} {where} right, {old:,} before"
            if judged == 0:
                told = "there are no known answers to compare it on"
            if not kept:
                return {
                    "version": before.name,
                    "kept": False,
                    "note": f"full training was not better: {told}",
                }
            self.base = learner
            version = self._published(learner, f"trained on all data: {told}")
            now = frozenset(c.seq for c in served.corrections.live())
            if now != seen and now - seen:
                version, _ = self._taught(version, served.corrections.live())
            return {"version": version.name, "kept": True, "note": version.note}

    def gave_up(self) -> None:
        """A full training failed: do not try again before there are further corrections."""
        self.retrained = frozenset(c.seq for c in self.served.corrections.live())
        self._failed = True

    def _corpus(self, live: list[Correction]) -> Any:
        """The training files, with corrections replacing the same inputs."""
        served = self.served
        corpus = joined([served.kind.read(path, served.told_of(path)) for path in served.train])
        if not live:
            return corpus
        corrected = {c.row.key for c in live}
        rows = [served.answering.row_of(served.loaded, d) for d in self._documents(corpus)]
        kept = [n for n, row in enumerate(rows) if row.key not in corrected]
        documents = [served.answering.corrected_document(served.loaded, c.row, c.answer) for c in live]
        further = served.kind.of_documents(documents, "corrections")
        assert further is not None
        return joined([taken(corpus, kept), further]) if kept else further

    def _documents(self, corpus: Any) -> list[Document]:
        """The rows of a corpus as documents without their labels."""
        if isinstance(corpus, TokenTable):
            columns = {name: corpus.lists(name) for name in corpus.columns}
            words = columns.pop(WORD)
            return [
                Document.from_words(own, **{name: lists[n] for name, lists in columns.items()})
                for n, own in enumerate(words)
            ]
        return [Document(text) for text in corpus.texts]

    def _judged(self, new: Version, old: Version) -> tuple[int, int, int, str]:
        """How many known answers two versions get right, how many there are, and a name for them.

        Rows with gold that nobody corrected; if there are none, the corrections, which both were taught.
        """
        served = self.served
        pins = served.corrections.pins
        totals = [0, 0]
        count = 0
        for pool in served.pools.values():

            def known(n: int, pool: DataPool = pool) -> Any:
                return None if pool.rows[n].key in pins else served.known(pool, n)

            for side, version in enumerate((new, old)):
                right, count_here = pool.right(version, known)
                totals[side] += right
            count += count_here
        if count:
            return totals[0], totals[1], count, "rows with known labels"
        live = served.corrections.live()
        for side, version in enumerate((new, old)):
            answers = served.answering.answers(
                version.model, [c.row for c in live], Asked(probabilities=False)
            )
            pairs = zip(answers, live, strict=True)
            totals[side] = sum(served.answering.is_answer(a, c.answer) for a, c in pairs)
        return totals[0], totals[1], len(live), "corrections"


def light(model: Any) -> Any:
    """The same estimator without the attributes that only learning needs."""
    made = twin(model)
    for name in FORGOTTEN:
        if vars(made).get(name) is not None:
            setattr(made, name, None)
    return made


def _gap(model: Any) -> float | None:
    """The duality gap after learning, as a fraction of the objective."""
    looks = [p.scores["gap"] for p in getattr(model, "history_", []) if "gap" in p.scores]
    return float(looks[-1]) if looks else None
