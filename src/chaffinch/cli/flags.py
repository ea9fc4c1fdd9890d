"""Flags derived from knobs, the TOML file that may hold them, and help that shows the knobs of the recipe named."""

import inspect
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from chaffinch.cli.terminal import closed_pipe
from chaffinch.errors import ConfigError
from chaffinch.files import reading
from chaffinch.knobs import NONE, FlagText, Knob, Panel, check_value, knobs

RENAMED = {"epoch": "epochs", "lr": "rate"}  # older keys of settings files
FILE_HELP = "TOML file of settings, named as the flags are; flags win over it."


def with_knobs(
    *panels: Panel, letters: Mapping[str, str] | None = None, without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command ``--config`` and one optional flag per knob, each under its panel in the help.

    The command receives those that the user set as ``settings: dict[str, value]``. A knob that several
    configs share is one flag, with the help of the first config and the defaults of all.
    ``letters`` gives shorthands such as -e; ``without`` names knobs that are not flags.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(function).parameters.values() if p.name != "settings"]
        taken = {p.name for p in own} | set(without)
        shared: dict[str, list[Knob]] = {}
        homes: dict[str, list[Panel]] = {}
        for panel in panels:
            for k in knobs(panel.config):
                if k.name not in taken:
                    shared.setdefault(k.name, []).append(k)
                    homes.setdefault(k.name, []).append(panel)
        derived = {
            name: _parameter(name, _flag(owners, homes[name], (letters or {}).get(name)))
            for name, owners in shared.items()
        }

        def from_file(ctx: typer.Context, path: Path | None) -> None:
            if path is not None and not ctx.resilient_parsing:
                ctx.default_map = _file_settings(path, ctx, shared)

        option = typer.Option("--config", metavar="FILE", help=FILE_HELP, is_eager=True, callback=from_file)
        file = _parameter("config", Annotated[Path | None, option])

        def wrapper(**arguments: Any) -> None:
            del arguments["config"]
            settings = {name: arguments.pop(name) for name in derived}
            function(**arguments, settings={k: v for k, v in settings.items() if v is not None})

        own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        parameters = [*own, file, *derived.values()]
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
        wrapper.__doc__ = function.__doc__
        wrapper.__name__ = function.__name__
        wrapper.panels = panels  # type: ignore[attr-defined]
        return wrapper

    return decorate


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _flag(owners: list[Knob], panels: list[Panel], letter: str | None) -> Any:
    """The option of one knob; if the knob is optional, the word none is a value too.

    A name for knobs of different types is a flag for text, which the chosen recipe converts.
    """
    k = owners[0]
    names = [f"{k.flag}/--no-{k.flag[2:]}"] if k.type is bool else [k.flag]
    names += [letter] if letter else []
    option = typer.Option(*names, help=knob_help(owners, panels), rich_help_panel=panels[0].title)
    if k.clearable and k.type is not bool:
        option.parser = lambda text: text if text == NONE else k.type(text)
        option.metavar = f"<{k.type.__name__}|{NONE}>"
    types = dict.fromkeys(owner.type for owner in owners)
    if len(types) > 1:
        option.parser = FlagText
        option.metavar = f"<{'|'.join(one.__name__ for one in types)}>"
    return Annotated[k.type | None, option]


def knob_help(owners: Sequence[Knob], panels: Sequence[Panel]) -> str:
    """The help of a flag for a knob that the recipes or formats of these panels share."""
    k = owners[0]
    default = _default([o for o, panel in zip(owners, panels, strict=True) if panel.defaults])
    choices = f" ({', '.join(k.choices)})" if k.choices else ""
    return f"{k.help}{choices}" + (f" [dim]\\[default: {default}][/dim]" if default else "")


def _default(owners: Sequence[Knob]) -> str:
    """The default, as help shows it; recipes or formats may have different ones."""
    known = list(dict.fromkeys("none" if k.default is None else str(k.default) for k in owners))
    return (
        "" if known in ([], ["none"]) else known[0] if len(known) == 1 else f"{' or '.join(known)}, by kind"
    )


