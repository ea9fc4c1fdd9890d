"""The reranker: chooses among the candidates of a k-best list by features of whole answers."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.corpus.brackets import bracketed
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators.inputs import SampleWeight, counting, sample_weights
from chaffinch.estimators.loading import SavedTask
from chaffinch.estimators.persistent import FilePickle, SklearnParams
from chaffinch.kernels import GramRows, Kernel
from chaffinch.knobs import settings_of
from chaffinch.learners.examples import ListExamples
from chaffinch.learners.online import OnlineLearner
from chaffinch.learners.problem import Problem
from chaffinch.model.candidates import (
    CandidateFeatures,
    CandidateList,
    FeatureFunction,
    NamedCandidates,
    NamingFeatures,
    TagCandidates,
    TreeCandidates,
)
from chaffinch.model.choice_evidence import candidate_example
from chaffinch.model.evidence import CONSTANT, EXAMPLE, FEATURE, Question
from chaffinch.model.objects import shown
from chaffinch.model.reranker_file import (
    BASE,
    CONSENSUS,
    NAMED,
    TAGS,
    TREES,
    ListWeights,
    loaded_features,
    loaded_kernel,
    packed_features,
    packed_kernel,
)
from chaffinch.model.tree_consensus import TreeConsensus
from chaffinch.modelfile import Requirements
from chaffinch.progress import Listener, Progress, keep_going
from chaffinch.recipes.rerankers import DEFAULT_RERANKER, RERANKERS, ListTask
from chaffinch.recipes.training import list_score
from chaffinch.scorers import FeatureScorer, PartFeatures, Rows
from chaffinch.scorers.dual import KernelLists
from chaffinch.structures.choice import Candidates, Judged
from chaffinch.text.document import Tree
from chaffinch.trust.explain import explain
from chaffinch.trust.explanation import Explanation

TASK = "reranker"
BASE_NAMES = ("distance from the base model's best", "first choice of the base model")


class Reranker(FilePickle, SklearnParams):
    """Chooses among candidates.

    recipe:    ``likelihood``, ``risk``, ``perceptron``, ``mira`` or ``hinge``, or a learner's config with knobs set
    features:  ``"tags"`` for labellings, ``"trees"`` for parses, ``"consensus"`` for parses by their agreement with
               the rest of the list; a function of the input and one candidate that returns names of features or
               their values; or an object with ``fit``, ``rows`` and ``F`` (see CandidateFeatures), such as
               ``TreeConsensus(grammar=HeadGrammar.counted(trees))``
    kernel:    a kernel of two candidates instead of features, such as ``SubsetTreeKernel()`` for trees; only for the
               online recipes
    min_count: drop features that are rarer than this
    base:      the initial weight of the base model's score, if the learner has initial weights
    seed:      seed of the order of examples

    Two more features are always used: the base model's score (its distance from the best of the list) and its first
    choice. Train on lists of sentences that the base model was not trained on: see :func:`cross_validated`.

    >>> lists = [CandidateList(None, ["aa", "ab"], np.array([0.0, -0.1]), np.array([1.0, 0.0])),
    ...          CandidateList(None, ["cb", "ca"], np.array([0.0, -2.0]), np.array([0.0, 1.0]))]
    >>> reranker = Reranker(features=lambda x, y: [f"ends in {y[-1]}"]).fit(lists)
    >>> reranker.predict(lists)
    ['ab', 'cb']
    """

    task = TASK
    recipes = RERANKERS

    def __init__(
        self,
        recipe: Any = DEFAULT_RERANKER,
        *,
        features: str | FeatureFunction | CandidateFeatures = TAGS,
        kernel: Kernel | None = None,
        min_count: int = 2,
        base: float = 1.0,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        super().__init__(recipe, seed=seed, threads=threads)
        self.features = features
        self.kernel = kernel
        self.min_count = min_count
        self.base = base

    # -- learning ---------------------------------------------------------------------------------------------

    def fit(
        self,
        lists: Sequence[CandidateList],
        *,
        sample_weight: SampleWeight = None,
        dev: Sequence[CandidateList] | None = None,
        on_epoch: Listener = keep_going,
    ) -> "Reranker":
        """Train on lists with losses.

        sample_weight: weight of the loss of each list
        dev:           held-out lists with losses: the pass with the smallest loss on them is kept, and training
                       stops after three passes without improvement
        """
        if not lists:
            raise DataError("expected at least one list of candidates to train on, got none")
        weight = sample_weights(sample_weight, len(lists), "lists")
        if weight is not None and (kept := counting(weight)) is not None:
            lists, weight = [lists[n] for n in kept.tolist()], weight[kept]
        config = self.checked()
        losses = _losses(lists)
        held_out = None if dev is None else _losses(dev)
        if self.kernel is not None:
            problem, scores = self._kernel_problem(self.kernel, lists, losses, dev)
        else:
            problem, scores = self._problem(lists, losses, dev, RERANKERS.by_config(config).name != "hinge")
        score = None if held_out is None else list_score(held_out, scores)
        task = ListTask(problem, self.threads, on_epoch, score, weight)
        trained = RERANKERS.train(task, config)
        if self.kernel is not None:
            every = [y for one in lists for y in one.candidates]
            self.dual_ = trained.model.finished()
            self.support_ = [every[n] for n in np.flatnonzero(trained.model.w).tolist()]
        else:
            self.scorer_: FeatureScorer = trained.model
        self.history_: list[Progress] = trained.history
        self.config_ = config
        return self

    def checked(self) -> Any:
        """The learner's config; ConfigError if it cannot use the kernel."""
        config = self._config()
        if self.kernel is not None and not isinstance(config, OnlineLearner):
            online = [r.name for r in RERANKERS if issubclass(r.config, OnlineLearner)]
            raise ConfigError(f"with a kernel, use {' or '.join(online)}: they learn one example at a time")
        return config

    # -- answering --------------------------------------------------------------------------------------------

    def predict(self, lists: Sequence[CandidateList]) -> list[Any]:
        """The candidate chosen from each list."""
        return [one.candidates[k] for one, k in zip(lists, self.choose(lists), strict=True)]

    def choose(self, lists: Sequence[CandidateList]) -> list[int]:
        """The index of the chosen candidate of each list; ties go to the candidate that the base model prefers."""
        return [int(np.argmax(scores)) for scores in self.scores(lists)]

    def scores(self, lists: Sequence[CandidateList]) -> list[NDArray[np.float64]]:
        """The scores of all candidates of each list."""
        if not hasattr(self, "config_"):
            raise ConfigError("this reranker is not trained: call fit, or load a model")
        if not lists:
            return []
        if self.kernel is not None:
            objects = [y for one in lists for y in one.candidates]
            found = self.dual_.scores(objects, self.threads)[:, 0] + self.base * _gaps(lists)
            return np.split(found, _bounds(lists)[1:-1])
        rows = _with_base(self.features_.rows(lists), lists)
        return np.split(self._scores_of_rows(rows), _bounds(lists)[1:-1])

    def explain(self, one: CandidateList, *, against: int | None = None) -> Explanation:
        """An explanation of a choice: named contributions that add up to the scores of two candidates.

        against: the index of the other candidate; None: the base model's first, or the next best if that was chosen

        >>> lists = [CandidateList(None, ["aa", "ab"], np.array([0.0, -0.1]), np.array([1.0, 0.0])),
        ...          CandidateList(None, ["cb", "ca"], np.array([0.0, -2.0]), np.array([0.0, 1.0]))]
        >>> why = Reranker(features=lambda x, y: [f"ends in {y[-1]}"]).fit(lists).explain(lists[0]).decisions[0]
        >>> why.answer, why.rival, [c.name for c in why.contributions if c.kind == "feature"]
        ('ab', 'aa', ['ends in a', 'ends in b'])
        """
        names, values, w, scores = self._evidence(one)
        lines = [_in_words(y) for y in one.candidates]
        kind = FEATURE if self.kernel is None else EXAMPLE
        kinds = [CONSTANT if name in BASE_NAMES else kind for name in names]
        (found,) = explain(candidate_example(lines, names, values, w, scores, kinds, against), Question())
        return Explanation(
            RERANKERS.by_config(self.config_).name, _in_words(one.x), (), found.answer, (found,)
        )

    # -- keeping ----------------------------------------------------------------------------------------------

    def save(self, path: str | Path, *, scores: Mapping[str, float] | None = None) -> None:
        """Write the model to one file. It does not hold a user's feature function: pass it again to ``loaded``."""
        if not hasattr(self, "config_"):
            raise ConfigError("this reranker is not trained")
        if self.kernel is not None:
            packed = packed_kernel(self.dual_, self.support_, self.base)
        else:
            packed = ListWeights(self.scorer_.w).packed() | packed_features(self.features_)
        header = modelfile.Header(
            recipe=RERANKERS.by_config(self.config_).name,
            settings=settings_of(self.config_),
            seed=self.seed,
            scores=dict(scores or {}),
            details={**SavedTask(TASK).packed().details, **packed.details},
        )
        modelfile.write(path, header, packed.arrays, packed.strings)

    @classmethod
    def loaded(cls, file: modelfile.ModelFile, features: FeatureFunction | None = None) -> "Reranker":
        """The reranker of a file; ``features`` is the feature function that it was fitted with."""
        need = Requirements(file)
        reranker = cls(
            RERANKERS.by_name(file.header.recipe).configured(file.header.settings), seed=file.header.seed or 0
        )
        if (found := loaded_kernel(need)) is not None:
            reranker.kernel, reranker.dual_, reranker.support_, reranker.base = found
        else:
            function = features or given_features
            kind, reranker.features_ = loaded_features(need, function)
            reranker.features = function if kind == NAMED else kind
            reranker.scorer_ = ListWeights.loaded(need).scorer()
        need.nothing_else()
        reranker.config_ = reranker.recipe
        reranker.history_ = []
        return reranker

    @classmethod
    def _of_file(cls, file: modelfile.ModelFile, params: Mapping[str, Any]) -> "Reranker":
        features = params["features"]
        return cls.loaded(file, features if callable(features) else None)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scorer_") or hasattr(self, "dual_")

    # -- inside -------------------------------------------------------------------------------------------------

    def _problem(
        self,
        lists: Sequence[CandidateList],
        losses: list[NDArray[np.float64]],
        dev: Sequence[CandidateList] | None,
        based: bool,
    ) -> tuple[Problem, Callable[[Any], Sequence[Any]]]:
        """Lists with their features, and the held-out score. based: start from the base model's scores."""
        self.features_ = self._features()
        rows = _with_base(self.features_.fit(lists), lists)
        examples = ListExamples(_bounds(lists), rows, np.concatenate(losses))
        start = np.zeros(BASE + self.features_.F)
        if based:
            start[0] = self.base
        every: PartFeatures | None = None
        bounds: NDArray[np.int64] = np.zeros(0, np.int64)
        if dev:
            held_out = _with_base(self.features_.rows(dev), dev)
            every = PartFeatures({"choice": (len(held_out.ptr) - 1,)}, {"choice": held_out})
            bounds = _bounds(dev)[1:-1]

        def scores(scorer: FeatureScorer) -> Sequence[Any]:
            return [] if every is None else np.split(scorer.potentials(every)["choice"], bounds)

        return Problem(Candidates(), FeatureScorer(len(start), start), examples), scores

    def _kernel_problem(
        self,
        kernel: Kernel,
        lists: Sequence[CandidateList],
        losses: list[NDArray[np.float64]],
        dev: Sequence[CandidateList] | None,
    ) -> tuple[Problem, Callable[[Any], Sequence[Any]]]:
        """The same with a kernel instead of features."""
        every = [y for one in lists for y in one.candidates]
        rows = GramRows(kernel, every, threads=self.threads)
        bounds = _bounds(lists).tolist()
        examples = [((a, b), Judged.of(loss)) for (a, b), loss in zip(pairwise(bounds), losses, strict=True)]
        scorer = KernelLists(rows, self.base * _gaps(lists))

        def scores(fitted: KernelLists) -> Sequence[Any]:
            if not dev:
                return []
            objects = [y for one in dev for y in one.candidates]
            found = fitted.finished().scores(objects, self.threads)[:, 0] + self.base * _gaps(dev)
            return np.split(found, _bounds(dev)[1:-1])

        return Problem(Candidates(), scorer, examples), scores

    def _scores_of_rows(self, rows: Any) -> NDArray[np.float64]:
        every = PartFeatures({"choice": (len(rows.ptr) - 1,)}, {"choice": rows})
        return np.asarray(self.scorer_.potentials(every)["choice"])

    def _evidence(
        self, one: CandidateList
    ) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The features of candidates: names [F], values [n, F], weights [F]; and the candidates' scores [n]."""
        if not hasattr(self, "config_"):
            raise ConfigError("this reranker is not trained: call fit, or load a model")
        if self.kernel is not None:
            objects = self.dual_.kernel.prepared(list(one.candidates))
            scores = self.dual_.scores(objects, self.threads)[:, 0] + self.base * _gaps([one])
            K = self.dual_.kernel.gram(objects, self.dual_.support, threads=self.threads)
            values = np.concatenate([_gaps([one])[:, None], K.astype(np.float64)], axis=1)
            names = [BASE_NAMES[0], *(f"#{n + 1} {shown(y)}" for n, y in enumerate(self.support_))]
            return names, values, np.concatenate([[self.base], self.dual_.alpha[:, 0]]), scores
        rows = _with_base(self.features_.rows([one]), [one])
        used, places = np.unique(rows.ids, return_inverse=True)
        values = np.zeros((len(one.candidates), len(used)))
        np.add.at(values, (np.repeat(np.arange(len(values)), np.diff(rows.ptr)), places), rows.values)
        own = np.ascontiguousarray(used[used >= BASE] - BASE, np.int32)
        named = (
            self.features_.named(own, one)
            if isinstance(self.features_, NamingFeatures)
            else [f"feature {i}" for i in own.tolist()]
        )
        return [*BASE_NAMES, *named], values, self.scorer_.w[used], self._scores_of_rows(rows)

    def _features(self) -> CandidateFeatures:
        if self.features == TAGS:
            return TagCandidates(min_count=self.min_count, threads=self.threads)
        if self.features == TREES:
            return TreeCandidates(min_count=self.min_count)
        if self.features == CONSENSUS:
            return TreeConsensus()
        if isinstance(self.features, str):
            raise ConfigError(
                f"there are no features {self.features!r}: give 'tags', 'trees', 'consensus', a function or an object"
            )
        if callable(self.features):
            return NamedCandidates(self.features, min_count=self.min_count)
        return self.features


