"""Sentences on the command line: how taggers are trained on files of columns, how they label them, what they hold."""

import json as json_text
from itertools import islice
from pathlib import Path
from typing import Any

from chaffinch.cli.console import progress_bar
from chaffinch.cli.found_conllu import conllu_documents, is_conllu, write_conllu
from chaffinch.cli.found_spans import format_of_spans, write_spans
from chaffinch.cli.steps import show_steps
from chaffinch.cli.tagger_contents import tagger_contents
from chaffinch.cli.task import Explaining, Prediction, Task, Training
from chaffinch.cli.train_compare import train_and_compare
from chaffinch.cli.train_within import train_within
from chaffinch.cli.training_report import clock, keep_trained
from chaffinch.corpus import Format, conllu, detect, read, read_table
from chaffinch.corpus.annotators import FIRST, SOFT, soft_tags
from chaffinch.corpus.conllu import learned
from chaffinch.corpus.registry import every_document
from chaffinch.corpus.sentences import as_sentences
from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Tagger, load
from chaffinch.estimators.sentences import input_names
from chaffinch.evaluate import score_tags
from chaffinch.files import STDIO, display_name, is_stream, writing_text
from chaffinch.knobs import knobs
from chaffinch.recipes import DEFAULT_TAGGER, TAGGERS
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.schemes import scheme_of, spans
from chaffinch.text.table import TokenTable, concatenated
from chaffinch.trust.explanation import Explanation

# Stands in the place of readings that a sentence does not have.
NO_LABEL = "_"

LOOKED_AT = 100  # documents, for a span in any
SHOWN = ("token_accuracy", "sentence_accuracy", "span.micro.f1")


def holds_sentences(path: Path, format: Format) -> bool:
    """A file of columns, or of texts with spans in the first of them; a pipe is judged by its format alone."""
    if "columns" in format.carries or format.name == "jsonl-spans":
        return True
    if "spans" not in format.carries or is_stream(path):
        return False
    return any(d.spans for d in islice(format.read(path), LOOKED_AT))


def train(asked: Training) -> None:
    """Train a tagger on files of columns or of texts with spans and write it to one file."""
    table = concatenated([_labelled(path, asked) for path in asked.data])
    held_out = None if asked.dev is None else _labelled(asked.dev, asked)
    if asked.compare is not None:
        title = f"{table.n_tokens:,} tokens of training text"
        train_and_compare(
            asked, TAGGERS, table, held_out, title, features=asked.features, stop_on_held_out=True
        )
        return
    config = TASK.configured(asked.recipe, asked.settings)
    if asked.max_size is not None:
        train_within(asked, config, table, held_out)
        return
    tagger = Tagger(config, features=asked.features, seed=asked.seed, threads=asked.threads)
    shares = _shares(asked) if asked.annotators == SOFT else None
    with progress_bar() as listener, clock() as took:
        tagger.fit(table, shares, dev=held_out, on_epoch=listener)
    parts = {"train": table} | ({} if held_out is None else {"dev": held_out})
    scores = {name: _scores(tagger, part) for name, part in parts.items()}
    facts = {
        "sentences": table.n_sentences,
        "tokens": table.n_tokens,
        "labels": len(tagger.classes_),
    }
    keep_trained(asked, tagger, took, scores, facts)


