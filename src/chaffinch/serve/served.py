"""A served model: its versions, its corrections and its data files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaffinch.corpus import detect
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import load
from chaffinch.kinds import kind_of_file, kind_of_model
from chaffinch.kinds.requests import reader_options
from chaffinch.serve import document_answers, structure_answers, tag_answers  # noqa: F401  each names its kinds
from chaffinch.serve.answers import Answer, InputRow, answering_of
from chaffinch.serve.corrections import Corrections
from chaffinch.serve.journal import Entry
from chaffinch.serve.messages import RequestError
from chaffinch.serve.pools import DataPool
from chaffinch.serve.versions import Version, Versions

SEPARATORS = "|,;/+ "  # of labels in one cell, as people write them


class ServedModel:
    """One model file behind the server.

    name:  in requests: the file's name without folder and ending
    train: its training files, if they were named
    told:  options of the readers of files; a reader gets those that it has
    """

    def __init__(
        self, path: Path, name: str, *, numbered_from: int = 1, told: Mapping[str, str] | None = None
    ) -> None:
        self.path, self.name, self.told = path, name, dict(told or {})
        self.train: tuple[Path, ...] = ()
        loaded = load(path)
        self.kind = kind_of_model(loaded)
        if not self.kind.served:
            raise ConfigError(f"{path}: models for {self.kind.plural} are not served; use chaffinch predict")
        self.answering = answering_of(self.kind)
        loaded.threads = 1
        self.loaded = loaded
        self.recipe: str = self.kind.recipes.by_config(loaded.config_).name
        self.versions = Versions(self.recipe, numbered_from)
        self.versions.publish(loaded, f"loaded from {path.name}")
        self.corrections = Corrections()
        self.pools: dict[str, DataPool] = {}
        self.probabilities = self.answering.has_probabilities(loaded)

    @property
    def active(self) -> Version:
        """The version that answers."""
        return self.versions.active

    def add_data(self, path: Path) -> None:
        """Read a data file."""
        pool = DataPool(path, self.kind, self.answering, self.active.model, self.told_of(path))
        if pool.name in self.pools:
            raise ConfigError(f"{path}: there are two data files of this name; rename one")
        self.pools[pool.name] = pool

    def told_of(self, path: Path) -> dict[str, str]:
        """The options that the reader of a file has."""
        if not self.told or not self.kind.detected:
            return {}
        known = reader_options(path, detect(path).name)
        return {name: value for name, value in self.told.items() if name in known}

    def pool(self, name: str | None) -> DataPool:
        """The data file of this name, or the only one."""
        if not self.pools:
            raise RequestError(
                404, f"the model {self.name} has no data file: start the server with --data FILE"
            )
        if name is None:
            return next(iter(self.pools.values()))
        if name not in self.pools:
            raise RequestError(404, f"there is no data file {name!r}; there are {', '.join(self.pools)}")
        return self.pools[name]

    def data_row(self, name: str | None, number: int) -> tuple[DataPool, InputRow]:
        """A row of a data file, and that file."""
        pool = self.pool(name)
        if not 0 <= number < len(pool):
            raise RequestError(404, f"{pool.name} has no row {number}; it has {len(pool):,}")
        return pool, pool.rows[number]

    def pinned(self, row: InputRow) -> Answer | None:
        """The corrected answer to exactly this input, if there is one."""
        if not self.corrections.pins:
            return None
        found = self.corrections.pins.get(row.key)
        return None if found is None else self.answering.pinned(row, found.answer)

    def known(self, pool: DataPool, row: int) -> Any:
        """The right answer to a row: the correction, else the file's gold, else None."""
        held = self.corrections.pins.get(pool.rows[row].key)
        if held is not None:
            said = next(iter(held.answer.values()))
            return self.answering.plain(said if isinstance(said, list) else [said])
        gold = pool.gold(row)
        return None if gold is None else self.answering.plain(gold)

    def description(self, learns: bool) -> dict[str, Any]:
        """Its entry in /models."""
        active, model = self.active, self.active.model
        return {
            "name": self.name,
            "kind": self.answering.name,
            "recipe": self.recipe,
            "labels": self.answering.labels(model),
            "scheme": self.answering.scheme(model),
            "many": self.answering.several(model),
            "probabilities": self.probabilities,
            "calibrated": getattr(model, "confidence_", None) is not None,
            "columns": list(getattr(model, "columns_", ())),
            "data": list(self.pools),
            "rules": [str(rule) for rule in getattr(model, "rules_", ())],
            "learns": learns,
            "version": active.name,
            "versions": [
                {
                    "version": v.name,
                    "made": v.made,
                    "note": v.note,
                    "corrections": len(v.learnt),
                    "active": v is active,
                }
                for v in self.versions.listed()
            ],
        }


