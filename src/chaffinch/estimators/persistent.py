"""What all estimators share: scikit-learn's parameters, and saving to and loading from a model file."""

import dataclasses
import inspect
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Self, TypeVar

from chaffinch import modelfile
from chaffinch.errors import ConfigError, warn_about_data
from chaffinch.estimators.loading import ESTIMATORS, SavedTask
from chaffinch.estimators.pretrained import load_folder, push, save_folder
from chaffinch.knobs import settings_of
from chaffinch.learners.shards import Sharding
from chaffinch.model.protocols import Packed
from chaffinch.modelfile.compressed import SECTION as COMPRESSED
from chaffinch.modelfile.compressed import compressed
from chaffinch.progress import gap_share
from chaffinch.recipes import Recipes
from chaffinch.trust.confidence import Confidence

INNER = "recipe__"


def _say_loading_class(estimator: Any) -> None:
    """Warn that a subclass without a task of its own is loaded as its base."""
    loading = ESTIMATORS[estimator.task]
    own = type(estimator)
    if own is not loading and own.__qualname__ != loading.__qualname__:
        warn_about_data(
            f"the file of this {own.__name__} is loaded as {loading.__name__}, without the methods of {own.__name__}; "
            f'a class with a task of its own (task = "{own.__name__.lower()}") is loaded as itself'
        )


class SklearnParams:
    """The parameters of an estimator whose first argument is a recipe, for ``clone``, ``GridSearchCV`` and users.

    The parameters are the constructor's arguments, each kept under its own name.
    """

    recipes: ClassVar[Recipes]

    def __init_subclass__(cls) -> None:
        """Register an estimator that names a task for the files of that task."""
        super().__init_subclass__()
        if "task" in vars(cls):
            task = vars(cls)["task"]
            known = ESTIMATORS.setdefault(task, cls)
            if known.__qualname__ != cls.__qualname__:
                raise TypeError(
                    f"{cls.__name__}.task is {task!r}, which is that of {known.__name__}: files of one task are "
                    "loaded by one class; name another task"
                )

    choice_: dict[str, Any] | None = None  # settings chosen by cross-validation, and their scores
    shards_: dict[str, Any] | None = None  # facts of a training in shards: count, method, exact
    sharding: Sharding | None = None  # if set, training runs in shards on an engine

    def __init__(self, recipe: Any, *, seed: int = 0, threads: int = 0) -> None:
        self.recipe = recipe
        self.seed = seed
        self.threads = threads

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments; deep: the recipe's knobs as ``recipe__name`` too."""
        own = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        if deep:
            config = self._config()
            own |= {f"{INNER}{name}": value for name, value in settings_of(config).items()}
        return own

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor, or knobs of the recipe as ``recipe__name``."""
        known = inspect.signature(type(self)).parameters
        for name in [n for n in params if not n.startswith(INNER)]:
            if name not in known:
                raise ConfigError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            setattr(self, name, params[name])
        inner = {n.removeprefix(INNER): v for n, v in params.items() if n.startswith(INNER)}
        if inner:
            config = self._config()
            self.recipe = self.recipes.by_config(config).configured({**settings_of(config), **inner})
        return self

    def _choice_wanted(self, choose: bool | None) -> bool:
        """Whether to choose the settings that are not given; on an engine they are not chosen."""
        if choose and self.sharding is not None:
            raise ConfigError("settings cannot be chosen on an engine: leave out the choice or the engine")
        return self.recipe is None and self.sharding is None if choose is None else choose

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __repr__(self) -> str:
        """The parameters that differ from their defaults."""
        shown = []
        for name, parameter in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name)
            if value is parameter.default or (
                isinstance(value, str | int | float) and value == parameter.default
            ):
                continue
            shown.append(_brief(value) if name == "recipe" else f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _config(self) -> Any:
        """The recipe's config: its defaults if the recipe was named."""
        return self.recipes.by_name(self.recipe).config() if isinstance(self.recipe, str) else self.recipe


