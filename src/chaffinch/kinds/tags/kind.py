"""Sentences with tags: files of columns or of texts with spans, learnt and labelled by taggers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.corpus import conllu, detect, read, read_table
from chaffinch.corpus.annotators import FIRST, SOFT, soft_tags
from chaffinch.corpus.conllu import learned
from chaffinch.corpus.json_records import writing_json
from chaffinch.corpus.registry import TABLES, every_document
from chaffinch.corpus.sentences import as_sentences
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators import Tagger, load
from chaffinch.estimators.candidate_lists import cross_validated_tag_lists, tag_lists
from chaffinch.estimators.sentences import input_names, unread_remarks
from chaffinch.evaluate import TagPair, TagScorer, Tally
from chaffinch.evaluate.spans import SpanOutputs
from chaffinch.evaluate.tag_outputs import TagOutputs, tag_gain
from chaffinch.files import STDIO, display_name, is_stream, writing, writing_text
from chaffinch.kinds.corpora import Corpus, taken
from chaffinch.kinds.kind import (
    Contents,
    Doubt,
    ExplainRequest,
    Kind,
    PredictRequest,
    TrainRequest,
    reader_options,
)
from chaffinch.kinds.tags.contents import tagger_contents
from chaffinch.kinds.tags.output import (
    conllu_documents,
    format_of_spans,
    is_conllu,
    show_steps,
    write_conllu,
    write_spans,
)
from chaffinch.kinds.tags.test_set import PLAIN_COLUMNS, TagTestSet
from chaffinch.kinds.weights import weighted_table, weights_of
from chaffinch.knobs import knobs
from chaffinch.model import TaggingModel
from chaffinch.model.candidates import CandidateList
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_conditionals import entropies, is_markov
from chaffinch.model.protocols import LatticeModel
from chaffinch.model.reranker_file import TAGS as TAG_FEATURES
from chaffinch.model.two_pass import TwoPassModel
from chaffinch.progress import Listener
from chaffinch.recipes import DEFAULT_TAGGER
from chaffinch.recipes.calibration import TagOptions
from chaffinch.recipes.crf_config import Crf
from chaffinch.recipes.rules import ForbiddenGold
from chaffinch.rules import read_rules
from chaffinch.text.alignment import tagged
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.schemes import BIO, OUTSIDE, scheme_of, spans
from chaffinch.text.table import Column, TokenTable
from chaffinch.trust.confidence import DETAILS, SPANS, TOKENS
from chaffinch.trust.explanation import Explanation

# A plain likelihood, whose probabilities are well calibrated, by the fastest optimiser.
QUICK = Crf(optimiser="fast", margin=0.0, inside="as given")
_FURTHER = {k.name for k in knobs(TagOptions)}
NO_LABEL = "_"  # fills the columns of labellings that a sentence does not have
LOOKED_AT = 100  # documents in which the detection looks for a span


class TagKind(Kind):
    """Labels for the tokens of sentences."""

    plural = "sentences"
    estimator = Tagger
    default = DEFAULT_TAGGER
    corpus = TokenTable
    unit = "tokens"
    scores = ("span.micro.f1", "token_accuracy", "sentence_accuracy")
    takes = (
        "features",
        "max_size",
        "self_train",
        "self_train_rounds",
        "self_train_confidence",
        "kbest",
        "nth",
        "marginals",
        "posterior",
        "probabilities",
        "steps",
        "beside",
        "precision",
        "rules",
        "to_format",
    )
    tells = ("label", "columns", "annotators")
    outputs = (SpanOutputs, TagOutputs)
    explains = ("token", "against")
    knobs = (("choice and probabilities", TagOptions),)
    experimental = {"folds": 0}  # noqa: RUF012

    # -- files

    def holds(self, path: Path, format: str | None = None) -> bool:
        """A file of columns, or of texts with spans in the first of them; a pipe is judged by its format alone."""
        chosen = detect(path, format)
        columns = "columns" in chosen.carries
        if (columns and "labels" not in chosen.carries) or chosen.name == "jsonl-spans":
            return True
        if "spans" not in chosen.carries or is_stream(path):
            return columns
        return any(d.spans or LABEL in d.columns for d in islice(chosen.read(path), LOOKED_AT))

    def read(self, path: Path, told: Mapping[str, str]) -> TokenTable:
        """Sentences with labels."""
        annotators = told.get("annotators", FIRST)
        if "weight" in told:
            table = _weighted(path, told, annotators)
        else:
            table = read_table(path, told.get("from_format"), annotators=annotators, **_options(path, told))
        if LABEL not in table.columns:
            raise DataError(f"{path}: expected columns of words and labels, found one column")
        return table

    def beside(self, asked: TrainRequest, told: Mapping[str, str]) -> dict[str, Any]:
        """With ``annotators`` soft, for each token the share of annotators who gave each tag."""
        if told.get("annotators") != SOFT:
            return {}
        shares: list[list[dict[str, float]]] = []
        for path in asked.data:
            found = read(path, told.get("from_format"), annotators=SOFT, **_options(path, told))
            shares += [soft_tags(d) for d in as_sentences(found, path)]
        return {"shares": shares}

    def located(self, error: DataError, paths: Sequence[Path], told: Mapping[str, str]) -> DataError:
        """Gold labels that break a rule are named by file and line."""
        if not isinstance(error, ForbiddenGold):
            return error
        before = 0
        for path in paths:
            format = detect(path, told.get("from_format"))
            sentences = list(as_sentences(read(path, told.get("from_format"), **_options(path, told)), path))
            if error.sentence < before + len(sentences):
                line = sentences[error.sentence - before].line
                if line is None:
                    at = f"{display_name(path)}: sentence {error.sentence - before + 1}, token {error.token + 1}"
                elif format.name == "columns":
                    at = f"{display_name(path)}:{line + error.token}"
                else:
                    at = f"{display_name(path)}:{line}: token {error.token + 1}"
                return DataError(f"{at}: {error.rule}")
            before += len(sentences)
        return error

    def of_documents(self, documents: Sequence[Document], where: str) -> Corpus | None:
        """Documents with tags, or with spans."""
        if LABEL in documents[0].columns:
            return TokenTable.from_documents(documents)
        if any(d.spans for d in documents):
            return TokenTable.from_documents(as_sentences(documents, where))
        return None

    # -- learning and scoring

    def made(
        self, recipe: str | None, settings: Mapping[str, Any], features: Any, seed: int, threads: int
    ) -> Tagger:
        """A tagger; without a recipe and settings of one it chooses what is not given."""
        _, further = self.split(
            self.default, {name: value for name, value in settings.items() if name in _FURTHER}
        )
        if recipe is not None or settings.keys() - _FURTHER or further[0].get("choose") is False:
            made: Tagger = super().made(recipe, settings, features, seed, threads)
            return made
        return self.build(None, further, features, seed, threads)

    def build(
        self, config: Any, further: Sequence[Mapping[str, Any]], features: Any, seed: int, threads: int
    ) -> Tagger:
        """A tagger."""
        return Tagger(config, features=features, seed=seed, threads=threads, **further[0])

    def fit(
        self,
        estimator: Tagger,
        train: TokenTable,
        dev: TokenTable | None,
        on_epoch: Listener,
        shares: list[list[dict[str, float]]] | None = None,
    ) -> None:
        """Train it."""
        estimator.fit(train, shares, dev=dev, on_epoch=on_epoch)

    def tally(self, estimator: Tagger, corpus: TokenTable) -> Tally:
        """Counts by sentence, of the tokens whose label is known."""
        gold, found = corpus.lists(LABEL), estimator.predict(corpus)
        hidden = estimator.hidden_label_
        if hidden is not None:
            kept = [[t for t, label in enumerate(labels) if label != hidden] for labels in gold]
            gold, found = (
                [[y[t] for t in k] for y, k in zip(one, kept, strict=True)] for one in (gold, found)
            )
        pair = TagPair.from_lists(gold, found)
        return TagScorer(pair.labels).tally(pair.y, pair.y_hat, pair.ptr)

    def watcher(self, corpus: TokenTable, threads: int) -> Callable[[TaggingModel], float]:
        """The share of tokens labelled right."""
        column = corpus.columns[LABEL]

        def accuracy(model: TaggingModel) -> float:
            index = {label: i for i, label in enumerate(model.labels.outer)}
            y = np.array([index.get(label, -1) for label in column.types], dtype=np.int32)[column.ids]
            return float((model.decode(corpus, threads) == y).mean())

        return accuracy

    def units(self, corpus: TokenTable) -> int:
        """Tokens."""
        return corpus.n_tokens

    def remarks(self, estimator: Tagger, told: Mapping[str, str]) -> list[str]:
        """Reports a second column that is read as parts of speech, and columns that no feature reads."""
        found = unread_remarks(estimator.columns_, estimator.model_.columns, every="columns" in told)
        if "columns" not in told and estimator.columns_ == (WORD, "pos"):
            found.insert(
                0,
                "the second of three columns is read as parts of speech (pos); --columns w,shape,y gives another name",
            )
        return found

    def facts(self, estimator: Tagger, corpus: TokenTable) -> dict[str, int]:
        """Sentences, tokens, labels."""
        return {
            "sentences": corpus.n_sentences,
            "tokens": corpus.n_tokens,
            "labels": len(estimator.classes_),
        }

    def calibration(self, estimator: Tagger) -> dict[str, Any]:
        """The result of calibration, if the model was calibrated."""
        found = estimator.confidence_
        return {} if found is None else found.packed().details[DETAILS]

    # -- answering

    def streams(self, model: Tagger) -> bool:
        """Unless a second pass looks at whole documents."""
        return not isinstance(model.model_, TwoPassModel)

    def predict(self, model: Tagger, asked: PredictRequest) -> None:
        """Write the sentences back with the prediction as the last column, or as spans if the output holds spans."""
        model.threads = asked.threads
        if asked.rules is not None:
            model = model.with_rules([*model.rules_, *read_rules(asked.rules)])
        as_conllu = is_conllu(asked.output, asked.to_format) and not (asked.json or asked.steps)
        table, documents = _input(asked, model, whole=as_conllu)
        if asked.layout is not None:
            asked.layout.check_columns(tuple(table.columns))
        if asked.rows is not None:
            table, documents = taken(table, asked.rows), asked.picked(documents) if documents else []
        if asked.steps:
            others = [load(path) for path in asked.beside or []]
            show_steps([model, *others], table, asked.output, display_name(asked.data), json=asked.json)
            return
        if asked.beside:
            raise ConfigError("--beside needs --steps")
        format = None if asked.json else format_of_spans(asked.output, asked.to_format)
        if format is not None and (asked.kbest is not None or asked.nth is not None):
            raise ConfigError(f"--kbest and --nth give columns, and {asked.output} is a file of spans")
        if as_conllu and asked.kbest is not None:
            raise ConfigError(
                f"--kbest gives columns, and {asked.output} has the ten of CoNLL-U; name a .conll file"
            )
        if (asked.marginals or asked.probabilities) and model.confidence_ is None:
            warn_about_data(
                "these probabilities are not calibrated: the model was trained with --folds 0, on too few sentences or "
                "by an earlier version"
            )
        if format is None and not as_conllu and _is_plain(asked):
            labels = Column(list(model.classes_), model.answering().decode(table, model.threads))
            with writing(asked.output) as stream:
                stream.write(table.text(_separator(table), labels))
            return
        labellings = _labellings(model, table, asked)
        if asked.precision is not None:
            labellings = _certain(model, table, asked)
        if format is not None:
            given = documents or [Document.from_words(words) for words in table.lists(WORD)]
            for document, note in zip(given, asked.notes, strict=bool(asked.notes)):
                document.fields |= note
            best = [columns[0] for columns in labellings]
            write_spans(model, table, given, best, asked.marginals, asked.output, format)
            return
        if as_conllu:
            best = [columns[0] for columns in labellings]
            sure = _sureness(model, table, best) if asked.marginals else None
            given = documents or conllu_documents(table)
            write_conllu(given, learned(model.columns_), best, sure, asked.output)
            return
        _write_columns(model, table, documents, labellings, asked)

    def inspect(self, model: Tagger, top: int, label: str | None) -> Contents:
        """The strongest features of each label, and the transitions of a chain."""
        return tagger_contents(model, top, label)

    def explain(self, model: Tagger, asked: ExplainRequest) -> list[Explanation]:
        """Explanations of the labels of tokens."""
        model.threads = asked.threads
        if asked.data is not None:
            table, _ = _input(PredictRequest(data=asked.data, output=Path(STDIO)), model, whole=False)
        elif model.model_.columns != (WORD,):
            raise DataError(
                f"the model reads the columns {', '.join(model.model_.columns)}, and a text has words alone: "
                "give a file of columns, or '-'"
            )
        else:
            table = _typed(asked)
        which = asked.chosen(range(table.n_sentences))
        return model.explanations(table, token=asked.token, against=asked.against, which=which)

    def test_set(self, path: Path, models: Sequence[Tagger], told: Mapping[str, str]) -> "TagTestSet":
        """Sentences to tag."""
        return TagTestSet(path, models, told.get("label"))

    # -- judging labels

    # -- choosing what to label next

    strategy = "doubt"

    def pool(self, model: Tagger, asked: PredictRequest) -> TokenTable:
        """The sentences of a file."""
        return _input(asked, model, whole=False)[0]

    def texts(self, corpus: TokenTable) -> list[str]:
        """The words of each sentence."""
        return [" ".join(words) for words in corpus.lists(WORD)]

    def uncertainty(self, model: Tagger, corpus: TokenTable) -> NDArray[np.float64]:
        """The entropy of the labelling over the root of the length: doubt, and little to read.

        Of models without a distribution over labellings, the sum of the entropies of the tokens' labels.
        """
        chain = model.answering()
        if isinstance(chain, ChainModel) and is_markov(chain):
            nats = entropies(chain, corpus, model.threads)
        elif isinstance(chain, LatticeModel):
            nats = np.array([d.entropy for d in model.distributions(corpus)])
        else:
            p = [np.clip(m.astype(np.float64), 1e-12, 1.0) for m in model.predict_marginals(corpus)]
            nats = np.array([-(m * np.log(m)).sum() for m in p])
        return nats / np.sqrt(np.maximum(self.unit_counts(corpus), 1))

    def unit_counts(self, corpus: TokenTable) -> NDArray[np.int64]:
        """The lengths of the sentences."""
        return np.diff(corpus.ptr)

    def wrong_units(self, model: Tagger, corpus: TokenTable) -> NDArray[np.int64]:
        """The wrong labels of each sentence."""
        answers = zip(model.predict(corpus), corpus.lists(LABEL), strict=True)
        return np.array(
            [sum(a != b for a, b in zip(given, right, strict=True)) for given, right in answers], np.int64
        )

    def self_labelled(
        self, model: Tagger, pool: TokenTable, train: TokenTable
    ) -> tuple[TokenTable, NDArray[np.float64]]:
        """Tagged sentences; the probabilities are those of the labels of all tokens and of the spans found.

        Tokens count as well: a sentence without a span is certain only if no token may begin one.
        """
        names = [name for name in train.columns if name != LABEL]
        if missing := [name for name in names if name not in pool.columns]:
            raise DataError(
                f"the unlabelled sentences lack columns of the training data: {', '.join(missing)}"
            )
        answers, labels = model.predict(pool), model.classes_.tolist()
        place = {label: i for i, label in enumerate(labels)}
        sure = np.ones(pool.n_sentences)
        found = zip(answers, model.predict_marginals(pool), model.predict_spans(pool), strict=True)
        for n, (given, p, decided) in enumerate(found):
            of_tokens = [float(p[t, place[label]]) for t, label in enumerate(given)]
            sure[n] = min([*of_tokens, *(span.probability for span in decided)], default=0.0)
        lists = {name: answers if name == LABEL else pool.lists(name) for name in train.columns}
        weight = None if train.weight is None else np.full(len(sure), train.weight.mean(), np.float32)
        made = replace(TokenTable.from_lists(lists), groups=pool.groups, images=pool.images, weight=weight)
        return made, sure

    # -- judging labels

    def judged(self, files: Sequence[Sequence[Document]]) -> tuple[Corpus, list[tuple[int, int]]] | None:
        """Sentences with tags; in a file of spans, all texts with tokens."""
        rows = []
        for f, file in enumerate(files):
            spans_there = any(d.spans for d in file)
            made = [(n, with_tags(d, spans_there)) for n, d in enumerate(file)]
            rows += [((f, n), d) for n, d in made if d is not None]
        if not rows:
            return None
        documents = [d for _, d in rows]
        common = [name for name in documents[0].columns if all(name in d.columns for d in documents)]
        names = [WORD, *(name for name in common if name not in (WORD, LABEL)), LABEL]
        return TokenTable.from_documents(documents, names), [at for at, _ in rows]

    def unit_labels(self, corpus: TokenTable) -> tuple[list[str], NDArray[np.int32]]:
        """The tag of each token."""
        column = corpus.columns[LABEL]
        names = sorted(set(column.types))
        index = {name: i for i, name in enumerate(names)}
        return names, np.array([index[label] for label in column.types], np.int32)[column.ids]

    def units_of(self, corpus: TokenTable, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The tokens of some sentences."""
        lengths = np.diff(corpus.ptr)[rows]
        starts = np.repeat(corpus.ptr[rows] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        return starts + np.arange(lengths.sum())

    def unit_probabilities(
        self, train: TokenTable, asked: TokenTable, seed: int, threads: int
    ) -> tuple[list[str], NDArray[np.float32]]:
        """The probabilities of a plain CRF."""
        model = Tagger(QUICK, folds=0, seed=seed, threads=threads).fit(train)
        labels = [str(c) for c in model.classes_]
        found = model.predict_marginals(asked)
        return labels, np.concatenate([*found, np.empty((0, len(labels)), np.float32)]).copy()

    def doubts(self, corpus: TokenTable, units: NDArray[np.int64]) -> Iterator[Doubt]:
        """Neighbouring tokens of one sentence are one doubt."""
        chosen = np.sort(units)
        sentence = np.searchsorted(corpus.ptr, chosen, side="right") - 1
        new_run = np.ones(len(chosen), bool)
        new_run[1:] = (np.diff(chosen) > 1) | (np.diff(sentence) > 0)
        for run in np.split(chosen, np.flatnonzero(new_run)[1:]):
            if len(run):
                row = int(np.searchsorted(corpus.ptr, run[0], side="right")) - 1
                yield Doubt(row, run, int(run[0] - corpus.ptr[row]))

    # -- lists of labellings

    list_features = (TAG_FEATURES,)

    def candidates(self, model: Tagger, asked: Any, k: int, *, gold: bool = False) -> list[CandidateList]:
        """The k best labellings of each sentence."""
        if isinstance(asked, ExplainRequest):
            table = _typed(asked) if asked.data is None else read_table(asked.data)
        else:
            table = self.read(asked, {}) if gold else read_table(asked)
        return tag_lists(model, table, k, gold=table.lists(LABEL) if gold else None)

    def candidates_to_learn(
        self, model: Path, data: Path, k: int, folds: int, features: str, wrong: float | None, threads: int
    ) -> list[CandidateList]:
        """Out-of-fold labellings by taggers with the settings of the one of the file."""
        file = modelfile.read(model)
        like = Tagger.loaded(file)

        def anew() -> Tagger:
            templates = list(file.header.templates) or None
            return Tagger(like.recipe, features=templates, folds=0, seed=like.seed, threads=threads)

        return cross_validated_tag_lists(anew, self.read(data, {}), k, folds, wrong=wrong)

    def candidate_gain(self, data: Path, answers: Mapping[str, Sequence[Any]]) -> dict[str, float]:
        """Span F1, or token accuracy if the tags mark no spans."""
        found = tag_gain(self.read(data, {}).lists(LABEL), answers, "reranked", "base")
        gain = {"gain": found.gain.difference, "gain.low": found.gain.low, "gain.high": found.gain.high}
        return {f"{found.key}.{name}": value for name, value in {**found.scores, **gain}.items()}

    def write_chosen(self, data: Path, chosen: Sequence[list[str]], output: Path) -> None:
        """The columns of the input, then the chosen labels."""
        table = read_table(data)
        columns = [table.lists(name) for name in table.columns]
        with writing_text(output) as stream:
            for sentence in zip(*columns, chosen, strict=True):
                stream.writelines("\t".join(cells) + "\n" for cells in zip(*sentence, strict=True))
                stream.write("\n")


TAGS = TagKind()


def with_tags(d: Document, spans: bool) -> Document | None:
    """The document with a column of tags, made from its spans if it has none; None if it has no tokens, no tags.

    spans: whether the file has spans, so that a document without spans counts as annotated with none

    Spans that do not fit the tokens are left out: another check reports them.
    """
    if not d.tokens or LABEL in d.columns:
        return d if d.tokens else None
    if not spans:
        return None
    [made], _ = tagged([d], BIO, misaligned="drop", overlapping="drop")
    return made


def _typed(asked: ExplainRequest) -> TokenTable:
    """The typed words."""
    return TokenTable.from_documents(as_sentences([Document(text=asked.words or "")], asked.source))


def _weighted(path: Path, told: Mapping[str, str], annotators: str) -> TokenTable:
    """Sentences with the weight of each, from a field of its row, a comment, a column or a file of numbers."""
    format, options, name = detect(path, told.get("from_format")), _options(path, told), told["weight"]
    if format.name not in TABLES:
        found = as_sentences(read(path, format.name, annotators=annotators, **options), path)
        weight = weights_of(path, found, name)
        return replace(TokenTable.from_documents(found), weight=np.array(weight, np.float32))
    table = read_table(path, format.name, **options)
    if "fields" not in format.carries or name in table.columns or is_stream(path):
        return weighted_table(path, table, name)
    weight = weights_of(path, list(read(path, format.name, **options)), name)
    return replace(table, weight=np.array(weight, np.float32))


def _options(path: Path, told: Mapping[str, str]) -> dict[str, str]:
    """The options of the reader; names of columns apply to files of columns."""
    if "columns" in told and "columns" not in reader_options(path, told.get("from_format")):
        raise ConfigError(
            f"{display_name(path)}: --columns applies only to files of columns, such as train.conll"
        )
    return {name: told[name] for name in ("label", "columns") if name in told}


def _input(asked: PredictRequest, tagger: Tagger, *, whole: bool) -> tuple[TokenTable, list[Document]]:
    """The sentences to tag, and their documents if they came as texts.

    whole: with everything that CoNLL-U keeps beside its columns, as documents

    A column file has the columns of the training data, or the first of them; what follows is kept.
    """
    path, known = asked.data, tagger.columns_
    format = detect(path, asked.from_format)
    chosen = format.name
    documents: list[Document] = []
    if asked.columns is not None:
        if chosen not in PLAIN_COLUMNS:
            raise ConfigError(
                f"{display_name(path)}: --columns applies only to files of columns, and this is {chosen}"
            )
        table = read_table(path, format="columns", columns=asked.columns, label="")
    elif chosen in PLAIN_COLUMNS:
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
        documents = list(every_document(path, format))
        if not documents:
            return TokenTable.from_lists({name: [] for name in known}), []
        documents = as_sentences(documents, path)
        table = TokenTable.from_documents(documents)
    if any(name not in table.columns for name in tagger.model_.columns):
        raise DataError(
            f"{display_name(path)}: expected the columns of the training data ({', '.join(known)}), "
            f"of which the model reads {', '.join(tagger.model_.columns)}; found {len(table.columns)}"
        )
    return table, documents


def _labellings(tagger: Tagger, table: TokenTable, asked: PredictRequest) -> list[list[list[str]]]:
    """Per sentence, the columns to append."""
    kbest = asked.kbest
    if asked.posterior:
        return [[labels] for labels in tagger.predict_posterior(table)]
    if kbest is None and asked.nth is None:
        return [[labels] for labels in tagger.predict(table)]
    wanted = kbest or asked.nth or 1
    found = tagger.predict_kbest(table, wanted)
    missing = [[NO_LABEL] * (b - a) for a, b in pairwise(table.ptr.tolist())]
    rows, few = [], 0
    for labellings, blank in zip(found, missing, strict=True):
        labels = [labels for _, labels in labellings]
        if kbest is not None:
            rows.append(labels + [blank] * (wanted - len(labels)))
        else:
            few += len(labels) < wanted
            rows.append(labels[-1:] or [blank])
    if few:
        warn_about_data(
            f"{few:,} of {len(rows):,} sentences have fewer than {wanted} labellings: the last of theirs is written"
        )
    return rows


def _certain(tagger: Tagger, table: TokenTable, asked: PredictRequest) -> list[list[list[str]]]:
    """The best labels without decisions below the threshold: spans become O, tokens the blank label."""
    if asked.kbest is not None or asked.nth is not None or asked.posterior:
        raise ConfigError(
            "--precision applies to the best labels only; leave out --kbest, --nth and --posterior"
        )
    least = tagger.threshold(precision=asked.precision or 0.0)
    unit = tagger.confidence_.unit if tagger.confidence_ is not None else TOKENS
    rows, given, held_back = [], 0, 0
    for labels, found in zip(tagger.predict(table), tagger.predict_spans(table), strict=True):
        kept = list(labels)
        for span in found:
            given += 1
            if span.probability < least:
                held_back += 1
                blank = OUTSIDE if unit == SPANS else NO_LABEL
                kept[span.start : span.end] = [blank] * (span.end - span.start)
        rows.append([kept])
    warn_about_data(
        f"{held_back:,} of {given:,} {unit} held back: their probability is below {least:.4f}, the least at which "
        f"out-of-fold {unit} were shown to have a precision of {asked.precision:g}"
    )
    return rows


def _write_columns(
    tagger: Tagger,
    table: TokenTable,
    documents: list[Document],
    labellings: list[list[list[str]]],
    asked: PredictRequest,
) -> None:
    """The input's columns and those of the labellings, or an object per sentence with its text."""
    shown = [table.lists(name) for name in table.columns]
    added = [list(column) for column in zip(*labellings, strict=True)]
    likelihoods = _likelihoods(tagger, table, labellings) if asked.probabilities else []
    if asked.marginals and added:
        added.insert(0, _sureness(tagger, table, added[0]))
    separator = _separator(table)
    if asked.json:
        with writing_text(asked.output) as stream, writing_json(stream, asked.output) as put:
            for n in range(table.n_sentences):
                row: dict[str, Any] = _identity(documents[n]) if documents else {}
                row |= {name: column[n] for name, column in zip(table.columns, shown, strict=True)}
                row["predictions"] = [column[n] for column in added]
                put(row | (likelihoods[n] if likelihoods else {}))
        return
    with writing_text(asked.output) as stream:
        for n in range(table.n_sentences):
            cells = zip(*(column[n] for column in [*shown, *added]), strict=True)
            stream.writelines(separator.join(row) + "\n" for row in cells)
            stream.write("\n")


def _is_plain(asked: PredictRequest) -> bool:
    """Whether the answers are the best labels alone, as a column."""
    return not (asked.json or asked.marginals or asked.probabilities or asked.posterior) and not any(
        (asked.kbest, asked.nth, asked.precision)
    )


def _separator(table: TokenTable) -> str:
    return " " if len(table.columns) == 1 else "\t"


def _identity(d: Document) -> dict[str, Any]:
    """What a prediction keeps of its document."""
    return ({} if d.id is None else {"id": d.id}) | {"text": d.text}


def _sureness(tagger: Tagger, table: TokenTable, labelling: list[list[str]]) -> list[list[str]]:
    """The probability of each label of a labelling, as text."""
    column = {label: i for i, label in enumerate(tagger.classes_.tolist())}
    return [
        [f"{p[t, column[y]]:.4f}" if y != NO_LABEL else y for t, y in enumerate(labels)]
        for p, labels in zip(tagger.predict_marginals(table), labelling, strict=True)
    ]


def _likelihoods(
    tagger: Tagger, table: TokenTable, labellings: list[list[list[str]]]
) -> list[dict[str, Any]]:
    """For each sentence the probability of its labellings and of the spans of the first, and the entropy."""
    scheme = scheme_of(tagger.classes_.tolist())
    found = []
    for d, shown in zip(tagger.distributions(table), labellings, strict=True):
        known = [labels for labels in shown if NO_LABEL not in labels]
        thought: dict[str, Any] = {"probabilities": [d.probability(labels) for labels in known]}
        if scheme is not None and known:
            thought["spans"] = [
                {**span._asdict(), "probability": d.span_probability(span.start, span.end, span.label)}
                for span in spans(known[0], scheme)
            ]
        found.append({**thought, "entropy": d.entropy})
    return found
