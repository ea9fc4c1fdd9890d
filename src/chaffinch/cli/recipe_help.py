"""Help that fits a screen: the knobs of a recipe are shown where the recipe is named beside ``--help``."""

from itertools import pairwise
from typing import Any

from typer.core import TyperCommand

from chaffinch.cli import closed_pipe
from chaffinch.cli.flags import knob_help
from chaffinch.knobs import Knob, Panel, knobs

# Older spellings of flags, which no help shows: taken if the command has the flag of today.
OLDER = {
    "--epoch": ("--epochs",),
    "--lr": ("--rate",),
    "--stopword": ("--stopwords", "english"),
    "--no-stopword": ("--stopwords", "none"),
    "--export": ("--preset",),
    "--save": ("--out",),
}
GIVEN = "chaffinch.given"  # the words of the command line, in a context's meta


class RecipeCommand(TyperCommand):
    """A command whose flags are, for the most part, knobs of recipes."""

    panels: tuple[Panel, ...] = ()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As ever; the words are kept for the help, which is printed before any of them is understood."""
        ctx.meta[GIVEN] = list(args)
        return super().parse_args(ctx, self._of_today(args))

    def _of_today(self, words: list[str]) -> list[str]:
        """The words with older spellings of flags replaced."""
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
        """The command's own flags, and those of the recipes that were named."""
        recipes = _recipes(ctx.meta.get(GIVEN, []))
        shown = [p for p in self.panels if p.recipe in recipes]
        tasks = {_task(p) for p in shown}
        shown += [p for p in self.panels if p.recipe is None and _task(p) in {*tasks, ""}]
        self._show_only(shown)
        known = [p.recipe for p in self.panels if p.recipe is not None]
        if known and not tasks:
            hint = f"Knobs of a recipe: chaffinch {ctx.info_name} --recipe {known[0]} --help"
            self.epilog = f"{hint}\n\n{self.epilog}" if self.epilog else hint
        with closed_pipe():
            super().format_help(ctx, formatter)

    def _show_only(self, shown: list[Panel]) -> None:
        """Hide the flags of all other panels; of a flag that several recipes share, tell what these say."""
        owners: dict[str, list[tuple[str, Knob]]] = {}
        for panel in self.panels:
            for k in knobs(panel.config):
                owners.setdefault(k.name, []).extend([(panel.title, k)] * (panel in shown))
        for option in self.params:
            found = owners.get(str(option.name))
            if found is None or getattr(option, "rich_help_panel", None) not in {
                p.title for p in self.panels
            }:
                continue
            option.hidden = not found  # type: ignore[attr-defined]
            if found:
                option.rich_help_panel = found[0][0]  # type: ignore[attr-defined]
                option.help = knob_help([k for _, k in found])  # type: ignore[attr-defined]


def _task(panel: Panel) -> str:
    """What stands before the colon of its title."""
    return panel.title.rpartition(":")[0]


def _recipes(words: list[str]) -> set[str]:
    """The recipes that a command line names."""
    named = [after for word, after in pairwise(words) if word == "--recipe"]
    named += [word.removeprefix("--recipe=") for word in words if word.startswith("--recipe=")]
    return set(named)
