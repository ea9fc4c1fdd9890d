"""chaffinch explain."""

from pathlib import Path
from typing import Annotated, Any

import typer

from chaffinch.cli.console import err, out, print_json
from chaffinch.errors import DataError
from chaffinch.estimators import load
from chaffinch.files import STDIO, display_name, writing_text
from chaffinch.kinds import kind_of_model
from chaffinch.kinds.kind import refuse_strange_flags
from chaffinch.kinds.lists import KBEST
from chaffinch.kinds.requests import ExplainRequest
from chaffinch.trust.explanation import Explanation

EXAMPLES = """
chaffinch explain tagger.chaff "Anna moved to New York"
chaffinch explain tagger.chaff "Anna moved to New York" --token 4 --against O
chaffinch explain stars.chaff "the soup was awful" --top 5
chaffinch explain stars.chaff reviews.csv --number 3 --against good --html why.html
chaffinch explain tagger.chaff dev.conll --number 12 --token 7 --json
chaffinch explain reranker.chaff "Anna moved to New York" --base tagger.chaff
echo "the soup was awful" | chaffinch explain stars.chaff -
"""


def command(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    what: Annotated[
        str,
        typer.Argument(
            help="A text, or a file as for predict, or '-' for standard input.", metavar="TEXT|FILE|-"
        ),
    ] = STDIO,
    number: Annotated[
        int | None, typer.Option(help="Only the N-th sentence or document of a file.", min=1)
    ] = None,
    token: Annotated[int | None, typer.Option(help="Sentences: only the N-th token, from 1.", min=1)] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="The label to compare with; by default the best other one. Pairs: a link such as 2-3. Lists: a "
            "candidate's number."
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Number of contributions to show for each decision.", min=1)
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Sum contributions by word or by kind of feature.", metavar="word|kind")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write an HTML page: words coloured by their contributions, and bars.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    base: Annotated[
        Path | None, typer.Option(help="Rerankers: the tagger or parser that gives the candidates.")
    ] = None,
    kbest: Annotated[
        int | None, typer.Option(help=f"Rerankers: the length of the lists; by default {KBEST}.", min=2)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
    threads: Annotated[int, typer.Option(help="0 for all cores.", min=0)] = 0,
) -> None:
    """Explain an answer of a model: named contributions that add up to its score and to that of its best rival.

    For each decision: the margin of the answer, its largest contributions, and features whose removal would change it.
    """
    loaded = load(model)
    path = _file(what)
    asked = ExplainRequest(
        data=path,
        words=None if path is not None else what,
        number=number,
        token=None if token is None else token - 1,
        against=against,
        text=text,
        base=base,
        kbest=kbest,
        threads=threads,
    )
    kind = kind_of_model(loaded)
    refuse_strange_flags(kind, asked)
    found = [one if group is None else one.grouped(group) for one in kind.explain(loaded, asked)]
    shown = str(path) if path is not None else what
    if json:
        record: dict[str, Any] = {"model": str(model), "explanations": [one.record(top) for one in found]}
        print_json(record)
    else:
        out.print("\n\n\n".join(one.text(top) for one in found), soft_wrap=True)
    if html is not None:
        _write_page(found, f"{model.name}: {display_name(shown)}", top, html)


def _file(what: str) -> Path | None:
    """The file, or None for a text. An argument that looks like a file name is one, even if there is no such file."""
    if not what.strip():
        raise DataError("expected a text to explain, found none: give a text, a file, or '-'")
    if what == STDIO or _exists(what):
        return Path(what)
    looks = not any(c.isspace() for c in what) and (Path(what).suffix[1:].isalpha() or "/" in what)
    return Path(what) if looks else None


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError:  # too long for a name
        return False


def _write_page(found: list[Explanation], title: str, top: int | None, path: Path) -> None:
    from chaffinch.trust.explanation import explanation_page

    with writing_text(path) as stream:
        stream.write(explanation_page(found, title, top).render())
    err.print(f"Report: {display_name(path)}")