def _file_settings(path: Path, ctx: typer.Context, shared: dict[str, list[Knob]]) -> dict[str, Any]:
    """The checked values of a TOML file by parameter."""
    with reading(path) as stream:
        try:
            file = tomllib.load(stream)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
            raise ConfigError(f"{path}: is not TOML: {e}") from None
    options = [p for p in ctx.command.params if p.param_type_name == "option"]
    known = {_key(flag): p for p in options for flag in p.opts if flag.startswith("--")}
    settings = {}
    for name, value in file.items():
        parameter = known.get(_key(name)) or known.get(RENAMED.get(_key(name), ""))
        if parameter is None or parameter.name in ("config", "help"):
            there = ", ".join(sorted(known.keys() - {"config", "help"}))
            raise ConfigError(f"{path}: {ctx.command.name} has no setting {name!r}; it has {there}")
        if parameter.name in shared:
            _check_any(f"{path}: {name}", shared[parameter.name], value)
        else:
            try:
                parameter.process_value(ctx, value)
            except typer.BadParameter as e:
                raise ConfigError(f"{path}: {name}: {e.message}") from None
        settings[str(parameter.name)] = value
    return settings


def _key(name: str) -> str:
    return name.lstrip("-").replace("-", "_")


def _check_any(where: str, candidates: Sequence[Knob], value: Any) -> None:
    """Raise unless one of the recipes with the knob accepts the value; the chosen recipe checks again."""
    faults = []
    for k in candidates:
        try:
            check_value(where, k, k.value(value))
            return
        except ConfigError as e:
            faults.append(e)
    raise faults[0]


# Old spellings of flags, not shown in help: accepted if the command has the current flag.
OLDER = {
    "--epoch": ("--epochs",),
    "--lr": ("--rate",),
    "--stopword": ("--stopwords", "english"),
    "--no-stopword": ("--stopwords", "none"),
    "--export": ("--preset",),
    "--save": ("--out",),
}
WAS_OUT = (
    "--out",
    "--output",
    "-o",
)  # aliases of options that have a name of their own; help does not show them
GIVEN = "chaffinch.given"  # the words of the command line, in a context's meta


class RecipeCommand(TyperCommand):
    """A command whose flags are mostly knobs of recipes."""

    panels: tuple[Panel, ...] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as the base class does, and store the words: help is printed before they are parsed."""
        ctx.meta[GIVEN] = list(args)
        try:
            return super().parse_args(ctx, self._current(args))
        except typer.BadParameter as e:
            if e.param is not None and e.param_hint is None:
                e.param_hint = [name for name in e.param.opts if name not in WAS_OUT] or None
            raise

    def _current(self, words: list[str]) -> list[str]:
        """The words with old spellings of flags replaced."""
        known = {name for p in self.params for name in (*p.opts, *p.secondary_opts)}
        found: list[str] = []
        for word in words:
            flag, equals, value = word.partition("=")
            name = flag.replace("_", "-")
            if name in OLDER and name not in known and OLDER[name][0] in known:
                flag, *rest = OLDER[name]
                found += [flag + equals + value, *rest]
            else:
                found.append(word)
        return found

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The command's own flags, and those of the named recipes."""
        recipes = _recipes(ctx.meta.get(GIVEN, []))
        shown = [p for p in self.panels if p.recipe in recipes]
        tasks = {_task(p) for p in shown}
        shown += [p for p in self.panels if p.recipe is None and _task(p) in {*tasks, ""}]
        self._show_only(shown)
        for option in self.params:
            if option.opts[0] not in WAS_OUT:
                option.opts = [name for name in option.opts if name not in WAS_OUT]
        known = [p.recipe for p in self.panels if p.recipe is not None]
        if known and not tasks:
            hint = f"Knobs of a recipe: chaffinch {ctx.info_name} --recipe {known[0]} --help"
            self.epilog = f"{hint}\n\n{self.epilog}" if self.epilog else hint
        with closed_pipe():
            super().format_help(ctx, formatter)

    def _show_only(self, shown: list[Panel]) -> None:
        """Hide the flags of all other panels; a shared flag shows the help of the named recipes."""
        owners: dict[str, list[tuple[Panel, Knob]]] = {}
        for panel in self.panels:
            for k in knobs(panel.config):
                owners.setdefault(k.name, []).extend([(panel, k)] * (panel in shown))
        for option in self.params:
            found = owners.get(str(option.name))
            if found is None or getattr(option, "rich_help_panel", None) not in {
                p.title for p in self.panels
            }:
                continue
            option.hidden = not found  # type: ignore[attr-defined]
            if found:
                option.rich_help_panel = found[0][0].title  # type: ignore[attr-defined]
                option.help = knob_help([k for _, k in found], [p for p, _ in found])  # type: ignore[attr-defined]


def _task(panel: Panel) -> str:
    """The text before the colon of a panel's title."""
    return panel.title.rpartition(":")[0]


def _recipes(words: list[str]) -> set[str]:
    """The recipes that a command line names."""
    named = [after for word, after in pairwise(words) if word == "--recipe"]
    named += [word.removeprefix("--recipe=") for word in words if word.startswith("--recipe=")]
    return set(named)