class FilePickle:
    """Pickles and copies hold the parameters and the bytes of the model file, no code."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        if self.__sklearn_is_fitted__():  # type: ignore[attr-defined]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.chaff"
                self._write(path)
                state["_file"] = path.read_bytes()
            records = vars(self).get("history_", [])
            state["history_"] = [dataclasses.replace(record, model=None) for record in records]
        return state

    def _write(self, path: Path) -> None:
        self.save(path)  # type: ignore[attr-defined]

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("_file", None)
        if content is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.chaff"
                path.write_bytes(content)
                vars(self).update(vars(self._of_file(modelfile.read(path), state)))
        vars(self).update(state)

    @classmethod
    def _of_file(cls, file: modelfile.ModelFile, params: Mapping[str, Any]) -> Any:
        """The estimator of a file; params: its constructor's arguments."""
        return cls.loaded(file)  # type: ignore[attr-defined]


# Settings that name files of words. Their content is in the model file, their folder is not.
WORD_FILES = ("gazetteers", "clusters")

CONVERGED = 0.01  # a gap below this share of the objective counts as closed, if no setting says otherwise

Model = TypeVar("Model", bound=Any)


class Persistent(FilePickle, SklearnParams, Generic[Model]):
    """An estimator with its trained model in ``model_``, which a recipe's ``load`` restores from a file.

    task: its name in the file's header; None for taggers: their files name no task
    """

    task: ClassVar[str | None]
    model_: Model
    config_: Any
    history_: list[Any]
    fingerprint_: str
    compressed_: bool = False  # whether its file is compressed
    # Labels that were numbers or truth values in the training file, by their text: typed output files get these.
    label_values_: Mapping[str, Any] = MappingProxyType({})
    notes_: Mapping[str, Any] = MappingProxyType(
        {}
    )  # facts that an interface of another tool keeps in the header
    _converged: bool | None = None  # of a loaded model
    # The size of the training data: {"sentences": 100, "tokens": 2000}; empty in older files.
    trained_on_: Mapping[str, int] = MappingProxyType({})
    _file_scores: tuple[str, Mapping[str, float]] | None = (
        None  # the scores in the file, and the fingerprint of its training data
    )

    @property
    def converged_(self) -> bool | None:
        """Whether the duality gap closed to the setting ``gap`` or ``tolerance``; None if it was not evaluated."""
        share = gap_share(self.history_)
        if share is None:
            return self._converged
        wanted = getattr(self.config_, "gap", None) or getattr(self.config_, "tolerance", None) or CONVERGED
        return bool(share <= wanted)

    def save(self, path: str | Path, *, scores: Mapping[str, float] | None = None) -> None:
        """Write the model to one file, which :func:`chaffinch.load` reads."""
        _say_loading_class(self)
        self._write(Path(path), scores)

    def _write(self, path: Path, scores: Mapping[str, float] | None = None) -> None:
        packed = compressed(self._packed()) if self.compressed_ else self._packed()
        header = modelfile.Header(
            recipe=self.recipes.by_config(self.config_).name,
            settings=_without_folders(settings_of(self.config_)),
            labels=self._header_labels(),
            templates=packed.templates,
            seed=self.seed,
            data=self.fingerprint_,
            scores=dict(scores or {}),
            details=(SavedTask(self.task).packed() | packed | self._facts().packed()).details,
            droppable=packed.droppable,
        )
        modelfile.write(path, header, packed.arrays, packed.strings)

    def _facts(self) -> "_Facts":
        """The facts of its file besides the model's; empty ones are left out."""
        return _Facts(
            self.choice_ or None,
            self.converged_,
            dict(self.label_values_) or None,
            dict(self.trained_on_) or None,
            dict(self.notes_) or None,
            self.shards_ or None,
        )

    def known_scores(self) -> dict[str, float]:
        """The scores in its file; empty if it was trained since it was loaded."""
        if self._file_scores is None or self._file_scores[0] != self.fingerprint_:
            return {}
        return dict(self._file_scores[1])

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a folder in Hugging Face's layout: the model file, ``config.json`` and a model card, ``README.md``."""
        self._fitted()
        save_folder(self, folder)

    @classmethod
    def from_pretrained(cls, source: str | Path, **hub: Any) -> Self:
        """The estimator of a folder that :meth:`save_pretrained` wrote, or of a repository on the Hugging Face hub.

        hub: for a repository, arguments of ``huggingface_hub.hf_hub_download``: revision, token, cache_dir ...
        """
        found: Self = load_folder(cls, source, **hub)
        return found

    def push_to_hub(self, repository: str, **hub: Any) -> str:
        """Upload the folder of :meth:`save_pretrained` to the Hugging Face hub; return the address of the repository.

        hub: private, token, revision, message, endpoint
        """
        self._fitted()
        return push(self, repository, **hub)

    @classmethod
    def loaded(cls, file: modelfile.ModelFile) -> Self:
        """The estimator of a model file."""
        recipe = cls.recipes.by_name(file.header.recipe)
        made = cls(recipe.configured(file.header.settings), seed=file.header.seed or 0)
        made.config_ = made.recipe
        made.compressed_ = COMPRESSED in file.arrays
        made.model_ = recipe.load(file)
        made.fingerprint_ = file.header.data or ""
        made.history_ = []
        made._file_scores = (made.fingerprint_, dict(file.header.scores))
        facts = _Facts.loaded(modelfile.Requirements(file))
        made.choice_, made._converged = facts.choice, facts.converged
        made.trained_on_, made.label_values_ = facts.trained_on or {}, facts.label_values or {}
        made.notes_, made.shards_ = facts.notes or {}, facts.shards
        return made

    @classmethod
    def around(cls, model: Model, config: Any) -> Self:
        """An estimator with a model that was trained elsewhere."""
        made = cls(config)
        made.config_ = config
        made.model_ = model
        made.fingerprint_ = ""
        made.history_ = []
        return made

    def _packed(self) -> Packed:
        packed: Packed = self._fitted().packed()
        return packed

    def _header_labels(self) -> tuple[str, ...]:
        return ()

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            name = type(self).__name__.lower()
            raise ConfigError(f"this {name} is not trained: call fit, or load a model")
        return self.model_


