"""Lists of candidates: the k best answers of another model, among which rerankers choose."""

import json as json_text
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.corpus.candidate_lists import FileList, read_lists
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Reranker, load
from chaffinch.estimators.reranker import BASE_NAMES, given_features
from chaffinch.evaluate import Tally
from chaffinch.evaluate.mistakes import Pieces
from chaffinch.evaluate.outputs import Outputs, Rules
from chaffinch.evaluate.rates import Floats
from chaffinch.evaluate.tally import Sums
from chaffinch.files import display_name, head, writing_text
from chaffinch.kinds.corpora import ExampleLists
from chaffinch.kinds.kind import Confusion, Contents, Kind, TestSet
from chaffinch.kinds.requests import ExplainRequest, PredictRequest
from chaffinch.kinds.tags import TAGS
from chaffinch.kinds.trees import TREES
from chaffinch.kinds.weights import weights_of
from chaffinch.knobs import knob, knobs
from chaffinch.model.candidates import CandidateList, NamedCandidates
from chaffinch.model.objects import shown
from chaffinch.progress import Listener
from chaffinch.recipes.rerankers import DEFAULT_RERANKER
from chaffinch.text.document import Document
from chaffinch.trust.explanation import Explanation

KBEST = 20  # default length of the lists
DIGITS = 6  # decimals of a loss, which tallies count as whole numbers
BASES: tuple[Kind, ...] = (TAGS, TREES)  # the kinds whose models give lists


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """Features of candidates."""

    min_count: int = knob(2, "minimum count of a feature; rarer features are left out", low=1)


@dataclass(frozen=True)
class Lists(ExampleLists):
    """Lists with losses; weight: the weight of each."""

    lists: list[CandidateList]
    weight: list[float] | None = None

    def content(self) -> list[Any]:
        """Candidates, scores and losses."""
        words = [f"{one.x!r} {y!r}" for one in self.lists for y in one.candidates]
        numbers = [np.concatenate([one.scores, _losses(one)]) for one in self.lists]
        return [words, np.concatenate(numbers), *([] if self.weight is None else [np.array(self.weight)])]


@dataclass(frozen=True)
class ChoiceScores:
    """Scores of choices: the share of lists in which a best candidate was chosen, and mean losses."""

    lists: int
    scores: Mapping[str, float]

    def as_dict(self) -> dict[str, float]:
        """Every score under its stable key."""
        return {"lists": self.lists, **self.scores}


@dataclass(frozen=True)
class ListOutputs(Outputs):
    """Lists with losses, and the places that one or two systems chose."""

    task = "lists"
    sizes = ("lists",)
    headline = ("best_chosen", "loss", "loss.base", "loss.oracle")
    detected = False

    names: tuple[str, ...]
    lists: list[CandidateList]
    chosen: tuple[list[int], ...]

    @classmethod
    def reads(cls, path: str | Path, format: str | None) -> bool:
        """Files of lists."""
        return holds_lists(Path(path), format)

    @classmethod
    def of_files(
        cls, paths: Sequence[str | Path], formats: Sequence[str], told: Sequence[dict[str, Any]]
    ) -> "ListOutputs":
        """Lists with losses in the first file; the others, or a single one, hold the choices."""
        files = [list(read_lists(path)) for path in paths]
        for path, found in zip(paths, files, strict=True):
            _check_same_lists(paths[0], files[0], path, found)
        outputs = list(zip(paths, files, strict=True))
        chosen = tuple(
            [_chosen(path, n, one) for n, one in enumerate(found)] for path, found in outputs[1:] or outputs
        )
        return cls(tuple(map(display_name, paths)), [list_of_file(one) for one in files[0]], chosen)

    def scored(self, rules: Rules) -> tuple[ChoiceScores, list[Tally]]:
        """Choices and their losses."""
        tallies = [choice_tally(self.lists, chosen) for chosen in self.chosen]
        values = tallies[0].score(tallies[0].sums())
        return ChoiceScores(len(self.lists), {k: float(v) for k, v in values.items()}), tallies