def _losses(lists: Sequence[CandidateList]) -> list[NDArray[np.float64]]:
    losses = [one.losses for one in lists if one.losses is not None]
    if len(losses) < len(lists):
        raise DataError("every training list needs losses")
    return losses


def _in_words(thing: Any) -> str:
    """A candidate or an input as one line."""
    thing = getattr(thing, "answer", thing)
    if isinstance(thing, Tree):
        return bracketed(thing)
    if isinstance(thing, list | tuple):
        return " ".join(_in_words(one[0] if isinstance(one, tuple) else one) for one in thing)
    return "" if thing is None else str(thing)


def given_features(_x: Any, candidate: Any) -> Mapping[str, float]:
    """The features that are stored with a candidate, as in a file."""
    found = getattr(candidate, "features", None)
    if not isinstance(found, Mapping):
        raise ConfigError(
            "these candidates have no features: give the feature function that the reranker was fitted with"
        )
    return found


def oracle(lists: Sequence[CandidateList]) -> list[Any]:
    """The oracle: the candidate with the smallest loss in each list."""
    for one in lists:
        if one.losses is None:
            raise DataError(
                "expected lists with losses, from which the best candidates follow, got one without"
            )
    return [one.candidates[int(np.argmin(one.losses))] for one in lists]  # type: ignore[arg-type]


