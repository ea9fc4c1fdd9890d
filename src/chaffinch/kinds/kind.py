"""A kind of data and of model: how its files are recognised and read, and how it is trained, scored and shown.

``train``, ``predict``, ``evaluate``, ``explain``, ``inspect``, ``compare``, ``tune`` and ``ablation`` know no kind by
name; each kind is one object in ``KINDS`` and the only place that knows the kind as a whole.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from chaffinch import samples
from chaffinch.corpus import write
from chaffinch.corpus.registry import with_extension
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import load
from chaffinch.evaluate import Tally
from chaffinch.evaluate.mistakes import NONE, Pieces
from chaffinch.evaluate.outputs import Outputs
from chaffinch.kinds.corpora import Corpus, size
from chaffinch.kinds.needs import Needs
from chaffinch.kinds.requests import ExplainRequest, PredictRequest, TrainRequest
from chaffinch.kinds.weights import WeightColumn
from chaffinch.knobs import Knob, Panel, configured, knobs, settings_of
from chaffinch.model.candidates import CandidateList
from chaffinch.progress import Listener
from chaffinch.recipes import Recipes
from chaffinch.text.document import Document
from chaffinch.trust.explanation import Explanation

# Knobs of a run that do not change the experiment.
RUN_KNOBS = frozenset({"seed", "threads"})

Confusion = tuple[str, str]  # the gold label and the predicted one; NONE if there is none
Scores = dict[str, float]


@dataclass(frozen=True)
class Contents:
    """What ``chaffinch inspect`` shows of a model.

    title:       the title of the rows: strongest features, support vectors
    rows:        label -> names with their weights, the greatest first
    transitions: [labels, labels], log-potentials from the row's label to the column's; None if there are none
    edges:       [labels] each, log-potentials of the first label and of the last; None if there are none
    """

    labels: tuple[str, ...]
    title: str = "strongest features"
    rows: Mapping[str, list[tuple[str, float]]] = field(default_factory=dict)
    transitions: NDArray[np.float64] | None = None
    edges: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def moves(self) -> tuple[tuple[str, ...], tuple[str, ...], NDArray[np.float64]]:
        """Transitions with START as the last row and STOP as the last column, if there are any: names and values."""
        assert self.transitions is not None
        if self.edges is None:
            return self.labels, self.labels, self.transitions
        start, stop = self.edges
        inner = np.concatenate([self.transitions, start[None]])
        outer = np.concatenate([inner, np.append(stop, -np.inf)[:, None]], axis=1)
        return (*self.labels, "START"), (*self.labels, "STOP"), outer


class TestSet(ABC):
    """The rows of a file that models predict, with gold if the file has it.

    It runs any number of models and divides each answer into pieces: labelled stretches,
    constituents, links. Two answers with the same pieces are the same answer.

    path, documents: the file and its rows      labelled, gold: whether the file has gold, and the gold answers
    unit, units:     the unit of speed (tokens, documents), and their number
    """

    __test__ = False  # not a pytest class

    path: Path
    documents: list[Document]
    labelled: bool
    gold: list[Any]
    unit: ClassVar[str]
    units: int

    @abstractmethod
    def ask(self, model: Any) -> list[Any]:
        """A model's answers, one per row."""

    @abstractmethod
    def answers_of(self, found: Any) -> list[Any]:
        """The answers in an output file."""

    @abstractmethod
    def outputs(self, names: tuple[str, ...], answers: Sequence[list[Any]]) -> Outputs:
        """Gold and predictions as outputs for an evaluation."""

    @abstractmethod
    def pieces(self, outputs: Sequence[Sequence[Any]], rows: Sequence[int]) -> list[list[Pieces]]:
        """The pieces of each output's answers to some rows: label, begin, end."""

    @abstractmethod
    def mistakes(self, row: int, right: Pieces, given: Pieces) -> Counter[Confusion]:
        """The confusions in an answer to a row, with their counts."""

    @abstractmethod
    def piece(self, row: int, piece: tuple[str, int, int]) -> str:
        """A piece of an answer in readable form."""

    @abstractmethod
    def plain(self, answer: Any) -> Any:
        """An answer for JSON."""

    def words(self, row: int) -> list[str] | None:
        """The words of a row if its pieces are stretches of them, to be highlighted."""
        return None

    def unknown_labels(self, known: Collection[str]) -> list[str]:
        """The gold labels that no model knows, if answers are plain labels."""
        return []


