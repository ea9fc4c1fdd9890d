"""The command line: one file per command, loaded when it is called; no numerics here."""

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from chaffinch.cli.terminal import (
    BAD_INPUT,
    CLOSED_PIPE,
    INTERRUPTED,
    NOT_BEGUN,
    abandon_stdout,
    closed_pipe,
    if_interrupted,
    interruption,
    is_interrupt,
    visible,
)
from chaffinch.errors import ChaffinchError, DataWarning

# Name and one line for `chaffinch --help`; the command is `command` in chaffinch.cli.<name>.
COMMANDS = {
    "train": "Train a model and write it to one file.",
    "predict": "Label the sentences or documents of a file.",
    "evaluate": "Score an output against gold: tags, labels, spans, trees or links.",
    "compare": "Show the rows that a new model fixed and broke, and fail on a regression.",
    "rerank": "Choose among the k best answers of a model by features of whole answers.",
    "inspect": "Show the settings and the strongest weights of a model.",
    "explain": "Explain why a model gave an answer and not another.",
    "convert": "Convert a corpus to another format, and report what is lost.",
    "convert-model": "Convert a model of another tool to one that gives the same answers.",
    "doctor": "Find faults in a corpus before training.",
    "next": "Choose the rows to label next, and write them as tasks with the model's answers.",
    "simulate": "Simulate active learning on labelled data, to see whether it pays.",
    "serve": "Serve models: a page to see, correct and teach them, and an API.",
    "samples": "List the embedded samples, look into one, or write it to files.",
    "cluster": "Learn word clusters from plain text.",
    "experiment": "Train and score on a dataset, with a record and a preset.",
    "tune": "Find settings on held-out data, and write them as a preset.",
    "ablation": "Vary settings over several seeds: a table with intervals, and charts.",
    "preset": "Repeat the experiment of a preset, to the same bytes.",
    "tour": "Walk through the toolkit on the embedded samples.",
}


SAYING = ("train", "predict")


class Interrupted(Exception):
    """Ctrl-C, with the sentence to say: the library of the command line ends silently on KeyboardInterrupt."""


class LazyGroup(TyperGroup):
    """A group that lists its commands without importing them, and imports only the one that is called."""

    def __init__(self, **options: Any) -> None:
        """Make a placeholder with one-line help for each command, which is enough for listings."""
        super().__init__(**options)
        self.commands = {name: TyperCommand(name, help=what) for name, what in COMMANDS.items()}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The page of all commands."""
        with closed_pipe():
            _print_front_page(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command, imported."""
        name, stand_in, rest = super().resolve_command(ctx, args)
        if name == "train":
            name, rest = _experiment_if_dataset(rest)
        with if_interrupted(lambda: NOT_BEGUN):
            return name, (None if name is None or stand_in is None else _load(name)), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a closed pipe, as in ``| head``, and Ctrl-C end it like other Unix tools."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            abandon_stdout()
            raise typer.Exit(CLOSED_PIPE) from None
        except Exception as e:
            if is_interrupt(e):
                raise Interrupted(self._interruption(ctx, e)) from None
            raise
        except KeyboardInterrupt as e:
            raise Interrupted(self._interruption(ctx, e)) from None

    def _interruption(self, ctx: Any, error: BaseException) -> str:
        """What is said; a command that says what it has written once it has begun had not begun if it says nothing."""
        return interruption(error, NOT_BEGUN if ctx.invoked_subcommand in SAYING else "")


app = typer.Typer(
    cls=LazyGroup,
    name="chaffinch",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from chaffinch import __version__

        sys.stdout.write(f"chaffinch {__version__}\n")
        raise typer.Exit


@app.callback(epilog="Every command has examples in its own help: chaffinch COMMAND --help")
def root(
    _version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
    ),
) -> None:
    """Linear models of text: trained in seconds, run fast on a CPU, and able to say why."""


@contextmanager
def tell_once() -> Iterator[None]:
    """Print warnings about data as one line on stderr, each only once."""
    told: set[str] = set()
    with warnings.catch_warnings():
        as_before = warnings.showwarning

        def tell(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, DataWarning):
                as_before(message, category, *place, **more)
            elif str(message) not in told:
                told.add(str(message))
                _say(str(message))

        warnings.simplefilter("always", DataWarning)
        warnings.showwarning = tell
        yield


