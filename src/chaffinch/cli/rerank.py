"""chaffinch rerank."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from chaffinch.cli.console import out, print_json, progress_bar
from chaffinch.cli.flags import with_knobs
from chaffinch.cli.training_report import clock, flat
from chaffinch.errors import ConfigError
from chaffinch.estimators import Reranker, load
from chaffinch.estimators.reranker import oracle
from chaffinch.files import STDIO, refuse_unwritable
from chaffinch.kernels import Kernel, PartialTreeKernel, SubsetTreeKernel, SubtreeKernel
from chaffinch.kinds import LISTS, Kind
from chaffinch.kinds.lists import KBEST, base_model, choice_tally
from chaffinch.kinds.requests import PredictRequest
from chaffinch.knobs import LARGEST, Panel
from chaffinch.model.candidates import CandidateList
from chaffinch.model.reranker_file import CONSENSUS, KERNEL, NAMED, TAGS, TREES
from chaffinch.recipes.rerankers import DEFAULT_RERANKER, RERANKERS

KERNELS = {"subtree": SubtreeKernel, "subset-tree": SubsetTreeKernel, "partial-tree": PartialTreeKernel}

EXAMPLES = """
chaffinch rerank train.conll --base tagger.chaff -o reranker.chaff --dev dev.conll
chaffinch rerank new.conll --base tagger.chaff --with reranker.chaff -o labelled.conll
chaffinch rerank train.mrg --base parser.chaff -o reranker.chaff --kbest 50 --dev dev.mrg
chaffinch rerank new.txt --base parser.chaff --with reranker.chaff --kbest 50 -o trees.mrg
chaffinch rerank lists.jsonl -o reranker.chaff --recipe perceptron
chaffinch rerank new-lists.jsonl --with reranker.chaff -o chosen.jsonl
"""


@with_knobs(*(Panel(f"Knobs of recipe {r.name}", r.config, r.name) for r in RERANKERS), without=("seed",))
def command(
    data: Annotated[Path, typer.Argument(help="Labelled sentences, or k-best lists in JSON lines.")],
    output: Annotated[
        Path,
        typer.Option(
            "--out",
            "--output",
            "-o",
            help="File to write the reranker, or the chosen answers, to.",
            metavar="FILE",
        ),
    ] = Path(STDIO),
    base: Annotated[Path | None, typer.Option(help="The tagger or parser that gives the candidates.")] = None,
    reranker: Annotated[
        Path | None,
        typer.Option("--with", help="Rerank with this model instead of training one.", metavar="MODEL"),
    ] = None,
    dev: Annotated[Path | None, typer.Option(help="Held-out sentences or lists to score.")] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(r.name for r in RERANKERS)}. Default: risk for a tagger or consensus, else "
            f"{DEFAULT_RERANKER}.",
            metavar="NAME",
        ),
    ] = None,
    kbest: Annotated[int, typer.Option(help="Number of candidates in each list.", min=2)] = KBEST,
    folds: Annotated[int, typer.Option(help="Folds for out-of-fold lists of the training data.", min=2)] = 5,
    features: Annotated[
        str | None,
        typer.Option(
            help="For a parser: consensus (agreement of the list, and a grammar with heads) or trees (rules, heads, "
            "words). Default: consensus.",
            metavar="NAME",
        ),
    ] = None,
    wrong: Annotated[
        float | None,
        typer.Option(
            help="For a tagger: cost of a wrong span relative to a missed one. Default: from the F1.",
            min=0.0,
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help=f"For a parser: {', '.join(KERNELS)}, instead of features; recipes perceptron and mira.",
            metavar="NAME",
        ),
    ] = None,
    min_count: Annotated[
        int, typer.Option(help="Minimum count of a feature; rarer features are left out.", min=1)
    ] = 2,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0, max=LARGEST[int])] = 0,
    threads: Annotated[int, typer.Option(help="0 for all cores.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
    settings: dict[str, Any] | None = None,
) -> None:
    """Train or apply a reranker: choose among the k best answers of another model by features of whole answers."""
    refuse_unwritable(output)
    kind, model = (LISTS, None) if base is None else base_model(base, threads)
    if reranker is not None:
        if dev is not None or settings:
            raise ConfigError(
                "--dev and settings are for training, and --with applies a trained reranker; leave them out"
            )
        chooser = _loaded(reranker)
        if model is None:
            LISTS.predict(chooser, PredictRequest(data=data, output=output, threads=threads))
        else:
            kind.write_chosen(data, chooser.predict(kind.candidates(model, data, kbest)), output)
        return
    if str(output) == STDIO:
        raise ConfigError("name the file of the reranker with -o")
    named = _features(features, kernel, kind)
    recipe = recipe or RECIPES.get(named, DEFAULT_RERANKER)
    LISTS.refuse_settings_of_others(recipe, settings or {})
    made = LISTS.made(recipe, {**(settings or {}), "min_count": min_count}, None, seed, threads)
    if kernel is not None:
        made.kernel = _kernel(kernel)
    elif base is not None:
        made.features = kind.candidate_features(named, data)
    made.checked()
    lists: dict[str, Any] = {}
    with clock() as took:
        if base is None:
            lists["train"] = LISTS.read(data, {}).lists
        else:
            lists["train"] = kind.candidates_to_learn(base, data, kbest, folds, named, wrong, threads)
        if dev is not None:
            lists["dev"] = (
                LISTS.read(dev, {}).lists if base is None else kind.candidates(model, dev, kbest, gold=True)
            )
        with progress_bar() as listener:
            made.fit(lists["train"], dev=lists.get("dev"), on_epoch=listener)
    scores = {name: _losses(made, found) for name, found in lists.items()}
    if dev is not None and base is not None:
        answers = {
            "base": [one.candidates[0] for one in lists["dev"]],
            "reranked": made.predict(lists["dev"]),
            "oracle": oracle(lists["dev"]),
        }
        scores["dev"] |= kind.candidate_gain(dev, answers)
    made.save(output, scores=flat(scores))
    record = {
        "recipe": recipe,
        "wall_s": round(took.wall_s, 4),
        "cpu_s": round(took.cpu_s, 4),
        "lists": len(lists["train"]),
        "candidates": sum(len(one.candidates) for one in lists["train"]),
        **({"features": made.features_.F} if kernel is None else {"support": len(made.support_)}),
        **scores,
        "model": str(output),
        "model_bytes": output.stat().st_size,
        "seed": seed,
    }
    if json:
        print_json(record)
    else:
        _show(record, scores)


# Default recipes by features; DEFAULT_RERANKER for all others.
RECIPES = {CONSENSUS: "risk", TAGS: "risk", KERNEL: "perceptron"}


def _features(name: str | None, kernel: str | None, kind: Kind) -> str:
    """The features to use, by the kind of the base model."""
    known = kind.list_features
    if kernel is not None:
        if name is not None or TREES not in known:
            raise ConfigError("--kernel compares trees: it needs a parser as --base, and takes no --features")
        return KERNEL
    if name is not None and name not in known:
        raise ConfigError(
            f"--features {name}: "
            + (
                f"expected {' or '.join(known)} for this base model"
                if known
                else "lists in a file have their own features"
            )
        )
    return name or (known[0] if known else NAMED)


def _kernel(name: str) -> Kernel:
    """A tree kernel by its name, normalised so that size alone does not make trees similar."""
    if name not in KERNELS:
        raise ConfigError(f"there is no tree kernel {name!r}: expected {', '.join(KERNELS)}")
    return KERNELS[name]().normalised()


def _loaded(path: Path) -> Reranker:
    found = load(path)
    if not isinstance(found, Reranker):
        raise ConfigError(f"{path}: holds a {type(found).__name__.lower()}, expected a reranker")
    return found


def _losses(reranker: Reranker, lists: Sequence[CandidateList]) -> dict[str, float]:
    """The mean loss of the base model's first choice, of the reranker's choice, and of the oracle."""
    tally = choice_tally(lists, reranker.choose(lists))
    found = tally.score(tally.sums())
    named = {"base": "loss.base", "reranked": "loss", "oracle": "loss.oracle"}
    return {f"loss.{name}": float(found[key]) for name, key in named.items()}


def _show(record: dict[str, Any], scores: dict[str, dict[str, float]]) -> None:
    for split, found in scores.items():
        shown = Table(box=None, header_style="bold", pad_edge=False)
        for heading in (split, "base", "reranked", "oracle", "gain", "95 % interval"):
            shown.add_column(heading, justify="left" if heading == split else "right")
        for name in dict.fromkeys(key.rsplit(".base", 1)[0] for key in found if key.endswith(".base")):
            values = [found[f"{name}.{way}"] for way in ("base", "reranked", "oracle")]
            interval = (
                f"{found[f'{name}.gain.low']:+.4f} to {found[f'{name}.gain.high']:+.4f}"
                if f"{name}.gain.low" in found
                else ""
            )
            shown.add_row(name, *(f"{v:.4f}" for v in values), f"{values[1] - values[0]:+.4f}", interval)
        out.print(shown)
    described = (
        f"{record['features']:,} features" if "features" in record else f"{record['support']:,} support trees"
    )
    out.print(
        f"{record['recipe']}: {record['lists']:,} lists, {record['candidates']:,} candidates, "
        f"{described}, {record['wall_s']:.2f} s; {record['model']} has "
        f"{record['model_bytes'] / 1024:,.0f} KB"
    )