class Kind(ABC):
    """One kind: sentences with tags, documents with labels, trees, sentence pairs with links, lists of candidates.

    plural:    its name in messages, as in "for documents"
    estimator: the class of its models; its recipes are the kind's
    default:   the recipe trained by default
    quickest:  the recipe that trains in the shortest time, for a first try
    example:   the file name of a small example: a sample and an ending
    corpus:    the class of its corpora
    unit:      the unit of speed: tokens, texts
    scores:    the reported keys, the main score first
    knobs:     further configs whose knobs are settings besides the recipe's, each with its title in help
    experimental: default settings of experiments, which measure answers, so nothing is calibrated
    columns:   further configs whose knobs are options of the reader of training files
    takes:     the flags of TrainRequest and PredictRequest that it accepts besides the common ones
    explains:  the flags of ExplainRequest that it accepts
    outputs:   the classes that score its answers; files of gold and predictions are tried with each
    tells:     the READER_FLAGS that its readers accept, besides ``from_format``
    baseline:  whether an experiment without a recipe starts from the settings of ``lab/baseline.py``
    served:    whether its models answer inputs one by one, so that the server can load them
    """

    plural: ClassVar[str]
    estimator: ClassVar[Any]
    default: ClassVar[str]
    quickest: ClassVar[str]
    example: ClassVar[str]
    corpus: ClassVar[type]
    unit: ClassVar[str]
    scores: ClassVar[tuple[str, ...]]
    knobs: ClassVar[tuple[tuple[str, type], ...]] = ()
    experimental: ClassVar[Mapping[str, Any]] = {}
    columns: ClassVar[tuple[tuple[str, type], ...]] = (("weights of examples", WeightColumn),)
    takes: ClassVar[Collection[str]] = ()
    explains: ClassVar[Collection[str]] = ()
    tells: ClassVar[Collection[str]] = ()
    outputs: ClassVar[tuple[type[Outputs], ...]] = ()
    baseline: ClassVar[bool] = False
    served: ClassVar[bool] = True

    # -- files

    def write_example(self, folder: Path) -> Path:
        """Write a small file of the kind, on which every command that applies to the kind works."""
        path = folder / self.example
        write(samples.load(path.stem, n=60), path)
        return path

    @abstractmethod
    def holds(self, path: Path, format: str | None = None) -> bool:
        """Whether a file is of this kind, in the named or the detected format."""

    @abstractmethod
    def read(self, path: Path, told: Mapping[str, str]) -> Any:
        """The training corpus of a file; DataError if it has no annotations.

        told: the READER_FLAGS that were given
        """

    def beside(self, asked: TrainRequest, told: Mapping[str, str]) -> dict[str, Any]:
        """Further arguments of ``fit``, besides the corpus of the files."""
        return {}

    def located(self, error: DataError, paths: Sequence[Path], told: Mapping[str, str]) -> DataError:
        """An error of training, with the place in the files if it knows the example."""
        return error

    def of_documents(self, documents: Sequence[Document], where: str) -> Corpus | None:
        """Documents as a training corpus; None if they have other annotations."""
        return None

    # -- settings

    @property
    def recipes(self) -> Recipes:
        """Its recipes."""
        found: Recipes = self.estimator.recipes
        return found

    @property
    def detected(self) -> bool:
        """Whether its files are corpora of a known format; False: files of its own."""
        return all(one.detected for one in self.outputs)

    @property
    def model_name(self) -> str:
        """The name of its models in messages, with an article."""
        name = self.estimator.__name__.lower()
        return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"

    def panels(self, reading: bool = True) -> list[Panel]:
        """The settings that are flags; without ``reading`` those of models only."""
        kind = self.plural.capitalize()
        own = [Panel(f"{kind}: knobs of recipe {r.name}", r.config, r.name) for r in self.recipes]
        further = (*self.knobs, *(self.columns if reading else ()))
        return [*own, *(Panel(f"{kind}: {title}", config) for title, config in further)]

    def settings_of(self, recipe: str) -> dict[str, Knob]:
        """Every setting that a model of this recipe has."""
        further = {k.name: k for _, c in self.knobs for k in knobs(c) if k.name not in RUN_KNOBS}
        return {k.name: k for k in knobs(self.recipes.by_name(recipe).config)} | further

    def refuse_settings_of_others(self, name: str, settings: Mapping[str, Any]) -> None:
        """Raise for a setting that the recipe does not have, and name the recipes that do."""
        recipe = self.recipes.by_name(name)
        reading = {k.name for _, config in self.columns for k in knobs(config)}
        for flag in settings.keys() - self.settings_of(name).keys() - reading:
            takers = [r.name for r in self.recipes if flag in {k.name for k in knobs(r.config)}]
            owners = f"; recipes with it: {', '.join(takers)}" if takers else ""
            raise ConfigError(
                f"recipe {recipe.name} for {self.plural} has no knob --{flag.replace('_', '-')}{owners}"
            )

    def split(self, recipe: str, settings: Mapping[str, Any]) -> tuple[Any, list[dict[str, Any]]]:
        """The recipe's config, and the settings of each further config that were given; all of them checked."""
        further, rest = [], dict(settings)
        for title, config in self.knobs:
            known = {k.name for k in knobs(config)} - RUN_KNOBS
            given = {name: rest.pop(name) for name in list(rest) if name in known}
            made = configured(config, given, title)
            further.append({name: getattr(made, name) for name in given})
        return self.recipes.by_name(recipe).configured(rest), further

    def full_settings(self, recipe: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The checked settings, with every default of the recipe."""
        config, further = self.split(recipe, settings)
        found = settings_of(config)
        for given in further:
            found |= given
        return found

    def made(
        self, recipe: str | None, settings: Mapping[str, Any], features: Any, seed: int, threads: int
    ) -> Any:
        """An untrained estimator, by default of the default recipe."""
        recipe = recipe or self.default
        self.refuse_settings_of_others(recipe, settings)
        if features is not None and "features" not in self.takes:
            raise ConfigError(f"--features does not apply to {self.plural}; leave it out")
        config, further = self.split(recipe, settings)
        return self.build(config, further, features, seed, threads)

    def build(
        self, config: Any, further: Sequence[Mapping[str, Any]], features: Any, seed: int, threads: int
    ) -> Any:
        """The estimator of checked settings."""
        return self.estimator(config, seed=seed, threads=threads)

    def started(self, recipe: str | None, settings: Mapping[str, Any], threads: int) -> Any:
        """The trained estimator of the file that ``settings["start"]`` names; ``fit`` trains it further."""
        path = Path(settings["start"])
        made = load(path)
        if not isinstance(made, self.estimator):
            raise ConfigError(f"--start: {path} is not a model for {self.plural}")
        named = self.recipes.by_config(made.config_).name
        if recipe not in (None, named):
            raise ConfigError(f"--start: {path} holds a model of the recipe {named}, not {recipe}")
        if others := sorted(settings.keys() - {"start"}):
            shown = ", ".join("--" + name.replace("_", "-") for name in others)
            raise ConfigError(f"--start continues with the settings of {path}; leave out {shown}")
        if not hasattr(made, "partial_fit"):
            raise ConfigError(
                f"--start: {path} holds a model of the recipe {named}, which cannot learn further data"
            )
        made.threads = threads
        return made

    # -- learning and scoring

    @abstractmethod
    def fit(self, estimator: Any, train: Any, dev: Any, on_epoch: Listener) -> None:
        """Train it, or train it further if it is trained; ``dev`` is held-out data to stop on, or None."""

    def needs(self, corpora: Sequence[Any], recipe: str | None, features: Any) -> Needs | None:
        """The memory and time of training, estimated by a short trial; None: not known.

        recipe, features: the requested ones
        """
        return None

    def fit_cached(
        self,
        estimator: Any,
        paths: Sequence[Path],
        told: Mapping[str, str],
        folder: Path,
        dev: Any,
        on_epoch: Listener,
    ) -> tuple[dict[str, int], list[str]]:
        """Train it on files that need not fit in memory, through a cache in a folder.

        Returns the facts of :meth:`facts`, and remarks on the differences from training in memory.
        """
        raise ConfigError(f"--cache does not apply to {self.plural}; leave it out")

    @abstractmethod
    def tally(self, estimator: Any, corpus: Any) -> Tally:
        """The counts behind every score."""

    def watcher(self, corpus: Any, threads: int) -> Callable[[Any], float] | None:
        """A function that scores a model on a corpus during training; None if there are no models between passes."""
        return None

    def scores_of(self, tally: Tally) -> Scores:
        """The reported scores of a tally."""
        values = tally.score(tally.sums())
        return {key: float(values[key]) for key in self.scores if key in values}

    def units(self, corpus: Any) -> int:
        """The number of tokens, texts ..."""
        return size(corpus)

    @abstractmethod
    def facts(self, estimator: Any, corpus: Any) -> dict[str, int]:
        """The size of the training data, such as {"sentences": 8936}."""

    def remarks(self, estimator: Any, paths: Sequence[Path], told: Mapping[str, str]) -> list[str]:
        """Remarks of ``train`` on how it interprets the columns of its files."""
        return []

    def calibration(self, estimator: Any) -> dict[str, Any]:
        """The calibration scores of a trained model, by name; empty if it was not calibrated."""
        found = getattr(estimator, "confidence_", None)
        return {} if found is None else found.as_dict()

    def recalibrate(self, estimator: Any, corpus: Any) -> None:
        """Fit the probabilities of a trained model on held-out data."""
        raise ConfigError(f"models of {self.plural} cannot be calibrated after training")

    # -- answering

    @abstractmethod
    def predict(self, model: Any, asked: PredictRequest) -> None:
        """Write the input back with the model's answers."""

    def answer(self, model: Any, documents: Sequence[Document]) -> list[Any]:
        """A model's answers to documents, for a server that knows nothing else of the kind; by default from words."""
        return list(model.predict([document.words() for document in documents]))

    def ruled(self, model: Any, rules: Path) -> Any:
        """The model whose answers obey the rules of a file."""
        raise ConfigError(f"--rules does not apply to {self.plural}; leave it out")

    def streams(self, model: Any) -> bool:
        """Whether the answer to a row depends on that row alone."""
        return False

    def ending(self, model: Any, asked: PredictRequest) -> str | None:
        """The extension for a file of answers; None if ``asked.output`` can hold them."""
        return None

    def answers_have_header(self, asked: PredictRequest) -> bool:
        """Whether the first line that ``predict`` writes names columns."""
        return False

    @abstractmethod
    def inspect(self, model: Any, top: int, label: str | None) -> Contents:
        """The contents of a model."""

    @abstractmethod
    def explain(self, model: Any, asked: ExplainRequest) -> list[Explanation]:
        """Explanations of a model's answers."""

    def name_features(self, model: Any, path: Path) -> None:
        """Find the names of hashed features in a file, before ``inspect``."""
        raise ConfigError(f"--names-from does not apply to {self.plural}; leave it out")

    @abstractmethod
    def test_set(self, path: Path, models: Sequence[Any], told: Mapping[str, str]) -> TestSet:
        """The rows of a file that models predict."""

    # -- active learning

    starts_at_centres: ClassVar[bool] = (
        False  # whether cluster centres are a good first batch without a model
    )
    strategy: ClassVar[str] = ""  # the strategy that was best in simulations

    def pool(self, model: Any, asked: PredictRequest) -> Corpus:
        """The rows of a file, labelled or not, as ``uncertainty`` takes them."""
        raise self._no_queue()

    def texts(self, corpus: Any) -> list[str]:
        """The texts of the rows, to compare them."""
        raise self._no_queue()

    def uncertainty(self, model: Any, corpus: Any) -> NDArray[np.float64]:
        """The model's uncertainty about each row."""
        raise self._no_queue()

    def unit_counts(self, corpus: Any) -> NDArray[np.int64]:
        """The number of tokens, texts ... that an annotator reads in each row."""
        return np.ones(size(corpus), np.int64)

    def wrong_units(self, model: Any, corpus: Any) -> NDArray[np.int64]:
        """The number of labels in the model's answer to each row that an annotator has to correct."""
        raise self._no_queue()

    def self_labelled(self, model: Any, pool: Any, train: Any) -> tuple[Corpus, NDArray[np.float64]]:
        """The rows of a pool with the model's answers as labels, to be joined to ``train``; and for each row the
        probability of the least certain label of its answer.
        """
        raise ConfigError(f"self-training is for sentences and documents, not for {self.plural}")

    def _no_queue(self) -> ConfigError:
        return ConfigError(f"choosing rows to label is for sentences and documents, not for {self.plural}")

    # -- lists of the k best answers, for reranking

    list_features: ClassVar[tuple[str, ...]] = ()  # of whole answers by name, the default first

    def candidates(self, model: Any, asked: Any, k: int, *, gold: bool = False) -> list[CandidateList]:
        """The k best answers of a model for a file or text; gold: with the loss of each."""
        raise self._no_lists()

    def candidates_to_learn(
        self, model: Path, data: Path, k: int, folds: int, features: str, wrong: float | None, threads: int
    ) -> list[CandidateList]:
        """Out-of-fold lists for training, by models with the settings of the model file."""
        raise self._no_lists()

    def candidate_features(self, name: str, data: Path) -> Any:
        """Features of whole answers by their name."""
        return name

    def candidate_gain(self, data: Path, answers: Mapping[str, Sequence[Any]]) -> Scores:
        """The main score of the answers called base, reranked and oracle, and the gain with its interval."""
        raise self._no_lists()

    def write_chosen(self, data: Path, chosen: Sequence[Any], output: Path) -> None:
        """Write the answers that a reranker chose."""
        raise self._no_lists()

    def _no_lists(self) -> ConfigError:
        return ConfigError(f"{self.model_name} gives no k-best lists to rerank; use a tagger or a parser")


# -- refusing -----------------------------------------------------------------------------------------------------

ALWAYS = frozenset(
    {
        "data",
        "model",
        "recipe",
        "dev",
        "seed",
        "threads",
        "json",
        "report",
        "settings",
        "output",
        "from_format",
        "rows",
        "notes",
        "layout",
    }
) | {"words", "number", "compare"}


def refuse_strange_flags(kind: Kind, request: TrainRequest | PredictRequest | ExplainRequest) -> None:
    """Raise for a given flag that the kind does not accept."""
    understood = kind.explains if isinstance(request, ExplainRequest) else {*kind.takes, *kind.tells}
    for f in fields(request):
        if f.name in ALWAYS or f.name in understood or getattr(request, f.name) == f.default:
            continue
        flag = f.name.removesuffix("_format").replace("_", "-")
        raise ConfigError(f"--{flag} does not apply to {kind.plural}; leave it out")


def holds_layer(output: Path, layer: str) -> bool:
    """Whether a format of this file name holds a layer of documents: tree, links; a name of no format holds any."""
    suggested = with_extension(output)
    return not suggested or any(layer in format.carries for format in suggested)


def refuse_other_format(output: Path, layer: str, names: str) -> None:
    """Raise if no format of this file name holds a layer of documents."""
    if not holds_layer(output, layer):
        suggested = with_extension(output)
        raise ConfigError(
            f"{output}: by its name the format is {suggested[-1].name}, which holds no {layer}; name {names}"
        )


def missed_and_invented(right: Pieces, given: Pieces) -> Counter[Confusion]:
    """Pieces of one side only; two pieces over the same stretch are a confusion."""
    missed, invented = Counter(right) - Counter(given), Counter(given) - Counter(right)
    found: Counter[Confusion] = Counter()
    for label, begin, end in missed.elements():
        other = next((p for p in invented if invented[p] and p[1:] == (begin, end)), None)
        if other is not None and other[0] != label:
            invented[other] -= 1
            found[label, other[0]] += 1
        else:
            found[label, NONE] += 1
    found.update((NONE, label) for label, _, _ in invented.elements())
    return found