def served_models(
    models: Sequence[Path],
    data: Sequence[Path],
    train: Sequence[str],
    entries: Sequence[Entry],
    told: Mapping[str, str] | None = None,
) -> dict[str, ServedModel]:
    """The models by name, with their data files, numbered on from the versions of the journal.

    train: training files, as FILE or MODEL=FILE   told: options of the readers of files
    """
    found: dict[str, ServedModel] = {}
    for path in models:
        name = path.name.removesuffix(".chaff")
        if name in found:
            raise ConfigError(f"{path}: there are two models of the name {name}; rename one")
        last = max(
            (e["number"] for e in entries if e["event"] == "version" and e["model"] == name), default=0
        )
        found[name] = ServedModel(path, name, numbered_from=last + 1, told=told)
    for given in train:
        owner, path = _owner(given, found)
        owner.train = (*owner.train, path)
    files = [*data, *(path for owner in found.values() for path in owner.train)]
    formats = {path: detect(path).name for path in files if kind_of_file(path).detected}
    for name in told or {}:
        if files and not any(name in reader_options(path, format) for path, format in formats.items()):
            flag = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{flag}: no reader of the files has this option: {', '.join(map(str, files))}")
    for path in data:
        faults, kind = [], kind_of_file(path)
        able = [model for model in found.values() if model.kind is kind]
        refusals = [model.answering.refusal(formats.get(path)) for model in found.values()]
        if all(refusals):
            raise DataError(f"{path}: {refusals[0]}: serve a model that reads this file, or leave it out")
        able = able or list(found.values())
        for model in able:
            try:
                model.add_data(path)
            except (DataError, ConfigError) as e:
                faults.append(str(e))
        if len(faults) == len(able):
            raise DataError(f"{path}: no model can read it: {faults[0]}")
        _keep_with_its_labels(able, path.name)
        for model in able:
            if path.name in model.pools and model.answering.several(model.active.model):
                _refuse_joined_labels(model, path)
    return found


def _keep_with_its_labels(models: Sequence[ServedModel], name: str) -> None:
    """Keep a labelled file only with the models that know one of its labels, if several can read it."""
    strangers = [model for model in models if name in model.pools and not _knows_labels(model, name)]
    if len(strangers) < sum(name in model.pools for model in models):
        for model in strangers:
            del model.pools[name]


def _knows_labels(model: ServedModel, name: str) -> bool:
    """Whether a file has no labels, or one that the model gives."""
    test = model.pools[name].test
    if not test.labelled or not model.answering.gold_labels:
        return True
    return not {str(label) for labels in test.gold for label in labels}.isdisjoint(
        model.answering.labels(model.active.model)
    )


def _owner(given: str, models: Mapping[str, ServedModel]) -> tuple[ServedModel, Path]:
    """The model that a training file is for, and the file."""
    name, sign, rest = given.partition("=")
    if sign and name in models:
        return models[name], _there(Path(rest))
    path = _there(Path(given))
    kind = kind_of_file(path)
    able = [model for model in models.values() if model.kind is kind]
    if len(able) != 1:
        names = ", ".join(f"--train {name}={given}" for name in models)
        raise ConfigError(f"{path}: say which model it is training data for: {names}")
    return able[0], path


def _refuse_joined_labels(model: ServedModel, path: Path) -> None:
    """Raise if a cell of a file joins several labels of the model into one."""
    test, known = model.pools[path.name].test, {*model.answering.labels(model.active.model)}
    cells = {str(label) for labels in test.gold for label in labels} if test.labelled else set()
    for label in sorted(cells - known):
        for separator in SEPARATORS:
            parts = [part.strip() for part in label.split(separator)]
            if len(parts) > 1 and known.issuperset(parts):
                raise ConfigError(
                    f"{path}: {label!r} joins several labels of {model.name}: add --label-separator {separator!r}"
                )


def _there(path: Path) -> Path:
    """The path of a file that is read later; ConfigError if there is no such file."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such file")
    return path


def find_model(models: Mapping[str, ServedModel], name: str | None) -> ServedModel:
    """The model of this name; None: the first one."""
    if name is None:
        return next(iter(models.values()))
    if name not in models:
        raise RequestError(404, f"there is no model {name!r}; there are {', '.join(models)}")
    return models[name]