def main() -> None:
    """The entry point: bad input is one sentence on stderr with exit code 2; so is Ctrl-C, with exit code 130."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (None if the caller closed it)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    try:
        with tell_once():
            typer.main.get_command(app)(prog_name="chaffinch")
    except ChaffinchError as e:
        _fail(str(e), at_once=getattr(e, "stuck", False))
    except OSError as e:
        _fail(f"{e.filename}: {e.strerror}" if e.filename and e.strerror else str(e))
    except MemoryError:
        _fail("there is not enough memory for this")
    except Interrupted as e:
        _fail(str(e), INTERRUPTED)
    except SystemExit as e:
        if e.code == INTERRUPTED:  # while the arguments were read
            _say(f"interrupted: {NOT_BEGUN}")
        raise
    except KeyboardInterrupt as e:
        _fail(interruption(e), INTERRUPTED)


def _fail(sentence: str, code: int = BAD_INPUT, at_once: bool = False) -> NoReturn:
    """Say the sentence and end with the code; at_once: without waiting for threads, which may hang."""
    abandon_stdout()
    _say(sentence)
    if at_once:
        sys.stderr.flush()
        os._exit(code)
    raise SystemExit(code) from None


def _say(sentence: str) -> None:
    sys.stderr.write(f"chaffinch: {visible(sentence)}\n")


def _print_front_page(ctx: Any) -> None:
    """Usage, purpose, the commands and the options of the program; loading the renderer of command help is slower."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    def panel(title: str, rows: Iterable[tuple[str, str]]) -> Panel:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(style="bold cyan", no_wrap=True)
        table.add_column()
        for name, meaning in rows:
            table.add_row(Text(name), Text(meaning))
        return Panel(table, title=title, title_align="left", border_style="dim")

    console = Console(highlight=False)
    options = [
        (", ".join(sorted(p.opts, key=len)), p.help)
        for p in ctx.command.get_params(ctx)
        if not getattr(p, "hidden", False)
    ]
    usage = Text.assemble((" Usage: ", "yellow"), (ctx.get_usage().removeprefix("Usage: "), "bold"))
    console.print(Padding(usage, (1, 0)))
    console.print(Padding(ctx.command.help, (0, 1, 1, 1)), markup=False)
    console.print(panel("Commands", COMMANDS.items()))
    console.print(panel("Options", options))
    console.print(Padding(ctx.command.epilog, 1), markup=False)


def _load(name: str) -> Any:
    single = typer.Typer(
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": _dashed},
        rich_markup_mode="rich",
    )
    from chaffinch.cli.flags import RecipeCommand

    module = import_module(f"chaffinch.cli.{name.replace('-', '_')}")
    single.command(name, cls=RecipeCommand, epilog=_examples(module))(module.command)
    made: Any = typer.main.get_command(single)
    made.panels = getattr(module.command, "panels", ())
    return made


def _experiment_if_dataset(words: list[str]) -> tuple[str, list[str]]:
    """Turn ``train -d DATASET``, the old spelling, into ``experiment``."""
    if not any(word.startswith(("-d", "--dataset")) for word in words):
        return "train", words
    from chaffinch.cli.experiment import from_train

    found = from_train(words)
    if found is None:
        return "train", words
    sys.stderr.write(f"chaffinch: train -d is now: chaffinch experiment {' '.join(found)}\n")
    return "experiment", found


def _dashed(flag: str) -> str:
    """Flags may be written with underscores: --feature_size is --feature-size."""
    return flag.replace("_", "-")


def _examples(module: ModuleType) -> str | None:
    """The module's EXAMPLES, one command per line, as the end of its help."""
    from rich.markup import escape

    lines = [line.strip() for line in getattr(module, "EXAMPLES", "").splitlines() if line.strip()]
    return "\n".join(["[bold]Examples[/bold]\n", *(f"  {escape(line)}" for line in lines)]) if lines else None