class ListKind(Kind):
    """A choice among candidates."""

    plural = "lists of candidates"
    estimator = Reranker
    default = DEFAULT_RERANKER
    quickest = "perceptron"
    example = "lists.jsonl"
    corpus = Lists
    unit = "lists"
    scores = ("best_chosen", "loss", "loss.base", "loss.oracle")
    knobs = (("features", ListOptions),)
    explains = ("against", "base", "kbest")
    outputs = (ListOutputs,)
    served = False

    # -- files

    def write_example(self, folder: Path) -> Path:
        """Lists of three candidates; the second one is right if the input is odd, and a feature says so."""
        path = folder / self.example
        with writing_text(path) as stream:
            for n in range(40):
                candidates = [
                    {
                        "answer": f"{n}{k}",
                        "score": -k,
                        "loss": abs(k - n % 2),
                        "features": {"odd": float(n % 2 == k)},
                    }
                    for k in range(3)
                ]
                stream.write(json_text.dumps({"input": str(n), "candidates": candidates}) + "\n")
        return path

    def holds(self, path: Path, format: str | None = None) -> bool:
        """A file of JSON lines whose objects have a list of candidates."""
        return holds_lists(path, format)

    def read(self, path: Path, told: Mapping[str, str]) -> Lists:
        """The lists of a file, every candidate with its loss."""
        found = list(read_lists(path))
        for number, one in enumerate(found, 1):
            if any(c.loss is None for c in one.candidates):
                raise DataError(f"{path}: list {number}: expected a 'loss' for every candidate to train on")
        if not found:
            raise DataError(f"{path}: has no list of candidates")
        weight = None
        if "weight" in told:
            weight = weights_of(path, [Document("", fields=one.record) for one in found], told["weight"])
        return Lists([list_of_file(one) for one in found], weight)

    # -- learning and scoring

    def build(
        self, config: Any, further: Sequence[Mapping[str, Any]], features: Any, seed: int, threads: int
    ) -> Reranker:
        """A reranker over the features in the file."""
        if seed and "seed" in {k.name for k in knobs(config)}:
            config = self.recipes.by_config(config).configured({**vars(config), "seed": seed})
        return self.estimator(config, features=given_features, seed=seed, threads=threads, **further[0])

    def fit(self, estimator: Reranker, train: Lists, dev: Lists | None, on_epoch: Listener) -> None:
        """Train it."""
        held_out = None if dev is None else dev.lists
        estimator.fit(train.lists, sample_weight=train.weight, dev=held_out, on_epoch=on_epoch)

    def tally(self, estimator: Reranker, corpus: Lists) -> Tally:
        """Counts by list."""
        return choice_tally(corpus.lists, estimator.choose(corpus.lists))

    def facts(self, estimator: Reranker, corpus: Lists) -> dict[str, int]:
        """Lists, candidates, features."""
        candidates = sum(len(one.candidates) for one in corpus.lists)
        return {"lists": len(corpus), "candidates": candidates, "features": estimator.features_.F}

    # -- answering

    def predict(self, model: Reranker, asked: PredictRequest) -> None:
        """Write the lists back with the place of the chosen candidate and its answer."""
        model.threads = asked.threads
        _needs_no_base(model)
        lists = list(read_lists(asked.data))
        places = model.choose([list_of_file(one) for one in lists])
        with writing_text(asked.output) as stream:
            for one, k in zip(lists, places, strict=True):
                record = {**one.record, "chosen": k, "answer": one.candidates[k].answer}
                stream.write(json_text.dumps(record, ensure_ascii=False) + "\n")

    def inspect(self, model: Reranker, top: int, label: str | None) -> Contents:
        """The features with the largest positive and negative weights; of a kernel, the support candidates."""
        if label is not None:
            raise DataError("a reranker has no labels; leave out --label")
        w: NDArray[np.float64]
        if model.kernel is not None:
            names, title = (
                [f"#{n + 1} {shown(y)}" for n, y in enumerate(model.support_)],
                "support candidates",
            )
            w = model.dual_.alpha[:, 0]
        else:
            features, title = model.features_, "strongest features"
            known = features.names if isinstance(features, NamedCandidates) else map(str, range(features.F))
            names, w = [*BASE_NAMES, *known], model.scorer_.w
        rows = {
            side: [(names[k], float(w[k])) for k in np.argsort(-sign * w, kind="stable")[:top].tolist()]
            for side, sign in (("for", 1), ("against", -1))
        }
        return Contents((), title, rows)

    def explain(self, model: Reranker, asked: ExplainRequest) -> list[Explanation]:
        """Explanations of choices; --against 3 asks about the third candidate of the list."""
        model.threads = asked.threads
        against = None
        if asked.against is not None:
            if not asked.against.isdigit() or asked.against == "0":
                raise ConfigError(
                    f"--against: expected a candidate's number such as 2, got {asked.against!r}"
                )
            against = int(asked.against) - 1
        return [model.explain(one, against=against) for one in asked.chosen(_asked_lists(asked))]

    def test_set(self, path: Path, models: Sequence[Reranker], told: Mapping[str, str]) -> "ListTestSet":
        """Lists to choose from."""
        for model in models:
            _needs_no_base(model)
        return ListTestSet(path)


