"""chaffinch train."""

import resource
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from chaffinch.cli import documents
from chaffinch.cli.console import out, print_json, progress_bar
from chaffinch.cli.flags import with_knobs
from chaffinch.cli.lab_train import with_experiments
from chaffinch.cli.train_compare import train_and_compare, write_curve
from chaffinch.cli.train_within import train_within
from chaffinch.corpus import read_table
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Tagger
from chaffinch.evaluate import score_tags
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.knobs import knobs
from chaffinch.recipes import DEFAULT_TAGGER, TAGGERS, Recipe
from chaffinch.recipes.classifiers import CLASSIFIERS, DEFAULT_CLASSIFIER
from chaffinch.text.document import LABEL
from chaffinch.text.table import TokenTable, concatenated

EXAMPLES = """
chaffinch train train.conll -o model.chaff
chaffinch train train.conll -o hmm.chaff --recipe hmm --dev dev.conll
chaffinch train data.conllu -o pos.chaff --label xpos --json
chaffinch train train.tsv --dev dev.tsv -o best.chaff --compare greedy,easiest-first,crf --report recipes.html
chaffinch train train.tsv --dev dev.tsv -o small.chaff --recipe easiest-first --max-size 300KB
chaffinch train reviews.csv -o stars.chaff --text review --label stars --dev dev.csv
chaffinch train posts.csv -o nb.chaff --recipe nb --features counts --ngram-high 1
"""


@with_experiments
@with_knobs(
    *((f"Knobs of recipe {r.name}", r.config) for r in TAGGERS),
    *((f"Documents: knobs of recipe {r.name}", r.config) for r in CLASSIFIERS),
    ("Documents: features of text", TextVectorizer),
)
def command(
    data: Annotated[
        list[Path], typer.Argument(help="Training files; '-' for standard input.", metavar="DATA")
    ],
    model: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes.", metavar="MODEL")],
    recipe: Annotated[
        str | None,
        typer.Option(
            help=f"For sentences: {', '.join(r.name for r in TAGGERS)}. "
            f"For documents: {', '.join(r.name for r in CLASSIFIERS)}.",
            metavar="NAME",
        ),
    ] = None,
    dev: Annotated[Path | None, typer.Option(help="Held-out file to score, and to stop on.")] = None,
    features: Annotated[str | None, typer.Option(help="A preset's name or a file of templates.")] = None,
    label: Annotated[
        str | None, typer.Option(help="The column to learn, by number or name; else the last.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    seed: Annotated[int, typer.Option(help="Decides every random choice.", min=0)] = 0,
    threads: Annotated[
        int, typer.Option(help="0 for all cores; the model is the same for any number.", min=0)
    ] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
    compare: Annotated[
        str | None,
        typer.Option(help="Train these recipes, separated by commas, and keep the best.", metavar="NAMES"),
    ] = None,
    max_size: Annotated[
        str | None,
        typer.Option(
            help="greedy, easiest-first, beam: the best model no larger, such as 300KB.", metavar="SIZE"
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="An HTML page: learning curve, comparison or sizes.")
    ] = None,
    settings: dict[str, Any] | None = None,
) -> None:
    """Train a model and write it to one file: a tagger on sentences in columns, a classifier on documents."""
    if documents.holds_documents(data[0]):
        if compare is not None or max_size is not None or report is not None:
            raise ConfigError("--compare, --max-size and --report are for taggers so far")
        documents.train(
            data,
            model,
            recipe=recipe or DEFAULT_CLASSIFIER,
            dev=dev,
            features=features,
            text=text,
            label=label,
            settings=settings or {},
            seed=seed,
            threads=threads,
            json=json,
        )
        return
    if text is not None:
        raise ConfigError(f"--text names a column of documents, and {data[0]} holds sentences")
    if compare is not None:
        options = {} if label is None else {"label": label}
        table = concatenated([_labelled(path, options) for path in data])
        held_out = None if dev is None else _labelled(dev, options)
        train_and_compare(
            compare, table, held_out, model, report, features, seed, threads, settings or {}, json
        )
        return
    recipe = recipe or DEFAULT_TAGGER
    chosen, made = _configured(recipe, settings or {})
    options = {} if label is None else {"label": label}
    table = concatenated([_labelled(path, options) for path in data])
    held_out = None if dev is None else _labelled(dev, options)
    if max_size is not None:
        train_within(max_size, made, table, held_out, model, report, features, seed, threads, json)
        return
    tagger = Tagger(made, features=features, seed=seed, threads=threads)
    wall, cpu = time.perf_counter(), time.process_time()
    with progress_bar() as listener:
        tagger.fit(table, dev=held_out, on_epoch=listener)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    parts = {"train": table} | ({} if held_out is None else {"dev": held_out})
    scores = {name: _scores(tagger, part) for name, part in parts.items()}
    flat = {f"{part}.{key}": value for part, found in scores.items() for key, value in found.items()}
    tagger.save(model, scores=flat)
    record = {
        "recipe": chosen.name,
        "wall_s": round(wall, 4),
        "cpu_s": round(cpu, 4),
        "epochs": len(tagger.history_),
        "sentences": table.n_sentences,
        "tokens": table.n_tokens,
        "labels": len(tagger.classes_),
        **scores,
        "model": str(model),
        "model_bytes": model.stat().st_size,
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "seed": seed,
    }
    if report is not None:
        write_curve(report, chosen.name, tagger.history_)
    if json:
        print_json(record)
    else:
        _show(record, scores)


def _configured(name: str, flags: dict[str, Any]) -> tuple[Recipe, Any]:
    """The recipe and its config, as set by flags."""
    recipe = TAGGERS.by_name(name)
    known = {k.name for k in knobs(recipe.config)}
    for flag in flags:
        if flag not in known:
            takers = [r.name for r in TAGGERS if flag in {k.name for k in knobs(r.config)}]
            raise ConfigError(
                f"recipe {name} has no knob --{flag.replace('_', '-')}; recipes with it: {', '.join(takers)}"
            )
    return recipe, recipe.configured(flags)


def _labelled(path: Path, options: dict[str, Any]) -> TokenTable:
    table = read_table(path, **options)
    if LABEL not in table.columns:
        raise DataError(f"{path}: has one column only, expected words and labels")
    return table


def _scores(tagger: Tagger, table: TokenTable) -> dict[str, float]:
    gold = table.lists(LABEL)
    return {k: v for k, v in score_tags(gold, tagger.predict(table)).as_dict().items() if k in _SHOWN}


_SHOWN = ("token_accuracy", "sentence_accuracy", "span.micro.f1")


def _show(record: dict[str, Any], scores: dict[str, dict[str, float]]) -> None:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("scored on")
    names = list(next(iter(scores.values())))
    for name in names:
        shown.add_column(name, justify="right")
    for part, found in scores.items():
        shown.add_row(part, *(f"{100 * found[name]:.2f} %" for name in names))
    out.print(shown)
    size = record["model_bytes"] / 1024
    out.print(
        f"{record['recipe']}: {record['sentences']:,} sentences, {record['tokens']:,} tokens, "
        f"{record['labels']} labels, trained in {record['wall_s']:.2f} s; {record['model']} has {size:,.0f} KB"
    )
    sys.stdout.flush()