def cross_validated(
    n: int, folds: int, lists: Callable[[NDArray[np.int64], NDArray[np.int64]], Sequence[CandidateList]]
) -> list[CandidateList]:
    """Out-of-fold lists for n training examples.

    ``lists(rest, held)`` trains a base model on the examples ``rest`` and returns its lists for those of ``held``.
    Folds are contiguous, since neighbours often come from one document and would leak into training.

    >>> seen = cross_validated(5, 2, lambda rest, held: [
    ...     CandidateList(int(i), [rest.tolist()], np.zeros(1)) for i in held])
    >>> [(one.x, one.candidates[0]) for one in seen][:2]
    [(0, [3, 4]), (1, [3, 4])]
    """
    if not 2 <= folds <= n:
        raise ConfigError(f"folds must be between 2 and {n}, the number of examples, got {folds}")
    fold = np.arange(n) * folds // n
    found: list[CandidateList] = []
    for k in range(folds):
        found += lists(np.flatnonzero(fold != k), np.flatnonzero(fold == k))
    return found


def _bounds(lists: Sequence[CandidateList]) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(one.candidates) for one in lists)], dtype=np.int64)


def _gaps(lists: Sequence[CandidateList]) -> NDArray[np.float64]:
    """The base model's score of each candidate minus its best."""
    return np.concatenate([one.scores - one.scores.max() for one in lists])


def _with_base(rows: Rows, lists: Sequence[CandidateList]) -> Rows:
    """The rows with the base model's two features in front."""
    gaps = _gaps(lists)
    first = np.zeros(len(gaps))
    first[_bounds(lists)[:-1]] = 1
    at = np.repeat(rows.ptr[:-1], BASE)
    ids = np.insert(rows.ids + BASE, at, np.tile(np.arange(BASE), len(gaps)))
    values = np.insert(rows.values, at, np.stack([gaps, first], axis=1).reshape(-1))
    return Rows(rows.ptr + BASE * np.arange(len(rows.ptr)), ids.astype(np.int32), values.astype(np.float32))
