"""chaffinch predict."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from chaffinch.cli.console import progress_bar
from chaffinch.cli.prediction_files import inputs_of, is_folder_for, targets_in
from chaffinch.cli.terminal import if_interrupted, not_written
from chaffinch.corpus import FORMATS
from chaffinch.engines import ENGINES, engine_named
from chaffinch.engines.prediction import MANIFEST, FilePrediction, digest_of, predict_files
from chaffinch.errors import ConfigError, warn_about_data
from chaffinch.estimators import load
from chaffinch.files import STDIO, is_stream, many_writers
from chaffinch.kinds import kind_of_model
from chaffinch.kinds.kind import refuse_strange_flags
from chaffinch.kinds.requests import BlockLayout, PredictRequest
from chaffinch.kinds.streaming import ON_ERROR, predict_file
from chaffinch.progress import Progress

EXAMPLES = """
chaffinch predict model.chaff new.conll -o tagged.conll
chaffinch predict model.chaff 'in/*.txt.gz' -o out/ --on-error mark
chaffinch predict model.chaff 'in/*.parquet' -o out/ --engine processes
cat dev.in | chaffinch predict model.chaff --kbest 3
chaffinch predict model.chaff dev.in --nth 3
chaffinch predict model.chaff dev.in --marginals
chaffinch predict model.chaff dev.in --posterior
chaffinch predict model.chaff dev.in --kbest 3 --json --probabilities
chaffinch predict easiest.chaff dev.in --steps --beside greedy.chaff -o steps.html
chaffinch predict tagger.chaff new.conllu -o tagged.conllu
chaffinch predict names.chaff letters.txt -o found.jsonl --marginals
chaffinch predict names.chaff letters.txt -o sure.jsonl --precision 0.95
chaffinch predict names.chaff letters.txt --from text -o tasks.json --to label-studio --marginals
chaffinch predict ingredients.chaff lines.txt --rules rules.toml
chaffinch predict stars.chaff new.csv -o labelled.csv
chaffinch predict stars.chaff new.csv -o sure.csv --precision 0.95
chaffinch predict reranker.chaff lists.jsonl -o chosen.jsonl
echo "the soup was awful" | chaffinch predict stars.chaff
"""


def command(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Sentences in columns, texts with or without annotations: files, plain, .gz or .zst; a quoted pattern "
            "such as 'in/*.txt'; '-' for standard input, the default."
        ),
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "--output",
            "-o",
            help="File to write the result to; by default stdout. A folder gets a file per input, of the same name if "
            "its format can hold the answers, else of another extension (a.csv for a.txt); a name that ends in / "
            "makes the folder.",
            metavar="PATH",
        ),
    ] = STDIO,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            help=f"Format of DATA, by default detected: {', '.join(sorted(FORMATS))}.",
            metavar="FORMAT",
        ),
    ] = None,
    to_format: Annotated[
        str | None,
        typer.Option(
            "--to", help="Format of the result, if its name does not determine it.", metavar="FORMAT"
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Sentences: names of the columns (w,pos), or which to take (w=2,pos=4)."),
    ] = None,
    kbest: Annotated[
        int | None, typer.Option(help="Append the K best labellings, one column each.", min=1)
    ] = None,
    nth: Annotated[
        int | None, typer.Option(help="Append the N-th best labelling instead of the best.", min=1)
    ] = None,
    marginals: Annotated[
        bool,
        typer.Option(
            "--marginals",
            help="Write a column with the label's probability before it; trees: probabilities of phrases.",
        ),
    ] = False,
    posterior: Annotated[
        bool,
        typer.Option(
            "--posterior",
            help="Predict each token's most probable label instead of the most probable labelling, among the "
            "labellings that the model's rules allow.",
        ),
    ] = False,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="--json: add the probability of each labelling and of each span of the first, and the entropy.",
        ),
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show the order of decisions; an .html output is a page.")
    ] = False,
    beside: Annotated[
        list[Path] | None,
        typer.Option(help="--steps: another model to show for comparison; may be repeated."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object per sentence.")] = False,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Several labels: the lowest probability at which a label is predicted.", min=0.0, max=1.0
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            help="Sentences, documents: leave out spans and labels that are not sure enough for this precision, such "
            "as 0.99; the threshold is certified on held-out data with a risk of 10 %.",
            min=0.0,
            max=1.0,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Predict many files into a folder by one process (threads), one per core (processes) or a Ray cluster "
            "(ray); a second run predicts only the missing files.",
            metavar="|".join(ENGINES),
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(help="--engine: number of processes or cores; 0 for all.", min=0)
    ] = 0,
    on_error: Annotated[
        str,
        typer.Option(
            help="At a row that cannot be read: stop, skip it, or mark it: write its bytes unchanged, without an "
            "answer (in JSON, bytes that are not UTF-8 become U+FFFD).",
            metavar="stop|skip|mark",
        ),
    ] = "stop",
    rules: Annotated[
        Path | None,
        typer.Option(
            help='Sentences: a TOML file of rules that the answers obey, such as once = ["QTY"]; see docs/rules.md.',
        ),
    ] = None,
    threads: Annotated[int, typer.Option(help="0 for all cores.", min=0)] = 0,
) -> None:
    """Label the sentences or documents of a file: the output is the input with the prediction as the last column.

    The name of the output chooses its format: columns (tagged.conll), CoNLL-U (tagged.conllu), spans (found.jsonl).
    Files are predicted block by block: memory stays constant, and a pipe gets each answer as soon as its row is read.
    """
    if kbest is not None and nth is not None:
        raise ConfigError("--kbest and --nth exclude each other")
    if posterior and (kbest is not None or nth is not None):
        raise ConfigError("--posterior gives one label per token; leave out --kbest and --nth")
    if probabilities and not json:
        raise ConfigError("--probabilities needs --json")
    if on_error not in ON_ERROR:
        raise ConfigError(f"--on-error must be one of {', '.join(ON_ERROR)}, got {on_error!r}")
    inputs, output = inputs_of(data or [Path(STDIO)]), Path(out)
    in_folder = is_folder_for(inputs, out, to_format, engine)
    with if_interrupted(_kept([output])):
        loaded = load(model)
    kind = kind_of_model(loaded)
    asked = PredictRequest(
        data=inputs[0],
        output=output,
        from_format=from_format,
        to_format=to_format,
        columns=columns,
        kbest=kbest,
        nth=nth,
        marginals=marginals,
        posterior=posterior,
        probabilities=probabilities,
        steps=steps,
        beside=beside,
        json=json,
        text=text,
        threshold=threshold,
        precision=precision,
        rules=rules,
        threads=threads,
    )
    refuse_strange_flags(kind, asked)
    targets = [output] * len(inputs)
    if in_folder:
        targets = targets_in(output, inputs, kind, loaded, asked)
    if engine is not None:
        with if_interrupted(lambda: f"complete files are in {output}; the same command predicts the others"):
            _by_engine(model, asked, inputs, targets, on_error, engine, workers)
        return
    together = len(inputs) > 1 and not in_folder
    layout = BlockLayout() if together else None
    with (
        if_interrupted(_kept(targets)),
        many_writers(output) if together else nullcontext(),
        progress_bar() as listener,
    ):
        for done, (path, target) in enumerate(zip(inputs, targets, strict=True)):
            if len(inputs) > 1:
                listener(Progress("files", done, len(inputs)))
            request = replace(asked, data=path, output=target, layout=layout)
            predict_file(kind, loaded, request, on_error, listener)


def _kept(targets: Sequence[Path]) -> Callable[[], str]:
    """What is said after Ctrl-C: which output was written."""
    if is_stream(targets[0]):
        return lambda: "the output is not complete"
    if targets[0] == targets[-1]:
        return not_written(targets[0])
    asked = [not_written(target) for target in targets]

    def told() -> str:
        done = sum(one().endswith("is written") for one in asked)
        return f"{done:,} of {len(targets):,} files are written to {targets[0].parent}"

    return told


def _by_engine(
    model: Path,
    asked: PredictRequest,
    inputs: Sequence[Path],
    targets: Sequence[Path],
    on_error: str,
    engine: str,
    workers: int,
) -> None:
    """Predict every file by a worker of the engine; files that are done already are kept."""
    threads = asked.threads if engine == "threads" else asked.threads or 1
    rules = None if asked.rules is None else asked.rules.absolute()  # workers may run in another folder
    request = replace(asked, threads=threads, rules=rules)
    job = FilePrediction(model.absolute(), digest_of(model), request, on_error)
    pairs = [(path.absolute(), target.absolute()) for path, target in zip(inputs, targets, strict=True)]
    before = 0
    of_others: list[str] = []
    with progress_bar() as listener:
        running = predict_files(job, pairs, engine_named(engine, workers), of_others.append)
        for done, (_, known) in enumerate(running, 1):
            before += known
            listener(Progress("files", done, len(pairs)))
    if replaced := len(of_others):
        files, were = ("file", "was") if replaced == 1 else ("files", "were")
        warn_about_data(
            f"{replaced:,} {files} in {targets[0].parent} held the answers to another input of the same name, such as "
            f"{of_others[0]}, and {were} replaced; name another folder to keep both"
        )
    if before:
        warn_about_data(
            f"{before:,} of {len(pairs):,} files were predicted before by this model with the same settings and are "
            f"kept; delete {targets[0].parent / MANIFEST} to predict them again"
        )
