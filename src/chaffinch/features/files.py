"""Files of templates: our own as text or TOML, and those of CRF++ and Wapiti."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.features.crfpp import is_crfpp, parse_crfpp
from chaffinch.features.presets import PRESETS, preset
from chaffinch.features.templates import FeatureSet, Pattern, parse, parse_all
from chaffinch.files import display_name, reading
from chaffinch.text.clusters import Clusters
from chaffinch.text.document import LABEL, WORD
from chaffinch.text.gazetteers import Gazetteers

Base = Callable[[str], FeatureSet]


def feature_set(
    features: FeatureSet | str | Sequence[str],
    columns: Sequence[str],
    clusters: Clusters | None = None,
    gazetteers: Gazetteers | None = None,
) -> FeatureSet:
    """The feature set of a preset's name, a file, a list of templates or a feature set, given the available columns.

    >>> len(feature_set("chunking", ["w", "pos"]).templates)
    37
    """
    if isinstance(features, FeatureSet):
        return features
    if not isinstance(features, str):
        return FeatureSet(parse_all(features))
    if features not in PRESETS and Path(features).is_file():
        return read_features(features, columns, clusters, gazetteers)
    return preset(features, columns, clusters, gazetteers)


def read_features(
    path: str | Path,
    columns: Sequence[str],
    clusters: Clusters | None = None,
    gazetteers: Gazetteers | None = None,
) -> FeatureSet:
    """The feature set that a file describes; ``columns`` are the corpus's, in the order of its file.

    A file whose name ends in .toml is TOML; a file of lines such as ``U00:%x[-1,0]`` is CRF++'s or
    Wapiti's; anything else is ours: one template per line, ``#`` starts a comment, and lines that start
    with ``@`` set something (``@preset pos``, ``@boundary none``, ``@pattern year ^[0-9]{4}$``).
    """
    name = display_name(path)
    with reading(path) as raw:
        try:
            text = raw.read().decode("utf-8")
        except UnicodeDecodeError as e:
            raise ConfigError(f"{name}: is not UTF-8: {e.reason}") from None
    base = partial(preset, columns=columns, clusters=clusters, gazetteers=gazetteers)
    if str(path).endswith(".toml"):
        return parse_toml(text, name, base)
    if is_crfpp(text):
        return parse_crfpp(text, name, [c for c in columns if c != LABEL])
    return parse_lines(text, name, base)


def parse_lines(text: str, name: str, base: Base) -> FeatureSet:
    """Our own format, one template per line; ``base`` finds presets by name.

    >>> made = parse_lines("w[-1..1]   # words\\n@boundary none\\nsuffix3", "demo", lambda name: preset(name, ["w"]))
    >>> [str(t) for t in made.templates], made.boundary
    (['w[-1]', 'w[0]', 'w[1]', 'suffix3[0]'], False)
    """
    made = FeatureSet(())
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].strip()
        if raw.lstrip().startswith("@pattern"):
            line = raw.strip()  # a regular expression may hold a '#'
        try:
            if line.startswith("@"):
                made = _directive(line, made, base)
            elif line:
                made = replace(made, templates=_joined(made, parse(line)))
        except ConfigError as e:
            raise ConfigError(f"{name}:{number}: {e}") from None
    return _complete(made, name)


def parse_toml(text: str, name: str, base: Base) -> FeatureSet:
    """The same as TOML: ``preset``, ``templates``, ``boundary`` and a table ``[patterns]``."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ConfigError(f"{name}: is not TOML: {e}") from None
    known = {"preset": str, "templates": list, "boundary": bool, "patterns": dict}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{name}: unknown key {key!r}; there are {', '.join(known)}")
        if not isinstance(value, known[key]):
            raise ConfigError(f"{name}: {key} must be {known[key].__name__}, found {value!r}")
    try:
        made = base(table["preset"]) if "preset" in table else FeatureSet(())
        made = replace(made, templates=_joined(made, parse_all(table.get("templates", []))))
        made = replace(made, boundary=table.get("boundary", made.boundary))
        return _complete(replace(made, patterns=_patterns(table.get("patterns", {}))), name)
    except (ConfigError, TypeError) as e:
        raise ConfigError(f"{name}: {e}") from None


def _directive(line: str, made: FeatureSet, base: Base) -> FeatureSet:
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    if word == "@preset":
        found = base(rest)
        return replace(found, templates=_joined(made, found.templates), patterns=made.patterns)
    if word == "@boundary" and rest in ("marks", "none"):
        return replace(made, boundary=rest == "marks")
    if word == "@boundary":
        raise ConfigError(f"@boundary is marks or none, found {rest!r}")
    if word == "@pattern":
        column, _, regex = rest.partition(" ")
        if not regex.strip():
            raise ConfigError("@pattern needs a name and a regular expression")
        return replace(made, patterns={**made.patterns, column: Pattern(regex.strip())})
    raise ConfigError(f"unknown {word}; there are @preset, @boundary and @pattern")


def _patterns(table: Mapping[str, Any]) -> dict[str, Pattern]:
    return {k: Pattern(v) if isinstance(v, str) else Pattern(**v) for k, v in table.items()}


def _joined(made: FeatureSet, more: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys([*made.templates, *more]))


def _complete(made: FeatureSet, name: str) -> FeatureSet:
    if not made.templates:
        raise ConfigError(f"{name}: has no templates")
    for pattern in made.patterns:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]*", pattern) or pattern in (WORD, LABEL):
            raise ConfigError(f"{name}: {pattern!r} cannot name a pattern")
    return made