def predict(tagger: Tagger, asked: Prediction) -> None:
    """Write the sentences back with the prediction as the last column, or as spans where the output holds spans."""
    tagger.threads = asked.threads
    as_conllu = is_conllu(asked.output, asked.to_format) and not (asked.json or asked.steps)
    table, documents = _input(asked, tagger, whole=as_conllu)
    if asked.steps:
        others = [load(path) for path in asked.beside or []]
        show_steps([tagger, *others], table, asked.output, display_name(asked.data))
        return
    if asked.beside:
        raise ConfigError("--beside goes with --steps")
    format = None if asked.json else format_of_spans(asked.output, asked.to_format)
    if format is not None and (asked.kbest is not None or asked.nth is not None):
        raise ConfigError(f"--kbest and --nth give columns, and {asked.output} is a file of spans")
    if as_conllu and asked.kbest is not None:
        raise ConfigError(
            f"--kbest gives columns, and {asked.output} has the ten of CoNLL-U; name a .conll file"
        )
    readings = _readings(tagger, table, asked)
    if format is not None:
        given = documents or [Document.from_words(words) for words in table.lists(WORD)]
        best = [columns[0] for columns in readings]
        write_spans(tagger, table, given, best, asked.marginals, asked.output, format)
        return
    if as_conllu:
        best = [columns[0] for columns in readings]
        sure = _sureness(tagger, table, best) if asked.marginals else None
        write_conllu(documents or conllu_documents(table), learned(tagger.columns_), best, sure, asked.output)
        return
    separator = " " if len(table.columns) == 1 else "\t"
    shown = [table.lists(name) for name in table.columns]
    added = [list(column) for column in zip(*readings, strict=True)]
    thoughts = _thoughts(tagger, table, readings) if asked.probabilities else []
    if asked.marginals and added:
        added.insert(0, _sureness(tagger, table, added[0]))
    with writing_text(asked.output) as stream:
        if asked.json:
            names = list(table.columns)
            for n in range(table.n_sentences):
                row = {name: column[n] for name, column in zip(names, shown, strict=True)}
                row["predictions"] = [column[n] for column in added]
                row |= thoughts[n] if thoughts else {}
                stream.write(json_text.dumps(row, ensure_ascii=False) + "\n")
            return
        for n in range(table.n_sentences):
            cells = zip(*(column[n] for column in [*shown, *added]), strict=True)
            stream.writelines(separator.join(row) + "\n" for row in cells)
            stream.write("\n")


def explain(tagger: Tagger, asked: Explaining) -> list[Explanation]:
    """Why each token of a sentence got its label."""
    tagger.threads = asked.threads
    if asked.data is not None:
        table, _ = _input(Prediction(data=asked.data, output=Path(STDIO)), tagger, whole=False)
    else:
        if tagger.model_.columns != (WORD,):
            raise DataError(
                f"the model reads the columns {', '.join(tagger.model_.columns)}, and a text has words alone: "
                "give a file of columns, or '-'"
            )
        table = TokenTable.from_documents(as_sentences([Document(text=asked.words or "")], asked.source))
    which = asked.chosen(range(table.n_sentences))
    return tagger.explanations(table, token=asked.token, against=asked.against, which=which)


TASK = Task(
    plural="sentences",
    recipes=TAGGERS,
    default=DEFAULT_TAGGER,
    holds=holds_sentences,
    estimator=Tagger,
    train=train,
    predict=predict,
    inspect=tagger_contents,
    explain=explain,
    explains=("token", "against"),
    takes=(
        "features",
        "label",
        "columns",
        "annotators",
        "to_format",
        "compare",
        "max_size",
        "kbest",
        "nth",
        "marginals",
        "posterior",
        "probabilities",
        "steps",
        "beside",
    ),
)


def _labelled(path: Path, asked: Training) -> TokenTable:
    table = read_table(path, asked.from_format, annotators=asked.annotators or FIRST, **_options(path, asked))
    if LABEL not in table.columns:
        raise DataError(f"{path}: has one column only, expected words and labels")
    return table


def _scores(tagger: Tagger, table: TokenTable) -> dict[str, float]:
    gold = table.lists(LABEL)
    return {k: v for k, v in score_tags(gold, tagger.predict(table)).as_dict().items() if k in SHOWN}


def _options(path: Path, asked: Training) -> dict[str, Any]:
    """What the reader is told; names of columns are for files of columns."""
    options = {} if asked.label is None else {"label": asked.label}
    if asked.columns is not None:
        known = detect(path, asked.from_format).options
        if known is None or "columns" not in {k.name for k in knobs(known)}:
            raise ConfigError(f"{display_name(path)}: --columns is for files of columns, such as train.conll")
        options["columns"] = asked.columns
    return options


