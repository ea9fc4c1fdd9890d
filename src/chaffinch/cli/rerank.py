"""chaffinch rerank."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from chaffinch import modelfile
from chaffinch.cli import rerank_trees
from chaffinch.cli.console import out, print_json, progress_bar
from chaffinch.cli.flags import with_knobs
from chaffinch.cli.training_report import clock
from chaffinch.corpus import read_table
from chaffinch.corpus.candidate_lists import FileList, read_lists
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Parser, Reranker, Tagger, load
from chaffinch.estimators.reranker import given_features, oracle
from chaffinch.estimators.tag_lists import cross_validated_tag_lists, tag_lists
from chaffinch.evaluate.tag_gains import tag_gain
from chaffinch.files import STDIO, refuse_unwritable, writing_text
from chaffinch.knobs import Panel, knobs
from chaffinch.lab.input_columns import words_to_parse
from chaffinch.model.candidates import CandidateList
from chaffinch.model.reranker_parts import CONSENSUS, KERNEL, NAMED, TAGS, TREES
from chaffinch.recipes.rerankers import DEFAULT_RERANKER, RERANKERS
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable

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
            "--out", "--output", "-o", help="Where the reranker goes, or what was chosen.", metavar="FILE"
        ),
    ] = Path(STDIO),
    base: Annotated[
        Path | None, typer.Option(help="The tagger or parser whose answers are reranked.")
    ] = None,
    reranker: Annotated[
        Path | None, typer.Option("--with", help="Rerank with this model, and train none.", metavar="MODEL")
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
    kbest: Annotated[int, typer.Option(help="Length of the lists.", min=2)] = 20,
    folds: Annotated[
        int, typer.Option(help="Parts of the training data, each listed by a tagger of the others.", min=2)
    ] = 5,
    features: Annotated[
        str | None,
        typer.Option(
            help="For a parser: consensus (what the list agrees on, and a grammar with heads) or trees (rules, heads, "
            "words). Default: consensus.",
            metavar="NAME",
        ),
    ] = None,
    wrong: Annotated[
        float | None,
        typer.Option(
            help="For a tagger: what a wrong span costs where a missed one costs 1. Default: by the F1.",
            min=0.0,
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option(
            help=f"For a parser: {', '.join(rerank_trees.KERNELS)}, instead of features. By the perceptron or mira.",
            metavar="NAME",
        ),
    ] = None,
    min_count: Annotated[int, typer.Option(help="Leave rarer features out.", min=1)] = 2,
    seed: Annotated[int, typer.Option(help="Decides every random choice.", min=0)] = 0,
    threads: Annotated[int, typer.Option(help="0 for all cores.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
    settings: dict[str, Any] | None = None,
) -> None:
    """Choose among the k best answers of another model by features that see the whole answer: train, or apply."""
    refuse_unwritable(output)
    if reranker is not None:
        if dev is not None or settings:
            raise ConfigError("--dev and the knobs are for training; with --with nothing is trained")
        _apply(data, output, base, _loaded(reranker), kbest, threads)
        return
    if str(output) == STDIO:
        raise ConfigError("say with -o where the reranker goes")
    model = None if base is None else base_model(base, threads)
    kind = _features(features, kernel, model)
    recipe = recipe or RECIPES.get(kind, DEFAULT_RERANKER)
    config = _config(recipe, settings or {}, seed)
    used: Any = kind if base is not None else given_features
    if isinstance(model, Parser) and kernel is None:
        used = rerank_trees.features_named(kind, data)
    compared = None if kernel is None else rerank_trees.kernel_named(kernel)
    made = Reranker(config, features=used, kernel=compared, min_count=min_count, seed=seed, threads=threads)
    made.checked()
    parts: dict[str, list[CandidateList]] = {}
    with clock() as took:
        if base is None:
            parts["train"] = _file_lists(data)
        elif isinstance(model, Parser):
            parts["train"] = rerank_trees.training_lists(model, data, kbest, folds, kind)
        else:
            parts["train"] = cross_validated_tag_lists(
                lambda: _anew(base, threads), _labelled(data), kbest, folds, wrong=wrong
            )
        with progress_bar() as listener:
            made.fit(parts["train"], on_epoch=listener)
    if dev is not None and base is None:
        parts["dev"] = _file_lists(dev)
    elif dev is not None and isinstance(model, Parser):
        parts["dev"] = rerank_trees.held_out_lists(model, dev, kbest)
    elif dev is not None:
        assert isinstance(model, Tagger)
        held_out = _labelled(dev)
        parts["dev"] = tag_lists(model, held_out, kbest, gold=held_out.lists(LABEL))
    scores = {name: _losses(made, lists) for name, lists in parts.items()}
    if dev is not None and base is not None:
        scores["dev"] |= (
            rerank_trees.tree_scores(dev, parts["dev"], made)
            if isinstance(model, Parser)
            else _tag_scores(_labelled(dev), parts["dev"], made)
        )
    flat = {f"{part}.{key}": value for part, found in scores.items() for key, value in found.items()}
    made.save(output, scores=flat)
    record = {
        "recipe": recipe,
        "wall_s": round(took.wall_s, 4),
        "cpu_s": round(took.cpu_s, 4),
        "lists": len(parts["train"]),
        "candidates": sum(len(one.candidates) for one in parts["train"]),
        **({"features": made.features_.F} if compared is None else {"support": len(made.support_)}),
        **scores,
        "model": str(output),
        "model_bytes": output.stat().st_size,
        "seed": seed,
    }
    if json:
        print_json(record)
    else:
        _show(record, scores)


def _apply(data: Path, output: Path, base: Path | None, reranker: Reranker, kbest: int, threads: int) -> None:
    if base is None:
        import json as json_text

        lists = list(read_lists(data))
        with writing_text(output) as stream:
            for one, place in zip(lists, reranker.choose([list_of_file(one) for one in lists]), strict=True):
                record = {**one.record, "chosen": place, "answer": one.candidates[place].answer}
                stream.write(json_text.dumps(record, ensure_ascii=False) + "\n")
        return
    model = base_model(base, threads)
    if isinstance(model, Parser):
        rerank_trees.write_chosen(model, words_to_parse(data), output, reranker, kbest)
        return
    table = read_table(data)
    found = reranker.predict(tag_lists(model, table, kbest))
    columns = [table.lists(name) for name in table.columns]
    with writing_text(output) as stream:
        for sentence in zip(*columns, found, strict=True):
            for cells in zip(*sentence, strict=True):
                stream.write("\t".join(cells) + "\n")
            stream.write("\n")


# The recipes of features that have one of their own.
RECIPES = {CONSENSUS: "risk", TAGS: "risk", KERNEL: "perceptron"}


def _features(name: str | None, kernel: str | None, model: Tagger | Parser | None) -> str:
    """The features to use, by the kind of the base model."""
    if kernel is not None:
        if name is not None or not isinstance(model, Parser):
            raise ConfigError("--kernel compares trees: it needs a parser as --base, and takes no --features")
        return KERNEL
    known = {Parser: (CONSENSUS, TREES), Tagger: (TAGS,)}.get(type(model), ())
    if name is not None and name not in known:
        raise ConfigError(
            f"--features {name}: "
            + (
                f"expected {' or '.join(known)} for this base model"
                if known
                else "lists of a file bring their own"
            )
        )
    return name or (known[0] if known else NAMED)


def _config(name: str, settings: dict[str, Any], seed: int) -> Any:
    recipe = RERANKERS.by_name(name)
    known = {k.name for k in knobs(recipe.config)}
    for flag in settings:
        if flag not in known:
            takers = [r.name for r in RERANKERS if flag in {k.name for k in knobs(r.config)}]
            raise ConfigError(
                f"recipe {name} has no knob --{flag.replace('_', '-')}; recipes with it: {', '.join(takers)}"
            )
    return recipe.configured({**settings, **({"seed": seed} if "seed" in known else {})})


def _loaded(path: Path) -> Reranker:
    found = load(path)
    if not isinstance(found, Reranker):
        raise ConfigError(f"{path}: holds a {type(found).__name__.lower()}, expected a reranker")
    return found


def base_model(path: Path, threads: int) -> Tagger | Parser:
    """The tagger or parser of a file."""
    found = load(path)
    if not isinstance(found, Tagger | Parser):
        raise ConfigError(f"{path}: holds a {type(found).__name__.lower()}, expected a tagger or a parser")
    found.threads = threads
    return found


def _anew(path: Path, threads: int) -> Tagger:
    """A tagger made as the one in the file was, yet to be trained."""
    file = modelfile.read(path)
    made = Tagger.loaded(file)
    features = list(file.header.templates) or None
    return Tagger(made.recipe, features=features, seed=made.seed, threads=threads)


def _labelled(path: Path) -> TokenTable:
    table = read_table(path)
    if LABEL not in table.columns:
        raise DataError(f"{path}: has one column only, expected words and labels")
    return table


def _file_lists(path: Path) -> list[CandidateList]:
    lists = list(read_lists(path))
    for number, one in enumerate(lists, 1):
        if any(c.loss is None for c in one.candidates):
            raise DataError(f"{path}: list {number}: every candidate needs a 'loss' to learn from")
    if not lists:
        raise DataError(f"{path}: has no list of candidates")
    return [list_of_file(one) for one in lists]


def list_of_file(one: FileList) -> CandidateList:
    """A list of a file as a reranker takes it."""
    losses = [c.loss for c in one.candidates]
    known = None if any(loss is None for loss in losses) else np.array(losses, np.float64)
    return CandidateList(one.input, one.candidates, np.array([c.score for c in one.candidates]), known)


def _losses(reranker: Reranker, lists: Sequence[CandidateList]) -> dict[str, float]:
    """The mean loss of the base model's first choice, of what the reranker takes, and of the best there is."""
    total = {"base": 0.0, "reranked": 0.0, "oracle": 0.0}
    for one, place in zip(lists, reranker.choose(lists), strict=True):
        assert one.losses is not None
        total["base"] += float(one.losses[0])
        total["reranked"] += float(one.losses[place])
        total["oracle"] += float(one.losses.min())
    return {f"loss.{name}": value / max(1, len(lists)) for name, value in total.items()}


def _tag_scores(gold: TokenTable, lists: Sequence[CandidateList], reranker: Reranker) -> dict[str, float]:
    """The main score of all three, and the gain with its interval."""
    wanted = gold.lists(LABEL)
    answers = {
        "base": [one.candidates[0] for one in lists],
        "reranked": reranker.predict(lists),
        "oracle": oracle(lists),
    }
    found = tag_gain(wanted, answers, "reranked", "base")
    gain = {"gain": found.gain.difference, "gain.low": found.gain.low, "gain.high": found.gain.high}
    return {f"{found.key}.{name}": value for name, value in {**found.scores, **gain}.items()}


def _show(record: dict[str, Any], scores: dict[str, dict[str, float]]) -> None:
    for part, found in scores.items():
        shown = Table(box=None, header_style="bold", pad_edge=False)
        for heading in (part, "base", "reranked", "oracle", "gain", "95 % interval"):
            shown.add_column(heading, justify="left" if heading == part else "right")
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
