"""chaffinch train."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from chaffinch.active.self_training import CONFIDENCE, ROUNDS, SelfTraining, self_train
from chaffinch.cli.console import progress_bar, remarks_on_stderr
from chaffinch.cli.flags import with_knobs
from chaffinch.cli.terminal import if_interrupted, not_written
from chaffinch.cli.training_report import (
    clock,
    compare_and_keep,
    keep_smallest,
    keep_trained,
    show_self_training,
    tell_estimate,
)
from chaffinch.corpus import FORMATS, detect
from chaffinch.engines import engine_named
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.files import STDIO, refuse_unwritable
from chaffinch.kinds import KINDS, Kind, kind_of_file
from chaffinch.kinds.caching import cache_folder, continues_from
from chaffinch.kinds.corpora import joined
from chaffinch.kinds.kind import refuse_strange_flags
from chaffinch.kinds.requests import PredictRequest, TrainRequest
from chaffinch.knobs import LARGEST, Panel, knobs
from chaffinch.lab.baseline import LETTERS, Baseline, as_knobs
from chaffinch.lab.learning_page import watching
from chaffinch.learners.shards import Sharding
from chaffinch.progress import Listener
from chaffinch.rules import read_rules

SHARDS = ".shards"  # ending of the folder of shards, after the name of the model
WORTHWHILE = 100_000_000  # tokens; with fewer, one machine is faster
BYTES_PER_TOKEN = 8  # of a training file, about
SHORT = frozenset(k.name for k in knobs(Baseline))

EXAMPLES = """
chaffinch train train.conll -o model.chaff
chaffinch train train.conll -o hmm.chaff --recipe hmm --dev dev.conll
chaffinch train data.conllu -o pos.chaff --label xpos --json
chaffinch train annotated.jsonl -o names.chaff
chaffinch train tasks.json -o names.chaff --annotators majority
chaffinch train words.txt -o model.chaff --from columns --columns w=1,y=3
chaffinch train train.tsv --dev dev.tsv -o best.chaff --compare greedy,easiest-first,crf --report recipes.html
chaffinch train train.tsv --dev dev.tsv -o small.chaff --recipe easiest-first --max-size 300KB
chaffinch train reviews.csv -o stars.chaff --text review --label stars --dev dev.csv
chaffinch train posts.csv -o nb.chaff --recipe nb --features counts --ngram-high 1
chaffinch train topics.csv -o topics.chaff --recipe svm --label-separator "|" --threshold 0.4
chaffinch train reviews.csv --dev dev.csv -o best.chaff --compare ridge,nb,maxent --report recipes.html
chaffinch train linked.tsv -o links.chaff --pairs bitext.tsv
chaffinch train few.conll -o names.chaff --self-train letters.txt --dev dev.conll
chaffinch train corrections.csv -o better.chaff --start model.chaff
chaffinch train large.tsv -o model.chaff --cache /tmp/large --dev dev.tsv
chaffinch train lists.jsonl -o reranker.chaff --recipe perceptron
chaffinch train large.conll -o model.chaff --engine processes --workers 8
"""


@with_knobs(
    Panel(
        "Settings by their short names (default is the recipe's own)",
        Baseline,
        defaults=False,
    ),
    *(panel for kind in KINDS for panel in kind.panels()),
    letters=LETTERS,
)
def command(
    data: Annotated[
        list[Path], typer.Argument(help="Training files; '-' for standard input.", metavar="DATA")
    ],
    model: Annotated[
        Path, typer.Option("--out", "--output", "-o", help="File to write the model to.", metavar="MODEL")
    ],
    recipe: Annotated[
        str | None,
        typer.Option(
            help=" ".join(f"For {k.plural}: {', '.join(r.name for r in k.recipes)}." for k in KINDS),
            metavar="NAME",
        ),
    ] = None,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            help=f"Format of DATA, by default detected: {', '.join(sorted(FORMATS))}.",
            metavar="FORMAT",
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Sentences: names of the columns (w,shape,y), or which to take (w=2,y=4)."),
    ] = None,
    annotators: Annotated[
        str | None,
        typer.Option(help="Texts with several annotators: first, majority or soft (shares of labels)."),
    ] = None,
    dev: Annotated[
        Path | None, typer.Option(help="Held-out file to score after every pass, for early stopping.")
    ] = None,
    features: Annotated[str | None, typer.Option(help="A preset's name or a file of templates.")] = None,
    label: Annotated[
        str | None, typer.Option(help="The column to learn, by number or name; by default the last.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Documents: the column of the text.")] = None,
    label_separator: Annotated[
        str | None, typer.Option(help="Documents: separator of several labels in one cell.")
    ] = None,
    stop_on_dev: Annotated[
        bool,
        typer.Option("--stop-on-dev", help="Documents: keep the best pass on the dev split."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0, max=LARGEST[int])] = 0,
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
            help="Taggers and classifiers: keep the best model of at most this size, such as 300KB.",
            metavar="SIZE",
        ),
    ] = None,
    pairs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Sentence pairs: further pairs without links, to learn which words translate each other; "
            "may be repeated.",
            metavar="FILE",
        ),
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option(
            help="Sentences: a TOML file of rules that the answers obey; the model file keeps them; see docs/rules.md.",
        ),
    ] = None,
    self_train: Annotated[
        Path | None,
        typer.Option(
            help="Taggers and classifiers: a file of rows without labels; the model labels them and learns from "
            "its confident answers, if that helps on held-out data (--dev, or a fifth of DATA).",
            metavar="FILE",
        ),
    ] = None,
    self_train_rounds: Annotated[
        int | None, typer.Option(help=f"Rounds of --self-train; by default {ROUNDS}.", min=1, metavar="N")
    ] = None,
    self_train_confidence: Annotated[
        float | None,
        typer.Option(
            help=f"Minimum probability of an answer that --self-train learns from; by default {CONFIDENCE:g}.",
            min=0.0,
            max=1.0,
            metavar="P",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write an HTML page: learning curve and reliability, comparison or sizes."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Sentences and documents larger than memory: a folder for their ids. Training reads DATA once and "
            "streams from the folder; the same command continues an interrupted run.",
            metavar="DIR",
        ),
    ] = None,
    keep_cache: Annotated[
        bool, typer.Option("--keep-cache", help="Keep the cache for the next training on the same DATA.")
    ] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Taggers and classifiers: train in shards on threads, processes or ray; see docs/scale.md. The model "
            "is the same for any number of workers. The same command continues an interrupted run.",
            metavar="NAME",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Workers of --engine; 0: one per core.", min=0)] = 0,
    shards: Annotated[
        int | None,
        typer.Option(help="Shards of --engine; by default 8, more for large data.", min=1, metavar="K"),
    ] = None,
    settings: dict[str, Any] | None = None,
) -> None:
    """Train a model and write it to one file; the data determine the kind of model.

    The short options -d, -n and -j belong to chaffinch experiment, which train -d DATASET runs.
    """
    for path in (model, report):
        if path is not None:
            refuse_unwritable(path)
    asked = TrainRequest(
        data=data,
        model=model,
        from_format=from_format,
        columns=columns,
        annotators=annotators,
        recipe=recipe,
        dev=dev,
        features=features,
        label=label,
        text=text,
        label_separator=label_separator,
        stop_on_dev=stop_on_dev,
        seed=seed,
        threads=threads,
        json=json,
        compare=compare,
        max_size=max_size,
        pairs=pairs or None,
        rules=rules,
        self_train=self_train,
        self_train_rounds=self_train_rounds,
        self_train_confidence=self_train_confidence,
        report=report,
        cache=cache,
        keep_cache=keep_cache,
        engine=engine,
        workers=workers,
        shards=shards,
        settings=settings or {},
    )
    with if_interrupted(_kept(asked)):
        _train_as_asked(asked)


def _train_as_asked(asked: TrainRequest) -> None:
    """Train in this process or on an engine; combinations of flags that mean nothing are refused first."""
    kind = kind_of_file(asked.data[0], asked.recipe, asked.from_format)
    refuse_strange_flags(kind, asked)
    if asked.engine is None:
        if asked.workers or asked.shards:
            raise ConfigError("--workers and --shards need --engine")
        _train(kind, asked)
        return
    if asked.compare or asked.max_size or asked.self_train:
        raise ConfigError("--engine cannot be combined with --compare, --max-size or --self-train")
    size = sum(path.stat().st_size for path in asked.data if path.is_file())
    if (remark := _remark_on_size(size)) is not None:
        warn_about_data(remark)
    with _training_in_shards(
        asked.engine, asked.model, workers=asked.workers, shards=asked.shards, threads=asked.threads
    ) as sharding:
        _train(kind, asked, sharding)


def _kept(asked: TrainRequest) -> Callable[[], str]:
    """What is said after Ctrl-C: whether the model was written, and from where the same command continues."""
    model = not_written(asked.model)

    def told() -> str:
        folders = [_shards_beside(asked.model)] if asked.engine is not None else []
        places = [folder for folder in folders if folder.exists()]
        if asked.cache is not None and continues_from(asked.cache):
            places.append(asked.cache)
        checkpoint = asked.settings.get("checkpoint")
        if checkpoint and Path(checkpoint).exists():
            places.append(Path(checkpoint))
        if not places:
            return model()
        return f"{model()}; the same command continues from {' and '.join(map(str, places))}"

    return told


def _shards_beside(model: Path) -> Path:
    return model.with_name(model.name + SHARDS)


def _train(kind: Kind, asked: TrainRequest, sharding: Sharding | None = None) -> None:
    """Train on files, score on all of them, write the model."""
    if asked.stop_on_dev and asked.dev is None:
        raise ConfigError(f"--stop-on-dev needs held-out {kind.plural}: name their file with --dev")
    _refuse_without_self_training(asked)
    if asked.settings.get("start") is not None:
        _refuse_beside_start(asked)
    reading = {k.name for _, config in kind.columns for k in knobs(config)} & asked.settings.keys()
    told = asked.of_reader | {name: asked.settings[name] for name in reading}
    settings = {name: value for name, value in asked.settings.items() if name not in reading}
    if asked.cache is not None:
        _train_cached(kind, asked, told, settings, sharding)
        return
    if asked.keep_cache:
        raise ConfigError("--keep-cache needs --cache DIR")
    tell_estimate(kind, asked, told)
    beside = kind.beside(asked, told)
    corpora = {"train": joined([kind.read(path, told) for path in asked.data])}
    if asked.dev is not None:
        corpora["dev"] = kind.read(
            asked.dev, {name: value for name, value in told.items() if name != "weight"}
        )
    if (asked.compare or asked.max_size) and beside:
        flag = "--pairs" if asked.pairs else "--annotators soft"
        raise ConfigError(f"{flag} cannot be combined with --compare or --max-size")
    if asked.self_train is not None and (beside or asked.compare or asked.max_size):
        raise ConfigError("--self-train cannot be combined with --compare, --max-size or --annotators soft")
    if asked.rules is not None and (asked.compare or asked.max_size or asked.self_train):
        raise ConfigError("--rules cannot be combined with --compare, --max-size or --self-train")
    if asked.compare is not None:
        compare_and_keep(kind, asked, settings, corpora)
        return
    if asked.max_size is not None:
        keep_smallest(kind, asked, settings, corpora)
        return
    settings = _by_knob(kind, asked.recipe, settings)
    estimator = kind.made(asked.recipe, settings, asked.features, asked.seed, asked.threads)
    if asked.rules is not None:
        estimator.rules = read_rules(asked.rules)
    estimator.sharding = sharding
    dev = corpora.get("dev") if asked.self_train is None else None  # self-training uses it only to judge
    accuracy: list[dict[str, float]] = []
    with remarks_on_stderr(), progress_bar() as listener, clock() as took:
        watched = corpora if asked.report is not None else {}
        try:
            kind.fit(
                estimator,
                corpora["train"],
                dev,
                watching(kind, watched, accuracy, listener, asked.threads),
                **beside,
            )
        except DataError as e:
            raise kind.located(e, asked.data, told) from None
        judged = None
        if asked.self_train is not None:
            judged = _self_train(kind, asked, settings, corpora, estimator, listener)
            if judged.kept:
                estimator, accuracy = judged.model, []
    scores = {name: kind.scores_of(kind.tally(estimator, corpus)) for name, corpus in corpora.items()}
    facts = kind.facts(estimator, corpora["train"])
    for remark in [*kind.remarks(estimator, asked.data, told), *_single_label(facts, estimator)]:
        warn_about_data(remark)
    further = {}
    if judged is not None:
        further["self_training"] = judged.as_dict()
        if not asked.json:
            show_self_training(kind, judged)
    keep_trained(asked, estimator, took, scores, facts, kind.calibration(estimator), accuracy, further)


@contextmanager
def _training_in_shards(
    engine: str, model: Path, *, workers: int = 0, shards: int | None = None, threads: int = 0
) -> Iterator[Sharding]:
    """Shards beside the model file, on an engine; they are removed at the end of the training.

    If it is interrupted they stay, and the same training continues from its last checkpoint.
    """
    folder = _shards_beside(model.absolute())
    running = engine_named(engine, workers, threads=threads)
    try:
        yield Sharding(running, folder, shards)
    finally:
        running.close()
    shutil.rmtree(folder, ignore_errors=True)


def _remark_on_size(bytes_of_data: int) -> str | None:
    """A remark on data that is too small for an engine; None if it is large enough.

    >>> _remark_on_size(8_000_000)
    'about 1 million tokens: below about 100 million, training without --engine is faster'
    """
    tokens = bytes_of_data // BYTES_PER_TOKEN
    if tokens >= WORTHWHILE:
        return None
    shown = f"{tokens / 1e6:.0f} million" if tokens >= 1e6 else f"{tokens:,}"
    return f"about {shown} tokens: below about 100 million, training without --engine is faster"


def _train_cached(
    kind: Kind,
    asked: TrainRequest,
    told: dict[str, str],
    settings: dict[str, Any],
    sharding: Sharding | None,
) -> None:
    """Train on files that need not fit in memory; held-out data is scored, the training data is not."""
    assert asked.cache is not None
    for flag in ("compare", "max_size", "self_train", "rules", "report"):
        if getattr(asked, flag) is not None:
            raise ConfigError(f"--{flag.replace('_', '-')} cannot be combined with --cache")
    if told.get("annotators") == "soft" or "weight" in told or "numbers" in told:
        raise ConfigError("--annotators soft, --weight and --numbers cannot be combined with --cache")
    estimator = kind.made(
        asked.recipe, _by_knob(kind, asked.recipe, settings), asked.features, asked.seed, asked.threads
    )
    estimator.sharding = sharding
    dev = None if asked.dev is None else kind.read(asked.dev, told)
    tell_estimate(kind, asked, told)
    with cache_folder(asked.cache, asked.keep_cache) as folder:
        with remarks_on_stderr(), progress_bar() as listener, clock() as took:
            facts, remarks = kind.fit_cached(estimator, asked.data, told, folder, dev, listener)
        scores = {} if dev is None else {"dev": kind.scores_of(kind.tally(estimator, dev))}
        for remark in [
            *kind.remarks(estimator, asked.data, told),
            *remarks,
            *_single_label(facts, estimator),
        ]:
            warn_about_data(remark)
        keep_trained(asked, estimator, took, scores, facts, kind.calibration(estimator))


def _single_label(facts: dict[str, int], estimator: Any) -> list[str]:
    """A remark on training data with a single label."""
    if facts.get("labels") != 1:
        return []
    return [
        f"the training data has one label, {str(estimator.classes_[0])!r}; the model can answer nothing else"
    ]


def _refuse_beside_start(asked: TrainRequest) -> None:
    """Raise for flags that mean a training from the beginning."""
    for flag in ("cache", "engine", "compare", "max_size", "self_train", "features"):
        if getattr(asked, flag) is not None:
            raise ConfigError(
                f"--{flag.replace('_', '-')} cannot be combined with --start, which continues a model"
            )


def _refuse_without_self_training(asked: TrainRequest) -> None:
    """Raise for flags that contradict --self-train, or that need it."""
    if asked.self_train is None:
        for flag in ("self_train_rounds", "self_train_confidence"):
            if getattr(asked, flag) is not None:
                raise ConfigError(f"--{flag.replace('_', '-')} needs --self-train")
        return
    detect(asked.self_train, texts=True)  # a file that cannot be read is refused before training
    if asked.stop_on_dev:
        raise ConfigError(
            "--stop-on-dev cannot be combined with --self-train, which uses the held-out data to judge"
        )


def _self_train(
    kind: Kind,
    asked: TrainRequest,
    settings: dict[str, Any],
    corpora: dict[str, Any],
    supervised: Any,
    listener: Listener,
) -> SelfTraining:
    """Self-train on a file of unlabelled rows, and judge the result on held-out data."""
    assert asked.self_train is not None
    if not kind.calibration(supervised):
        warn_about_data(
            "--self-train chooses rows by probabilities, and those of this model are not calibrated"
        )
    picked = (
        asked.columns if "=" in (asked.columns or "") else None
    )  # names alone count the label's column too
    reading = PredictRequest(data=asked.self_train, output=Path(STDIO), text=asked.text, columns=picked)
    return self_train(
        kind,
        supervised,
        lambda: kind.made(asked.recipe, settings, asked.features, asked.seed, asked.threads),
        corpora["train"],
        kind.pool(supervised, reading),
        corpora.get("dev"),
        rounds=asked.self_train_rounds or ROUNDS,
        confidence=CONFIDENCE if asked.self_train_confidence is None else asked.self_train_confidence,
        seed=asked.seed,
        listener=listener,
    )


def _by_knob(kind: Kind, recipe: str | None, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, with short names that the recipe lacks translated to its knobs."""
    name = recipe or kind.default
    known = kind.settings_of(name)
    short = {k: v for k, v in settings.items() if k not in known and k in SHORT}
    if not short:
        return settings
    return {k: v for k, v in settings.items() if k not in short} | as_knobs(short, name, known)