def _shares(asked: Training) -> list[list[dict[str, float]]]:
    """For each token of the training files the share of annotators behind each tag."""
    found = []
    for path in asked.data:
        documents = read(path, asked.from_format, annotators=SOFT, **_options(path, asked))
        found += [soft_tags(d) for d in as_sentences(documents, path)]
    return found


def _input(asked: Prediction, tagger: Tagger, *, whole: bool) -> tuple[TokenTable, list[Document]]:
    """The sentences to tag, and the documents that they were if they came as texts.

    whole: with everything that CoNLL-U keeps beside its columns, as documents

    A column file has the columns of the training data, or the first of them; what follows is kept.
    """
    path, known = asked.data, tagger.columns_
    format = detect(path, asked.from_format)
    chosen = format.name
    documents: list[Document] = []
    if asked.columns is not None:
        if chosen not in ("columns", "hmm"):
            raise ConfigError(
                f"{display_name(path)}: --columns is for files of columns, and this is {chosen}"
            )
        table = read_table(path, format="columns", columns=asked.columns, label="")
    elif chosen in ("columns", "hmm"):
        read_as = read_table(path, format="columns", label="")
        names = input_names(known, len(read_as.columns))
        table = TokenTable(
            read_as.ptr, dict(zip(names, read_as.columns.values(), strict=True)), read_as.groups
        )
    elif chosen == conllu.FORMAT.name and not whole:
        table = read_table(path, chosen, label=learned(known))
    elif chosen == conllu.FORMAT.name:
        documents = list(read(path, chosen, label=""))
        table = TokenTable.from_documents(documents)
    else:
        documents = as_sentences(every_document(path, format), path)
        table = TokenTable.from_documents(documents)
    if any(name not in table.columns for name in tagger.model_.columns):
        raise DataError(
            f"{display_name(path)}: expected the columns of the training data ({', '.join(known)}), "
            f"of which the model reads {', '.join(tagger.model_.columns)}; found {len(table.columns)}"
        )
    return table, documents


def _readings(tagger: Tagger, table: TokenTable, asked: Prediction) -> list[list[list[str]]]:
    """Per sentence, the columns to append."""
    kbest = asked.kbest
    if asked.posterior:
        labels = tagger.classes_.tolist()
        return [[[labels[i] for i in p.argmax(axis=1).tolist()]] for p in tagger.predict_marginals(table)]
    if kbest is None and asked.nth is None:
        return [[labels] for labels in tagger.predict(table)]
    wanted = kbest or asked.nth or 1
    found = tagger.predict_kbest(table, wanted)
    missing = [[NO_LABEL] * (int(b) - int(a)) for a, b in zip(table.ptr[:-1], table.ptr[1:], strict=True)]
    rows = []
    for readings, blank in zip(found, missing, strict=True):
        labels = [labels for _, labels in readings]
        labels += [blank] * (wanted - len(labels))
        rows.append(labels if kbest is not None else labels[-1:])
    return rows


def _sureness(tagger: Tagger, table: TokenTable, reading: list[list[str]]) -> list[list[str]]:
    """The probability of each label of a reading, as text."""
    place = {label: i for i, label in enumerate(tagger.classes_.tolist())}
    return [
        [f"{p[t, place[y]]:.4f}" if y != NO_LABEL else y for t, y in enumerate(labels)]
        for p, labels in zip(tagger.predict_marginals(table), reading, strict=True)
    ]


def _thoughts(tagger: Tagger, table: TokenTable, readings: list[list[list[str]]]) -> list[dict[str, Any]]:
    """For each sentence how likely its readings are, and the spans of the first; how undecided the model is."""
    scheme = scheme_of(tagger.classes_.tolist())
    found = []
    for d, shown in zip(tagger.distributions(table), readings, strict=True):
        known = [labels for labels in shown if NO_LABEL not in labels]
        thought: dict[str, Any] = {"probabilities": [d.probability(labels) for labels in known]}
        if scheme is not None and known:
            thought["spans"] = [
                {**span._asdict(), "probability": d.span_probability(span.start, span.end, span.label)}
                for span in spans(known[0], scheme)
            ]
        found.append({**thought, "entropy": d.entropy})
    return found
