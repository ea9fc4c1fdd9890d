"""Presets: an experiment and its result in one file, JSON or TOML, enough to reproduce the model byte for byte."""

import dataclasses
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chaffinch import __version__
from chaffinch.errors import ConfigError
from chaffinch.files import writing_text
from chaffinch.kinds.corpora import fingerprint
from chaffinch.lab.datasets import Source
from chaffinch.lab.experiment import Experiment, Outcome, SplitsByName
from chaffinch.lab.records import is_bare

FOLDER = Path("presets")
SUFFIXES = (".json", ".toml")


@dataclass(frozen=True)
class Preset:
    """An experiment, its data, and its outcome.

    data:        fingerprint of each split that was used
    scores:      of the finished model, by split
    model:       SHA-256 of the model file; model_bytes: its size
    """

    name: str
    experiment: Experiment
    data: dict[str, str]
    scores: dict[str, dict[str, float]]
    model: str
    model_bytes: int
    version: str = __version__

    @classmethod
    def of(cls, outcome: Outcome, splits: SplitsByName, name: str) -> "Preset":
        """The preset of a finished experiment, with every knob."""
        digest, size = outcome.model_digest()
        used = dict.fromkeys(["train", *outcome.tallies])
        return cls(
            name=name,
            experiment=dataclasses.replace(outcome.experiment, settings=outcome.settings),
            data={split: fingerprint(splits[split]) for split in used},
            scores=outcome.scores,
            model=digest,
            model_bytes=size,
        )

    def differences(self, again: "Preset") -> list[str]:
        """How another run of this preset differs, one sentence for each difference."""
        told = [
            f"the {split} split is not the data that the preset was made with"
            for split, known in self.data.items()
            if again.data.get(split) != known
        ]
        for split, scores in self.scores.items():
            for key, value in scores.items():
                now = again.scores.get(split, {}).get(key)
                if now != value:
                    found = "missing" if now is None else f"{100 * now:.4f} %"
                    told.append(f"{key} on {split} was {100 * value:.4f} %, is now {found}")
        if again.model != self.model:
            told.append(f"the model file has other bytes: was {self.model}, is now {again.model}")
        if told and self.version != again.version:
            told.append(f"the preset was made by version {self.version}, this is {again.version}")
        return told


def preset_path(named: str, *, writing: bool = False) -> Path:
    """The path of a preset: a bare name means a file in the folder ``presets``, JSON unless it ends in .toml.

    >>> preset_path("best", writing=True).as_posix(), preset_path("best.toml", writing=True).as_posix()
    ('presets/best.json', 'best.toml')
    """
    path = Path(named)
    if writing:
        made = FOLDER / f"{named}.json" if is_bare(named) else path
        if made.suffix not in SUFFIXES:
            raise ConfigError(f"{made}: a preset's name ends in .json or .toml")
        return made
    candidates = [path, *(FOLDER / f"{named}{suffix}" for suffix in SUFFIXES), FOLDER / named]
    found = next((c for c in candidates if c.is_file()), None)
    if found is None:
        raise ConfigError(f"{named}: there is no such preset, neither here nor in the folder {FOLDER}")
    return found


def write(preset: Preset, path: Path) -> None:
    """Write a preset in the format of the path's ending."""
    e = preset.experiment
    source = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(e.source).items() if v}
    content: dict[str, Any] = {
        "name": preset.name,
        "chaffinch": preset.version,
        "recipe": e.recipe,
        **({} if e.features is None else {"features": e.features}),
        "seed": e.seed,
        "hold_out": e.hold_out,
        "stop_on_dev": e.stop_on_dev,
        "dataset": source,
        "settings": dict(e.settings),
        "data": preset.data,
        "result": {"model": preset.model, "model_bytes": preset.model_bytes},
        "scores": preset.scores,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing_text(path) as stream:
        stream.write(json.dumps(content, indent=2) + "\n" if path.suffix == ".json" else _toml(content))


def read(path: Path) -> Preset:
    """The preset of a file; ConfigError says what is wrong with it."""
    content = _parsed(path)
    try:
        source = _a(dict, content["dataset"])
        experiment = Experiment(
            source=Source(
                name=_a(str, source.get("name", "")),
                train=_files(source, "train"),
                dev=_files(source, "dev"),
                test=_files(source, "test"),
                label=source.get("label"),
                text=source.get("text"),
                label_separator=source.get("label_separator"),
            ),
            recipe=_a(str, content["recipe"]),
            settings=_with_unset(_a(dict, content["settings"])),
            features=content.get("features"),
            seed=_a(int, content["seed"]),
            hold_out=float(content["hold_out"]),
            stop_on_dev=_a(bool, content["stop_on_dev"]),
        )
        result = content["result"]
        return Preset(
            name=_a(str, content["name"]),
            experiment=experiment,
            data=_a(dict, content["data"]),
            scores=_a(dict, content["scores"]),
            model=_a(str, result["model"]),
            model_bytes=_a(int, result["model_bytes"]),
            version=_a(str, content["chaffinch"]),
        )
    except KeyError as e:
        raise ConfigError(f"{path}: is not a preset: it lacks {e.args[0]!r}") from None
    except (TypeError, ValueError, AttributeError) as e:
        raise ConfigError(f"{path}: is not a preset: {e}") from None


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as e:
        raise ConfigError(f"{path}: cannot be read: {e.strerror}") from None
    except ValueError as e:
        kind = "TOML" if path.suffix == ".toml" else "JSON"
        raise ConfigError(f"{path}: is not {kind}: {e}") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: is not a preset: expected an object, got {type(content).__name__}")
    return content


def _a(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {value!r}")
    return value


def _files(source: dict[str, Any], split: str) -> tuple[str, ...]:
    return tuple(_a(str, file) for file in _a(list, source.get(split, [])))


def _toml(content: Mapping[str, Any], at: str = "") -> str:
    """Values first, then tables. TOML has no null: keys without a value are listed under ``unset``."""
    plain = {k: v for k, v in content.items() if not isinstance(v, Mapping) and v is not None}
    unset = [k for k, v in content.items() if v is None]
    lines = [f"{_key(k)} = {json.dumps(v, ensure_ascii=False)}" for k, v in plain.items()]
    if unset:
        lines.append(f"unset = {json.dumps(unset)}")
    text = "".join(line + "\n" for line in lines)
    for name, inner in content.items():
        if isinstance(inner, Mapping):
            where = f"{at}{_key(name)}"
            text += f"\n[{where}]\n{_toml(inner, f'{where}.')}"
    return text


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _with_unset(settings: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in settings.items() if k != "unset"} | dict.fromkeys(settings.get("unset", []))
