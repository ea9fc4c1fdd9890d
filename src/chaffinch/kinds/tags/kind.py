"""Sentences with tags: files of columns or of texts with spans, learnt and labelled by taggers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch import modelfile
from chaffinch.corpus import detect, read, read_table
from chaffinch.corpus.annotators import FIRST, SOFT, soft_tags
from chaffinch.corpus.conllu import learned
from chaffinch.corpus.registry import with_extension
from chaffinch.corpus.sentences import as_sentences
from chaffinch.errors import ConfigError, DataError, warn_about_data
from chaffinch.estimators import Tagger, load
from chaffinch.estimators.candidate_lists import cross_validated_tag_lists, tag_lists
from chaffinch.estimators.sentences import unread_remarks
from chaffinch.evaluate import TagPair, TagScorer, Tally
from chaffinch.evaluate.spans import SpanOutputs
from chaffinch.evaluate.tag_outputs import TagOutputs, tag_gain
from chaffinch.files import STDIO, display_name, is_stream, writing, writing_text
from chaffinch.kinds.corpora import Corpus, taken
from chaffinch.kinds.kind import Contents, Kind
from chaffinch.kinds.needs import Needs
from chaffinch.kinds.requests import ExplainRequest, PredictRequest, TrainRequest
from chaffinch.kinds.tags.block_answers import label_rows, relabel_conllu
from chaffinch.kinds.tags.cached import fit_cached_sentences, needs_of_sentences
from chaffinch.kinds.tags.contents import tagger_contents
from chaffinch.kinds.tags.output import (
    can_hold_tags,
    conllu_documents,
    format_of_spans,
    is_conllu,
    show_steps,
    write_conllu,
    write_spans,
)
from chaffinch.kinds.tags.prediction import (
    certain_labellings,
    is_plain,
    labellings_of,
    separator_of,
    sureness,
    write_columns,
)
from chaffinch.kinds.tags.reading import (
    given_options,
    input_table,
    typed_words,
    warn_of_swapped_columns,
    weighted_sentences,
)
from chaffinch.kinds.tags.test_set import TagTestSet
from chaffinch.kinds.tags.token_labels import TokenLabels
from chaffinch.knobs import knobs
from chaffinch.model import TaggingModel
from chaffinch.model.candidates import CandidateList
from chaffinch.model.reranker_file import TAGS as TAG_FEATURES
from chaffinch.model.two_pass import TwoPassModel
from chaffinch.progress import Listener
from chaffinch.recipes import DEFAULT_TAGGER
from chaffinch.recipes.calibration import TagOptions
from chaffinch.recipes.rescued import RescuedTagger
from chaffinch.recipes.rules import ForbiddenGold
from chaffinch.rules import read_rules
from chaffinch.text.document import LABEL, WORD, Document
from chaffinch.text.schemes import scheme_of
from chaffinch.text.table import Column, TokenTable
from chaffinch.trust.explanation import Explanation

_FURTHER = {k.name for k in knobs(TagOptions)}
LOOKED_AT = 100  # documents in which the detection looks for a span


class TagKind(Kind, TokenLabels):
    """Labels for the tokens of sentences."""

    plural = "sentences"
    estimator = Tagger
    default = DEFAULT_TAGGER
    quickest = "hmm"
    example = "posts.conll"
    corpus = TokenTable
    unit = "tokens"
    scores = ("span.micro.f1", "token_accuracy", "sentence_accuracy")
    takes = (
        "engine",
        "workers",
        "shards",
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
        "cache",
        "keep_cache",
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
            table = weighted_sentences(path, told, annotators)
        else:
            table = read_table(
                path, told.get("from_format"), annotators=annotators, **given_options(path, told)
            )
        if LABEL not in table.columns:
            raise DataError(f"{path}: expected columns of words and labels, found one column")
        if not {"columns", "label"} & told.keys():
            warn_of_swapped_columns(path, table)
        return table

    def beside(self, asked: TrainRequest, told: Mapping[str, str]) -> dict[str, Any]:
        """With ``annotators`` soft, for each token the share of annotators who gave each tag."""
        if told.get("annotators") != SOFT:
            return {}
        shares: list[list[dict[str, float]]] = []
        for path in asked.data:
            found = read(path, told.get("from_format"), annotators=SOFT, **given_options(path, told))
            shares += [soft_tags(d) for d in as_sentences(found, path)]
        return {"shares": shares}

    def located(self, error: DataError, paths: Sequence[Path], told: Mapping[str, str]) -> DataError:
        """The error with file and line, if a gold label breaks a rule."""
        if not isinstance(error, ForbiddenGold):
            return error
        before = 0
        for path in paths:
            format = detect(path, told.get("from_format"))
            sentences = list(
                as_sentences(read(path, told.get("from_format"), **given_options(path, told)), path)
            )
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
        """A tagger; without a recipe and settings of a recipe it chooses both."""
        if settings.get("start") is not None:
            begun: Tagger = self.started(recipe, settings, threads)
            return begun
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
        return self.estimator(config, features=features, seed=seed, threads=threads, **further[0])

    def fit(
        self,
        estimator: Tagger,
        train: TokenTable,
        dev: TokenTable | None,
        on_epoch: Listener,
        shares: list[list[dict[str, float]]] | None = None,
    ) -> None:
        """Train it, or train it further."""
        if not hasattr(estimator, "model_"):
            estimator.fit(train, shares, dev=dev, on_epoch=on_epoch)
        elif shares is not None:
            raise ConfigError("--start needs one label for each token; leave out --annotators soft")
        else:
            estimator.partial_fit(train, on_epoch=on_epoch)

    def needs(self, corpora: Sequence[TokenTable], recipe: str | None, features: Any) -> Needs | None:
        """The memory and time of training on such sentences."""
        return needs_of_sentences(corpora, recipe, features)

    def fit_cached(
        self,
        estimator: Tagger,
        paths: Sequence[Path],
        told: Mapping[str, str],
        folder: Path,
        dev: TokenTable | None,
        on_epoch: Listener,
    ) -> tuple[dict[str, int], list[str]]:
        """Train it block by block; ids of sentences are in the folder."""
        return fit_cached_sentences(self, estimator, paths, told, folder, dev, on_epoch)

    def recalibrate(self, estimator: Tagger, corpus: TokenTable) -> None:
        """Fit the probabilities of a trained model on held-out sentences."""
        estimator.recalibrate(corpus)

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

    def remarks(self, estimator: Tagger, paths: Sequence[Path], told: Mapping[str, str]) -> list[str]:
        """Reports a second column that is read as parts of speech, and columns that no feature reads."""
        found = unread_remarks(estimator.columns_, estimator.model_.columns, every="columns" in told)
        guessed = "columns" not in told and estimator.columns_ == (WORD, "pos")
        if guessed and any(detect(path, told.get("from_format")).name == "columns" for path in paths):
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

    # -- answering

    def ruled(self, model: Tagger, rules: Path) -> Tagger:
        """The tagger whose labellings obey the rules of a file as well as its own."""
        return model.with_rules([*model.rules_, *read_rules(rules)])

    def streams(self, model: Tagger) -> bool:
        """Yes, unless a second pass reads whole documents."""
        return not isinstance(model.model_, TwoPassModel)

    def ending(self, model: Tagger, asked: PredictRequest) -> str | None:
        """Spans are JSON lines; several labellings, and tags that mark no spans, are columns."""
        if asked.kbest is not None or asked.nth is not None:
            held = {format.name for format in with_extension(asked.output)}
            return None if "columns" in held or (asked.kbest is None and "conllu" in held) else ".conll"
        if can_hold_tags(model, asked.output):
            return None
        try:
            given = detect(asked.data, asked.from_format)
        except DataError:  # which its reader reports
            return None
        if can_hold_tags(model, asked.output, given):
            return None
        return ".conll" if scheme_of(model.classes_.tolist()) is None else ".jsonl"

    def predict(self, model: Tagger, asked: PredictRequest) -> None:
        """Write the sentences back with the prediction as the last column, or as spans if the output holds spans."""
        model.threads = asked.threads
        if asked.rules is not None:
            model = self.ruled(model, asked.rules)
        as_conllu = is_conllu(asked.output, asked.to_format) and not (asked.json or asked.steps)
        in_bytes = relabel_conllu if as_conllu else label_rows
        if asked.layout is not None and is_plain(asked) and in_bytes(model, asked):
            return
        table, documents = input_table(asked, model, whole=as_conllu)
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
        given_format = detect(asked.data, asked.from_format)
        format = None if asked.json else format_of_spans(asked.output, asked.to_format, given_format)
        if format is not None and (asked.kbest is not None or asked.nth is not None):
            raise ConfigError(f"--kbest and --nth give columns, and {asked.output} is a file of spans")
        if as_conllu and asked.kbest is not None:
            raise ConfigError(
                f"--kbest gives columns, and {asked.output} has the ten of CoNLL-U; name a .conll file"
            )
        if (asked.marginals or asked.probabilities) and model.confidence_ is None:
            why = (
                f"they are those of the model of {model.config_.tool}"
                if isinstance(model.config_, RescuedTagger)
                else "the model was trained with --folds 0, with --cache but no --dev, on too few sentences or by an "
                "earlier version"
            )
            warn_about_data(f"these probabilities are not calibrated: {why}")
        if format is None and not as_conllu and is_plain(asked):
            labels = Column(list(model.classes_), model.answering().decode(table, model.threads))
            with writing(asked.output) as stream:
                stream.write(table.text(separator_of(table), labels))
            return
        labellings = labellings_of(model, table, asked)
        if asked.precision is not None:
            labellings = certain_labellings(model, table, asked)
        if format is not None:
            given = documents or [Document.from_words(words) for words in table.lists(WORD)]
            for document, note in zip(given, asked.notes, strict=bool(asked.notes)):
                document.fields |= note
            best = [columns[0] for columns in labellings]
            write_spans(model, table, given, best, asked.marginals, asked.output, format)
            return
        if as_conllu:
            best = [columns[0] for columns in labellings]
            sure = sureness(model, table, best) if asked.marginals else None
            given = documents or conllu_documents(table)
            write_conllu(given, learned(model.columns_), best, sure, asked.output)
            return
        write_columns(model, table, documents, labellings, asked)

    def inspect(self, model: Tagger, top: int, label: str | None) -> Contents:
        """The strongest features of each label, and the transitions of a chain."""
        return tagger_contents(model, top, label)

    def explain(self, model: Tagger, asked: ExplainRequest) -> list[Explanation]:
        """Explanations of the labels of tokens."""
        model.threads = asked.threads
        if asked.data is not None:
            table, _ = input_table(PredictRequest(data=asked.data, output=Path(STDIO)), model, whole=False)
        elif model.model_.columns != (WORD,):
            raise DataError(
                f"the model reads the columns {', '.join(model.model_.columns)}, and a text has only words: "
                "give a file of columns, or '-'"
            )
        else:
            table = typed_words(asked)
        which = asked.chosen(range(table.n_sentences))
        return model.explanations(table, token=asked.token, against=asked.against, which=which)

    def test_set(self, path: Path, models: Sequence[Tagger], told: Mapping[str, str]) -> "TagTestSet":
        """Sentences to tag."""
        return TagTestSet(path, models, told.get("label"))

    # -- active learning

    strategy = "doubt"

    def pool(self, model: Tagger, asked: PredictRequest) -> TokenTable:
        """The sentences of a file."""
        return input_table(asked, model, whole=False)[0]

    def texts(self, corpus: TokenTable) -> list[str]:
        """The words of each sentence."""
        return [" ".join(words) for words in corpus.lists(WORD)]

    def uncertainty(self, model: Tagger, corpus: TokenTable) -> NDArray[np.float64]:
        """The mean entropy of the token labels: uncertainty per token that an annotator reads.

        Compared with the entropy of the labelling over the root of the length (Settles and Craven 2008), it reaches
        the same score with a few more sentences and a sixth fewer tokens.
        """
        p = model.answering().marginals(corpus, model.threads).astype(np.float64)
        nats = -(p * np.log(np.clip(p, 1e-12, 1.0))).sum(axis=1)
        sums = np.concatenate([[0.0], np.cumsum(nats)])[corpus.ptr]
        return np.diff(sums) / np.maximum(self.unit_counts(corpus), 1)

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
        found = zip(answers, model.label_probabilities(pool), model.predict_spans(pool), strict=True)
        for n, (given, p, decided) in enumerate(found):
            of_tokens = [float(p[t, place[label]]) for t, label in enumerate(given)]
            sure[n] = min([*of_tokens, *(span.probability for span in decided)], default=0.0)
        lists = {name: answers if name == LABEL else pool.lists(name) for name in train.columns}
        weight = None if train.weight is None else np.full(len(sure), train.weight.mean(), np.float32)
        made = replace(TokenTable.from_lists(lists), groups=pool.groups, images=pool.images, weight=weight)
        return made, sure

    # -- lists of labellings

    list_features = (TAG_FEATURES,)

    def candidates(self, model: Tagger, asked: Any, k: int, *, gold: bool = False) -> list[CandidateList]:
        """The k best labellings of each sentence."""
        if isinstance(asked, ExplainRequest):
            table = typed_words(asked) if asked.data is None else read_table(asked.data)
        else:
            table = self.read(asked, {}) if gold else read_table(asked)
        return tag_lists(model, table, k, gold=table.lists(LABEL) if gold else None)

    def candidates_to_learn(
        self, model: Path, data: Path, k: int, folds: int, features: str, wrong: float | None, threads: int
    ) -> list[CandidateList]:
        """Out-of-fold labellings by taggers with the settings of the model file."""
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