def _are_sizes(sizes: dict[str, Any]) -> bool:
    return all(type(size) is int for size in sizes.values())


def _are_values(values: dict[str, Any]) -> bool:
    return all(isinstance(value, bool | int | float) for value in values.values())


@dataclasses.dataclass(frozen=True)
class _Facts(modelfile.Saved):
    """The facts of an estimator in the header of its file, each under the name of its attribute."""

    choice: dict[str, Any] | None = modelfile.fact(dict, default=None, omit=True)
    converged: bool | None = modelfile.fact(bool, default=None, omit=True)
    label_values: dict[str, Any] | None = modelfile.fact(
        dict, check=_are_values, expected="numbers by label", default=None, omit=True
    )
    trained_on: dict[str, int] | None = modelfile.fact(
        dict, check=_are_sizes, expected="sizes", default=None, omit=True
    )
    notes: dict[str, Any] | None = modelfile.fact(dict, default=None, omit=True)
    shards: dict[str, Any] | None = modelfile.fact(dict, default=None, omit=True)


class Calibrated(Persistent[Model]):
    """An estimator with probabilities calibrated on held-out data; its file keeps the calibration."""

    confidence_: Confidence | None = None

    @classmethod
    def loaded(cls, file: modelfile.ModelFile) -> Self:
        """The estimator of a model file."""
        made = super().loaded(file)
        made.confidence_ = Confidence.loaded(file)
        return made

    def _packed(self) -> Packed:
        packed = super()._packed()
        return packed if self.confidence_ is None else packed | self.confidence_.packed()

    def _certified(self, precision: float, risk: float, remedy: str) -> float:
        """The lowest probability with this precision; ConfigError with a remedy if nothing was calibrated."""
        self._fitted()
        if self.confidence_ is None:
            name = type(self).__name__.lower()
            raise ConfigError(f"this {name} was not calibrated{remedy}")
        return self.confidence_.threshold(precision, risk)


def _brief(recipe: Any) -> str:
    """A recipe's name, or its config with the knobs that differ from their defaults.

    >>> from chaffinch.recipes.hmm import Hmm
    >>> _brief("hmm"), _brief(Hmm(order=1))
    ("'hmm'", 'Hmm(order=1)')
    """
    if not dataclasses.is_dataclass(recipe):
        return repr(recipe)
    fields = [f for f in dataclasses.fields(recipe) if f.init and getattr(recipe, f.name) != f.default]
    return f"{type(recipe).__name__}({', '.join(f'{f.name}={getattr(recipe, f.name)!r}' for f in fields)})"


def _without_folders(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with word files named without their folder, so that the same files in two folders give one model."""
    made = dict(settings)
    for key in WORD_FILES:
        if isinstance(value := made.get(key), str):
            paths = sorted(Path(value).glob("*.txt")) if Path(value).is_dir() else map(Path, value.split(","))
            made[key] = ",".join(path.name for path in paths)
    return made