LISTS = ListKind()


class ListTestSet(TestSet):
    """Lists of a file; an answer is the index of a candidate, and any candidate with the smallest loss is right."""

    unit = "lists"

    def __init__(self, path: Path) -> None:
        self.path = path
        found = list(read_lists(path))
        if not found:
            raise DataError(f"{display_name(path)}: has no list of candidates")
        self.lists = [list_of_file(one) for one in found]
        self.documents = [Document(text=_in_words(one.x)) for one in self.lists]
        self.labelled = all(one.losses is not None for one in self.lists)
        self.gold = [int(np.argmin(_losses(one))) for one in self.lists] if self.labelled else []
        self.units = len(self.lists)

    def ask(self, model: Reranker) -> list[int]:
        """The place chosen from each list."""
        return model.choose(self.lists)

    def answers_of(self, found: ListOutputs) -> list[int]:
        """The places that an output file holds."""
        return found.chosen[0]

    def outputs(self, names: tuple[str, ...], answers: Sequence[list[int]]) -> ListOutputs:
        """The choices beside the lists."""
        return ListOutputs(names, self.lists, tuple(answers))

    def pieces(self, outputs: Sequence[Sequence[int]], rows: Sequence[int]) -> list[list[Pieces]]:
        """The candidate by its number."""
        return [[[(f"candidate {one[n] + 1}", one[n], one[n] + 1)] for n in rows] for one in outputs]

    def mistakes(self, row: int, right: Pieces, given: Pieces) -> Counter[Confusion]:
        """Another candidate with a greater loss."""
        losses = self.lists[row].losses
        if right == given or (losses is not None and losses[right[0][1]] == losses[given[0][1]]):
            return Counter()
        return Counter({(right[0][0], given[0][0]): 1})

    def piece(self, row: int, piece: tuple[str, int, int]) -> str:
        """The candidate's answer."""
        return f"{piece[0]}: {_in_words(self.lists[row].candidates[piece[1]])}"

    def plain(self, answer: int) -> int:
        """The place, from 0 as in files."""
        return answer


def holds_lists(path: Path, format: str | None = None) -> bool:
    """Whether a file holds JSON lines whose objects have a list of candidates."""
    if format is not None or path.is_dir():
        return False
    start = head(path).lstrip()
    if not start.startswith(b"{"):
        return False
    try:
        first = json_text.loads(start.partition(b"\n")[0])
    except ValueError:  # the line continues beyond the bytes that were read
        return b'"candidates": [' in start
    return isinstance(first.get("candidates"), list)


