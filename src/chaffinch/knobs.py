"""Knobs: settings declared once, from which flags, TOML keys, file headers and documentation are derived."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from chaffinch.errors import ConfigError

LARGEST = {int: 2**31 - 1, float: 1e30}  # the range of the core's numbers, with room for a product
NONE = "none"  # in files and flags: an optional setting has no value


def knob(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] | None = None,
    older: tuple[str, ...] = (),
) -> Any:
    """A dataclass field that also carries its range and its one-line help.

    older: former names of choices, which are still accepted but not shown

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Perceptron:
    ...     epochs: int = knob(10, "passes over the training data", low=1)
    >>> [(k.name, k.default, k.help) for k in knobs(Perceptron)]
    [('epochs', 10, 'passes over the training data')]
    >>> check(Perceptron(epochs=0))
    Traceback (most recent call last):
    chaffinch.errors.ConfigError: Perceptron.epochs must be >= 1, got 0
    """
    metadata = {"help": help, "low": low, "high": high, "choices": choices, "older": older}
    return field(default=default, metadata=metadata)


def composed(default: Any, flags: type) -> Any:
    """A dataclass field that holds another config, such as a learner; flags and files spell it as flat knobs.

    flags: a class of knobs. ``flags.of(config)`` gives their values; the config's ``__init__`` takes them by name
    """
    return field(default=default, metadata={"flags": flags})


@dataclass(frozen=True)
class Knob:
    """One declared setting, as flags and documentation need it."""

    name: str
    type: type
    optional: bool
    default: Any
    help: str
    low: float | None
    high: float | None
    choices: tuple[str, ...] | None
    older: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        """The command line's spelling."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def clearable(self) -> bool:
        """Whether ``none`` clears the default."""
        return self.optional and self.default is not None

    def value(self, given: Any) -> Any:
        """The value for the config from that of a flag or a file: ``none`` is None, a whole number may be a float."""
        if self.clearable and given == NONE:
            return None
        if isinstance(given, FlagText):
            return given.as_type(self.type)
        widened = self.type is float and isinstance(given, int) and not isinstance(given, bool)
        return float(given) if widened else given


class FlagText(str):
    """The text of a flag for knobs of different types in several configs: the chosen config converts it."""

    def as_type(self, wanted: type) -> Any:
        """The value; the plain text if it is none of this type, which the check of the config then refuses."""
        try:
            return wanted(str(self))
        except ValueError:
            return str(self)


class Panel(NamedTuple):
    """A class of settings under a heading, and the recipe that they belong to, if any.

    defaults: whether the defaults of the class apply, so that help shows them
    """

    title: str
    config: type
    recipe: str | None = None
    defaults: bool = True


def knobs(config: Any) -> list[Knob]:
    """The knobs of a config class or instance, in order of declaration."""
    return list(_declared(config if isinstance(config, type) else type(config)))


@cache
def _declared(config: type) -> tuple[Knob, ...]:
    hints = get_type_hints(config)
    declared: list[Knob] = []
    for f in dataclasses.fields(config):
        declared += _declared(f.metadata["flags"]) if "flags" in f.metadata else ()
        if "help" not in f.metadata:
            continue
        kind, optional = _unwrapped(hints[f.name])
        m = f.metadata
        ranges = m["low"], m["high"], m["choices"], m["older"]
        declared.append(Knob(f.name, kind, optional, f.default, m["help"], *ranges))
    return tuple(declared)


def check(config: Any) -> None:
    """Raise ConfigError if any knob of ``config`` is out of its declared range or has the wrong type."""
    values = settings_of(config)
    for k in knobs(config):
        check_value(f"{type(config).__name__}.{k.name}", k, values[k.name])


def settings_of(config: Any) -> dict[str, Any]:
    """The settings of a config as plain values by name, as in file headers; those of an inner config are flat too."""
    found: dict[str, Any] = {}
    for f in dataclasses.fields(config):
        value = getattr(config, f.name)
        found |= f.metadata["flags"].of(value) if "flags" in f.metadata else {f.name: value}
    return found


def check_value(where: str, k: Knob, value: Any) -> None:
    """Raise ConfigError if a knob does not take this value; its message begins with ``where``."""
    if value is None and k.optional:
        return
    accepted: tuple[type, ...] = (int, float) if k.type is float else (k.type,)
    plain = get_origin(k.type) is None
    if plain and (not isinstance(value, accepted) or (isinstance(value, bool) and k.type is not bool)):
        raise ConfigError(f"{where} must be {_type_name(k.type)}, got {value!r}")
    if isinstance(value, float) and math.isnan(value):
        raise ConfigError(f"{where} must be a number, got {value!r}")
    if k.choices is not None and value not in (*k.choices, *k.older):
        raise ConfigError(f"{where} must be one of {', '.join(k.choices)}, got {value!r}")
    if k.low is not None and not value >= k.low:
        raise ConfigError(f"{where} must be >= {k.low:g}, got {value!r}")
    if k.high is not None and not value <= k.high:
        raise ConfigError(f"{where} must be <= {k.high:g}, got {value!r}")
    if (most := LARGEST.get(k.type)) is not None and not -most <= value <= most:
        raise ConfigError(f"{where} must lie between {-most:g} and {most:g}, got {value!r}")


def configured(config: type, settings: Mapping[str, Any], source: str = "settings") -> Any:
    """An instance of ``config`` from plain values, such as the keys of a TOML table.

    Unknown names are refused with the known ones in the message; values are checked. "none" clears an optional
    setting.
    """
    known = {k.name: k for k in knobs(config)}
    values = {}
    for name, given in settings.items():
        key = name.replace("-", "_")
        if key not in known:
            raise ConfigError(
                f"{source}: {config.__name__} has no setting {name!r}; it has {', '.join(sorted(known))}"
            )
        values[key] = known[key].value(given)
        check_value(f"{source}: {name}", known[key], values[key])
    return config(**values)


def table(config: type) -> str:
    """The knobs of a config class as a Markdown table, for the documentation."""
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for k in knobs(config):
        meaning = f"{k.help}{_range_text(k)}".replace("|", "\\|")
        rows.append(f"| `{k.name}` | {_toml_text(k.default)} | {meaning} |")
    return "\n".join(rows)


def _unwrapped(hint: Any) -> tuple[type, bool]:
    """``int | None`` is (int, True); a plain type is (type, False)."""
    if get_origin(hint) is UnionType:
        kinds = [a for a in get_args(hint) if a is not NoneType]
        if len(kinds) == 1:
            return kinds[0], True
    return hint, False


def _range_text(k: Knob) -> str:
    if k.choices:
        return f" ({', '.join(k.choices)})"
    if k.low is not None and k.high is not None:
        return f" ({k.low:g} to {k.high:g})"
    if k.low is not None:
        return f" (at least {k.low:g})"
    return f" (at most {k.high:g})" if k.high is not None else ""


def _toml_text(value: Any) -> str:
    """A default in TOML; nothing for None."""
    return "" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"


def _type_name(kind: type) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}.get(
        kind, kind.__name__
    )
