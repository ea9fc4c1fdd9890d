"""Predictions of taggers: labellings with probabilities or thresholds, and columns to write."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from chaffinch.corpus.json_records import writing_json
from chaffinch.errors import ConfigError
from chaffinch.estimators import Tagger
from chaffinch.files import writing_text
from chaffinch.kinds.requests import PredictRequest
from chaffinch.text.document import Document
from chaffinch.text.schemes import OUTSIDE, TokenSpan, scheme_of, spans
from chaffinch.text.table import TokenTable
from chaffinch.trust.confidence import SPANS, TOKENS

NO_LABEL = "_"  # fills columns if a sentence has fewer labellings


def labellings_of(tagger: Tagger, table: TokenTable, asked: PredictRequest) -> list[list[list[str]]]:
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
    if asked.nth is not None:
        text = f"{{count}} of {{of}} sentences have fewer than {wanted} labellings: their last one is written"
        asked.remark(text, few, len(rows))
    return rows


def certain_labellings(tagger: Tagger, table: TokenTable, asked: PredictRequest) -> list[list[list[str]]]:
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
    asked.remark(
        f"{{count}} of {{of}} {unit} held back: their probability is below {least:.4f}, the lowest threshold "
        f"at which out-of-fold {unit} have a precision of {asked.precision:g}",
        held_back,
        given,
        always=True,
    )
    return rows


def write_columns(
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
        added.insert(0, sureness(tagger, table, added[0]))
    separator = separator_of(table)
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


def is_plain(asked: PredictRequest) -> bool:
    """Whether the answers are the best labels alone, as a column."""
    return not (asked.json or asked.marginals or asked.probabilities or asked.posterior) and not any(
        (asked.kbest, asked.nth, asked.precision)
    )


def separator_of(table: TokenTable) -> str:
    """A space between tags alone, a tab between columns."""
    return " " if len(table.columns) == 1 else "\t"


def _identity(d: Document) -> dict[str, Any]:
    """The id and the text of a document, which its prediction keeps."""
    return ({} if d.id is None else {"id": d.id}) | {"text": d.text}


def sureness(tagger: Tagger, table: TokenTable, labelling: list[list[str]]) -> list[list[str]]:
    """The probability of each label of a labelling, as text."""
    column = {label: i for i, label in enumerate(tagger.classes_.tolist())}
    return [
        [f"{p[t, column[y]]:.4f}" if y != NO_LABEL else y for t, y in enumerate(labels)]
        for p, labels in zip(tagger.label_probabilities(table), labelling, strict=True)
    ]


def decided_probabilities(
    tagger: Tagger, table: TokenTable, found: Sequence[Sequence[TokenSpan]]
) -> list[list[float | None]]:
    """The probability of each span of a sentence, as ``predict_spans`` gives it; None if it does not find the span."""
    known = [{(s.start, s.end, s.label): s.probability for s in own} for own in tagger.predict_spans(table)]
    return [
        [of_one.get((s.start, s.end, s.label)) for s in own] for of_one, own in zip(known, found, strict=True)
    ]


def _likelihoods(
    tagger: Tagger, table: TokenTable, labellings: list[list[list[str]]]
) -> list[dict[str, Any]]:
    """For each sentence the probability of its labellings and of the spans of the first, and the entropy."""
    scheme = scheme_of(tagger.classes_.tolist())
    found: list[dict[str, Any]] = []
    if not tagger.has_distributions:
        if scheme is None:
            raise ConfigError(
                "this model decides label by label and has no probabilities of labellings; --marginals gives those of "
                "labels"
            )
        marked = [spans(shown[0], scheme) for shown in labellings]
        for own, p in zip(marked, decided_probabilities(tagger, table, marked), strict=True):
            found.append({"spans": [{**s._asdict(), "probability": q} for s, q in zip(own, p, strict=True)]})
        return found
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