def base_model(path: Path, threads: int) -> tuple[Kind, Any]:
    """The model of a file whose answers are reranked, and its kind."""
    found = load(path)
    kind = next((one for one in BASES if isinstance(found, one.estimator)), None)
    if kind is None:
        expected = " or ".join(one.model_name for one in BASES)
        raise ConfigError(f"{path}: holds a {type(found).__name__.lower()}, expected {expected}")
    found.threads = threads
    return kind, found


def list_of_file(one: FileList) -> CandidateList:
    """A list of a file in the form of a reranker's input."""
    losses = [c.loss for c in one.candidates]
    known = None if any(loss is None for loss in losses) else np.array(losses, np.float64)
    return CandidateList(one.input, one.candidates, np.array([c.score for c in one.candidates]), known)


def choice_tally(lists: Sequence[CandidateList], chosen: Sequence[int]) -> Tally:
    """One row per list: 1, whether a best candidate was chosen, and the losses of choice, first and best."""
    losses = [_losses(one) for one in lists]
    rows = np.array([[y[k], y[0], y.min()] for y, k in zip(losses, chosen, strict=True)]).reshape(-1, 3)
    largest = max(1.0, float(np.abs(rows).max(initial=0.0)))
    scale = 10.0 ** min(DIGITS, int(np.log10(2e9 / largest)))
    counts = np.ones((len(rows), 5), np.int32)
    counts[:, 1] = rows[:, 0] == rows[:, 2]
    counts[:, 2:] = np.rint(rows * scale)

    def by_key(sums: Sums) -> dict[str, Floats]:
        N = np.maximum(sums[..., 0], 1)
        losses = {
            key: sums[..., i] / (scale * N) for key, i in (("loss", 2), ("loss.base", 3), ("loss.oracle", 4))
        }
        return {"best_chosen": sums[..., 1] / N, **losses}

    return Tally.from_dense(counts, by_key)


def _losses(one: CandidateList) -> NDArray[np.float64]:
    if one.losses is None:
        raise DataError(
            "expected a loss for every candidate to score the choice, found a candidate without one"
        )
    return one.losses


def _check_same_lists(
    a: str | Path, gold: Sequence[FileList], b: str | Path, other: Sequence[FileList]
) -> None:
    """Raise if two files do not hold the same lists."""
    if len(gold) != len(other):
        raise DataError(f"{display_name(a)} has {len(gold)} lists, {display_name(b)} has {len(other)}")
    for n, (x, y) in enumerate(zip(gold, other, strict=True), 1):
        if x.input != y.input or len(x.candidates) != len(y.candidates):
            raise DataError(f"{display_name(b)}: list {n} differs from list {n} of {display_name(a)}")


def _chosen(path: str | Path, n: int, one: FileList) -> int:
    place = one.record.get("chosen")
    if not isinstance(place, int) or not 0 <= place < len(one.candidates):
        raise DataError(
            f"{display_name(path)}: list {n + 1}: expected the place of a candidate as 'chosen', found {place!r}"
        )
    return place


def _in_words(thing: Any) -> str:
    """An input or an answer as one line."""
    thing = getattr(thing, "answer", thing)
    return thing if isinstance(thing, str) else json_text.dumps(thing, ensure_ascii=False)


def _needs_no_base(model: Reranker) -> None:
    if model.kernel is not None or not isinstance(model.features_, NamedCandidates):
        raise ConfigError(
            "this model is a reranker, which chooses among the answers of a tagger or parser: "
            "chaffinch rerank FILE --base MODEL --with RERANKER"
        )


def _asked_lists(asked: ExplainRequest) -> list[CandidateList]:
    if asked.base is None:
        if asked.data is None:
            raise ConfigError(
                "a reranker chooses among the answers of another model: name it with --base, or give a file of lists"
            )
        return [list_of_file(one) for one in read_lists(asked.data)]
    kind, model = base_model(asked.base, asked.threads)
    return kind.candidates(model, asked, asked.kbest or KBEST)
