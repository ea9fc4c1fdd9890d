"""Flags derived from knobs: a command declares its own parameters, and the config's fields join them."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from chaffinch.knobs import knobs


def with_knobs(
    *configs: tuple[str, type], letters: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one optional flag per knob of the configs, each under its panel in the help.

    The command receives those that the user set as ``settings: dict[str, value]``. A knob that several
    configs share is one flag; its help names the first. ``letters`` gives shorthands such as -e to some.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(function).parameters.values() if p.name != "settings"]
        derived: dict[str, inspect.Parameter] = {}
        for panel, config in configs:
            for k in knobs(config):
                if k.name in derived or any(p.name == k.name for p in own):
                    continue
                default = "" if k.default is None else f" [dim]\\[default: {k.default}][/dim]"
                names = [f"{k.flag}/--no-{k.flag[2:]}"] if k.type is bool else [k.flag]
                names += [letters[k.name]] if letters and k.name in letters else []
                choices = f" ({'|'.join(k.choices)})" if k.choices else ""
                option = typer.Option(*names, help=f"{k.help}{choices}{default}", rich_help_panel=panel)
                derived[k.name] = inspect.Parameter(
                    k.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=None,
                    annotation=Annotated[k.type | None, option],
                )

        def wrapper(**arguments: Any) -> None:
            settings = {name: arguments.pop(name) for name in derived}
            function(**arguments, settings={k: v for k, v in settings.items() if v is not None})

        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + list(derived.values())
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in parameters}
        wrapper.__doc__ = function.__doc__
        wrapper.__name__ = function.__name__
        return wrapper

    return decorate
