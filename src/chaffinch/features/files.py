"""Files of templates: our own as text or TOML, and those of CRF++ and Wapiti."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from chaffinch.errors import ConfigError
from chaffinch.features.presets import PRESETS, preset
from chaffinch.features.templates import Atom, FeatureSet, Pattern, Template, parse, parse_all
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
    with ``@`` are directives (``@preset pos``, ``@boundary none``, ``@pattern year ^[0-9]{4}$``).
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
        raise ConfigError(f"@boundary must be marks or none, found {rest!r}")
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


# Template files of CRF++ and Wapiti, read as our own templates.
#
# U00:%x[-2,0]             unigram: row -2, column 0            w[-2]
# U05:%x[-1,0]/%x[0,1]     two of them together                 w[-1]|pos[0]
# B                        bigram of labels                     y[-1]
# B01:%x[0,0]              bigram of labels, with the word      y[-1]|w[0]
# *:%x[0,0]                (Wapiti) both unigram and bigram     w[0] and y[-1]|w[0]
# u:%X[0,0]                (Wapiti) lower-cased                 lower[0]
# u:%m[0,0,"^.?.?"]        (Wapiti) text of the first match     a pattern column
# u:%t[0,0,"\d"]           (Wapiti) whether there is a match    a pattern column

_LINE = re.compile(r"([UuBb*])([^:%]*)(?::(.*))?$", re.DOTALL)
_MACRO = re.compile(r'%([xXtTmM])\[\s*(-?\d+)\s*,\s*(\d+)\s*(?:,\s*"((?:[^"\\]|\\.)*)"\s*)?\]')

# Wapiti's character classes; a capital letter negates.
_CLASSES = {
    "d": "0-9",
    "a": "A-Za-z",
    "w": "A-Za-z0-9",
    "l": "a-z",
    "u": "A-Z",
    "s": r"\s",
    "p": r"!-/:-@\[-`{-~",
}


def is_crfpp(text: str) -> bool:
    """Whether the first line that is neither empty nor a comment is CRF++'s or Wapiti's."""
    for raw in text.splitlines():
        line = raw.strip()
        if line and not line.startswith("#"):
            return re.match(r"[Uu*][^:%\[]*:.*%[xXtTmM]\[|[UuBb*]\d*$|[BbUu*][^:\[|]*:", line) is not None
    return False


def parse_crfpp(text: str, name: str, columns: Sequence[str]) -> FeatureSet:
    """The feature set of a template file; ``columns`` name the columns of the corpus's file, in order.

    >>> made = parse_crfpp("U00:%x[-1,0]/%x[0,1]\\nB", "template", ["w", "pos"])
    >>> [str(t) for t in made.templates]
    ['w[-1]|pos[0]', 'y[-1]']
    """
    templates: list[Template] = []
    patterns: dict[str, Pattern] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            templates.extend(_line(line, columns, patterns))
        except ConfigError as e:
            raise ConfigError(f"{name}:{number}: {e}") from None
    if not templates:
        raise ConfigError(f"{name}: has no templates")
    return FeatureSet(tuple(dict.fromkeys(templates)), True, patterns)


def _line(line: str, columns: Sequence[str], patterns: dict[str, Pattern]) -> list[Template]:
    parts = _LINE.match(line)
    if not parts:
        raise ConfigError(f"expected a line that starts with U, B or *, found {line!r}")
    kind, _, body = parts.groups()
    body = body or ""
    atoms = tuple(dict.fromkeys(_atom(m, columns, patterns) for m in _MACRO.finditer(body)))
    unread = _MACRO.sub("", body)
    if "%" in unread:
        found = unread[unread.index("%") :]
        raise ConfigError(f"expected a macro such as %x[row,column], found {found!r}")
    made = []
    if kind in "Uu*":
        made.append(Template(atoms))
    if kind in "Bb*":
        made.append(Template((Atom(LABEL, -1), *atoms)))
    return made


def _atom(macro: re.Match[str], columns: Sequence[str], patterns: dict[str, Pattern]) -> Atom:
    kind, row, number, regex = macro.groups()
    if int(number) >= len(columns):
        raise ConfigError(
            f"column {number} in {macro.group()}: the corpus has columns 0 to {len(columns) - 1}"
        )
    column = columns[int(number)]
    if kind in "xX":
        if regex is not None:
            raise ConfigError(f"{macro.group()}: %{kind} takes no regular expression")
        if kind == "X":
            column = "lower" if column == WORD else f"lower({column})"
        return Atom(column, int(row))
    if regex is None:
        raise ConfigError(f"{macro.group()}: %{kind} needs a regular expression in quotes")
    pattern = Pattern(_regex(regex), "test" if kind in "tT" else "match", lower=kind.isupper())
    fresh = f"match{len(patterns) + 1}" if kind in "mM" else f"test{len(patterns) + 1}"
    name = next((known for known, p in patterns.items() if p == pattern), fresh)
    patterns[name] = pattern
    return Atom(name if column == WORD else f"{name}({column})", int(row))


def _regex(wapiti: str) -> str:
    r"""Wapiti's regular expression as Python's.

    >>> _regex(r"^\u\l*\.$")
    '^[A-Z][a-z]*\\.$'
    """
    out = []
    i = 0
    while i < len(wapiti):
        c = wapiti[i]
        if c == "\\" and i + 1 < len(wapiti):
            i += 1
            c = wapiti[i]
            if c.lower() in _CLASSES:
                out.append(f"[{'^' if c.isupper() else ''}{_CLASSES[c.lower()]}]")
            else:
                out.append(re.escape(c))
        elif c in ".*?" or (c == "^" and i == 0) or (c == "$" and i == len(wapiti) - 1):
            out.append(c)
        else:
            out.append(re.escape(c))
        i += 1
    return "".join(out)
