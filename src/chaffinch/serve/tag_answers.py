"""Taggers behind the server: tags, spans over the characters, certainties; corrections are tags."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chaffinch.errors import ConfigError, DataError
from chaffinch.estimators import Tagger
from chaffinch.kinds.tags.kind import TagKind
from chaffinch.model.chain import ChainModel
from chaffinch.model.chain_conditionals import Decided
from chaffinch.search.label_rules import rules_as_data, rules_of
from chaffinch.serve.answers import MOST_EXPLAINED, Answer, Answering, InputRow, within_limits
from chaffinch.serve.explanations import explained
from chaffinch.serve.messages import Asked, CorrectionBody, Input, Token, one_input
from chaffinch.serve.tag_probabilities import (
    DIGITS,
    best_labellings,
    certainties,
    honest_marginals,
    least_certainties,
    marginals,
    span_scores,
    without_rules,
)
from chaffinch.text.document import LABEL, WORD, Document, Span
from chaffinch.text.document import Token as Piece
from chaffinch.text.schemes import BILOU, BIO, BIOES, OUTSIDE, Scheme, TokenSpan, scheme_of, spans
from chaffinch.text.schemes.legality import SpanArrays, span_arrays, validate
from chaffinch.text.table import TokenTable
from chaffinch.text.tokens import token_bounds

MOST_RULES = 12  # of one request
NO_CELL = "_"  # fills a column that was not given and that no feature reads
EXPLAINED_BEST = 5  # labellings shown beside an explanation


class _Transitions:
    """The first tags and the transitions that a chain allows."""

    def __init__(self, model: ChainModel) -> None:
        outer, of, w = model.labels.outer, model.labels.outer_of, model.weights
        shown = of[None, :] == np.arange(len(outer))[:, None]
        self.model = model
        self.place = {tag: i for i, tag in enumerate(outer)}
        self.starts = (shown @ np.isfinite(w.start)).tolist()
        self.pairs = (shown @ np.isfinite(w.pair) @ shown.T).tolist()

    def allow(self, tags: Sequence[str]) -> bool:
        """Whether all tags are known, and each may follow the one before."""
        found = [self.place.get(tag, -1) for tag in tags]
        if min(found) < 0 or not self.starts[found[0]]:
            return False
        return all(self.pairs[a][b] for a, b in pairwise(found))


class TagAnswering(Answering):
    """Tags of tokens.

    ``certainty`` is the probability of the least certain token's tag. With tags in BIO, BIOES or BILOU, the ``score``
    of a span is its probability. The score of spans of other schemes, and of runs of equal labels that mark no spans,
    is the certainty of their least certain token.
    """

    kind = TagKind
    name = "tags"
    corrected = True

    # -- the model

    def labels(self, model: Tagger) -> list[str]:
        """The tags."""
        return list(model.model_.labels.outer)

    def scheme(self, model: Tagger) -> str | None:
        """BIO, BIOES ..."""
        found = scheme_of(model.model_.labels.outer)
        return None if found is None else found.name

    def has_probabilities(self, model: Tagger) -> bool:
        """Whether it has marginals."""
        probe = {name: [["a"]] for name in model.columns_}
        try:
            model.predict_marginals(probe)
        except ConfigError:
            return False
        except DataError:  # it has probabilities, but not for this word
            return True
        return True

    # -- inputs

    def rows(self, model: Tagger, body: Input) -> list[InputRow]:
        """Texts are cut into words; tokens are words, or lists of a word and its further columns."""
        form = one_input(body, "text", "texts", "tokens", "sentences")
        if form in ("text", "texts"):
            texts = [body.text] if body.text is not None else body.texts or []
            return [row_of_text(model, text) for text in texts]
        sentences = [body.tokens] if body.tokens is not None else body.sentences or []
        return [row_of_tokens(model, sentence) for sentence in sentences]

    def row_of(self, model: Tagger, document: Document) -> InputRow:
        """The tokens of a document, with the columns that the model was trained with."""
        words = document.words()
        offsets = [(token.start, token.end) for token in document.tokens]
        further = [name for name in model.columns_ if name != WORD]
        columns = None
        if further and all(name in document.columns for name in further):
            columns = list(zip(words, *(document.columns[name] for name in further), strict=True))
        return InputRow(document.text, row_key(model, words, columns), words, columns, offsets)

    # -- answers

    def answers(self, model: Tagger, rows: Sequence[InputRow], asked: Asked) -> list[Answer]:
        """All inputs are decoded as one batch."""
        labels = model.model_.labels.outer
        within_limits(rows, asked, len(labels))
        scheme = _scheme(labels)
        table = model._table(table_of(model, rows))
        chain = model.answering()
        wanted, known = asked.probabilities is not False, None
        if wanted and isinstance(chain, ChainModel):
            known = Decided.of(chain, table, model.threads)
        ids = chain.decode(table, model.threads) if known is None else known.ids
        tags = list(map(labels.__getitem__, ids.tolist()))
        if known is not None:
            p: NDArray[np.float32] | None = chain.labels.collapsed(known.p)
        else:
            p = marginals(model, table) if wanted else None
        sure = None if p is None else certainties(model, p, ids)
        bounds = table.ptr.tolist()
        own_tags = [tags[a:b] for a, b in pairwise(bounds)]
        if scheme is None:
            found = SpanArrays.of_lists([*map(_runs, own_tags)])
        else:
            found = span_arrays(ids, table.ptr, labels, scheme)
        scores: list[float | None] = [None] * len(found.begin)
        if sure is not None:
            scored = None
            if scheme in (BIO, BIOES, BILOU):
                scored = span_scores(model, table, found, scheme, known)
            scores = least_certainties(found, table.ptr, sure) if scored is None else scored
        kinds, begin, end = found.kind.tolist(), found.begin.tolist(), found.end.tolist()
        names = found.names
        made: list[Answer] = []
        ranges = zip(rows, pairwise(bounds), pairwise(found.ptr.tolist()), own_tags, strict=True)
        for row, (a, b), (first, last), own in ranges:
            certain = None if sure is None else sure[a:b]
            offsets = row.offsets
            made.append(
                {
                    "text": row.text,
                    "tokens": offsets,
                    "tags": own,
                    "spans": [
                        {
                            "start": offsets[begin[s]][0],
                            "end": offsets[end[s] - 1][1],
                            "label": names[kinds[s]],
                            "score": scores[s],
                        }
                        for s in range(first, last)
                    ],
                    "certainty": None if certain is None else min(certain, default=1.0),
                    "token_certainty": certain,
                    "pinned": False,
                }
            )
        if asked.probabilities and p is not None:
            shares = honest_marginals(model, p, ids).round(DIGITS).tolist()
            for answer, (a, b) in zip(made, pairwise(bounds), strict=True):
                answer["marginals"] = [dict(zip(labels, row, strict=True)) for row in shares[a:b]]
        if asked.kbest:
            for answer, best in zip(made, best_labellings(model, table, asked.kbest), strict=True):
                answer["kbest"] = best
        if model.rules_:
            for answer, turned in zip(made, without_rules(model, table, own_tags), strict=True):
                if turned is not None:
                    answer["ruled"] = turned
        return made

    def explained(self, model: Tagger, row: InputRow, position: int | None, instead: str | None) -> Answer:
        """Why a token got its tag; without a position, the least certain token."""
        words = len(row.words)
        if not 0 < words <= MOST_EXPLAINED:
            raise DataError(f"expected a text of 1 to {MOST_EXPLAINED:,} words to explain, got {words:,}")
        if position is not None and not 0 <= position < words:
            raise DataError(f"position must be from 0 to {words - 1}, the tokens of the text; got {position}")
        table = model._table(table_of(model, [row]))
        p, labels = marginals(model, table), model.model_.labels.outer
        ids = model.answering().decode(table, model.threads)
        if position is None:
            position = 0 if p is None else int(p[np.arange(words), ids].argmin())
        if instead is not None and instead not in labels:
            raise DataError(f"instead: there is no label {instead!r}; there are {', '.join(labels[:20])}")
        found = model.explanations(table, token=position, against=instead)[0]
        if not found.decisions:
            raise ConfigError("there is no decision to explain at this token")
        made = explained(found, found.decisions[0])
        try:
            best = best_labellings(model, table, EXPLAINED_BEST)[0]
        except ConfigError:  # a search that keeps one labelling
            best = best_labellings(model, table, 1)[0]
        return made | {
            "position": position,
            "marginals": None
            if p is None
            else dict(
                zip(labels, honest_marginals(model, p, ids)[position].round(DIGITS).tolist(), strict=True)
            ),
            "kbest": [{"label": one["tags"][position], **one} for one in best],
        }

    def plain(self, answer: list[str]) -> list[str]:
        """The tags."""
        return list(answer)

    def gold(self, answer: list[str]) -> Answer:
        """The tags."""
        return {"tags": list(answer)}

    def rules(self, model: Tagger) -> Answer:
        """The rules of the decoder."""
        return rules_as_data(model.rules_)

    def ruled(self, model: Tagger, rules: Mapping[str, Any]) -> Tagger:
        """Further rules for this request; must and forbid apply to its first sentence unless they name one."""
        if sum(map(len, rules.values())) > MOST_RULES:
            raise ConfigError(f"expected at most {MOST_RULES} rules in a request")
        given = {
            name: [{"sentence": 1, **one} if isinstance(one, dict) else one for one in ones]
            for name, ones in rules.items()
        }
        return model.with_rules([*model.rules_, *rules_of(given)])

    # -- corrections

    _transitions: _Transitions | None = None  # of the last chain that was corrected

    def _may_follow(self, model: Any, tags: Sequence[str]) -> bool:
        """Whether a chain allows these tags; False if they need a full check."""
        if not isinstance(model, ChainModel) or model.weights.order != 1:
            return False
        known = self._transitions
        if known is None or known.model is not model:
            self._transitions = known = _Transitions(model)
        return known.allow(tags)

    def correction(self, model: Tagger, row: InputRow, body: CorrectionBody) -> Answer:
        """A tag for each token."""
        if body.tags is None or body.label is not None or body.labels is not None:
            raise DataError("expected tags in the correction: one for each token")
        if len(body.tags) != len(row.words):
            raise DataError(
                f"expected a tag for each of the {len(row.words)} tokens of the text, got {len(body.tags)}"
            )
        if not row.words:
            raise DataError("expected a text with at least one token")
        if self._may_follow(model.model_, body.tags):
            return {"tags": list(body.tags)}
        known = scheme_of(model.model_.labels.outer)
        for t, tag in enumerate(body.tags):
            if not tag.strip() or tag != tag.strip():
                raise DataError(f"token {t}: expected a tag, got {tag!r}")
        if known is not None and scheme_of([*model.model_.labels.outer, *body.tags]) is None:
            raise DataError(
                f"expected tags in {known.name}, the scheme of this model, got {', '.join(body.tags)}"
            )
        _refuse_forbidden(model, body.tags, known)
        return {"tags": list(body.tags)}

    def pinned(self, row: InputRow, correction: Answer) -> Answer:
        """The corrected tags; a person's answer has no probability."""
        own = correction["tags"]
        scheme = scheme_of(own)
        found = spans(own, scheme) if scheme is not None else _runs(own)
        return {
            "text": row.text,
            "tokens": row.offsets,
            "tags": own,
            "spans": _in_characters(found, row, [None] * len(found)),
            "certainty": None,
            "token_certainty": None,
            "pinned": True,
        }

    def corrected_document(self, model: Tagger, row: InputRow, correction: Answer) -> Document:
        """Tokens with the columns of the training data and the corrected tags, and the spans that these mark."""
        words = zip(row.words, row.offsets, strict=True)
        cut = [Piece(word, start, end) for word, (start, end) in words]
        own = correction["tags"]
        scheme = scheme_of(own)
        marked = _runs(own) if scheme is None else spans(own, scheme)
        return Document(
            row.text,
            cut,
            {**further_columns(model, row), LABEL: list(own)},
            [Span(s.label, row.offsets[s.start][0], row.offsets[s.end - 1][1]) for s in marked],
        )

    # -- learning

    def learn(self, model: Tagger, lessons: Sequence[tuple[InputRow, Answer]]) -> None:
        """All corrections in one step."""
        rows = [{WORD: row.words, **further_columns(model, row)} for row, _ in lessons]
        table = TokenTable.from_lists({name: [row[name] for row in rows] for name in model.columns_})
        model.partial_fit(table, [answer["tags"] for _, answer in lessons])

    def can_learn(self, model: Tagger) -> str | None:
        """CRFs can, and models that have their training data."""
        if model._memory is not None or model._learnt is not None or model._trained_on is not None:
            return None
        recipe = model.recipes.by_config(model.config_)
        if (
            recipe.remember is not None
            and recipe.remember(model.model_, model.config_, model.seed) is not None
        ):
            return None
        return (
            f"this model of the recipe {recipe.name} cannot learn from corrections without its training data: "
            "start the server with --train FILE"
        )

    def untrained(self, model: Tagger) -> Tagger:
        """The same recipe, settings and templates."""
        templates = list(model.model_.packed().templates) or None
        return Tagger(model.config_, features=templates, seed=model.seed, threads=1)


@lru_cache(maxsize=64)
def _scheme(labels: tuple[str, ...]) -> Scheme | None:
    return scheme_of(labels)


def _refuse_forbidden(model: Tagger, tags: Sequence[str], scheme: Scheme | None) -> None:
    """Raise if the model forbids one of these tags at its place, so that it could never learn the correction."""
    chain = model.model_
    if scheme is None or not isinstance(chain, ChainModel) or chain.weights.order != 1:
        return
    outer, of, w = chain.labels.outer, chain.labels.outer_of, chain.weights
    inner = {tag: np.flatnonzero(of == outer.index(tag)) for tag in set(tags) if tag in outer}
    for fault in validate([tags], scheme):
        here, before = inner.get(tags[fault.token]), inner.get(tags[fault.token - 1]) if fault.token else None
        if here is None or (fault.token and before is None):
            allowed = False  # the label is new, so no training data begins its spans in this way
        else:
            scores = w.start[here] if before is None else w.pair[np.ix_(before, here)]
            allowed = bool(np.isfinite(scores).any())
        if not allowed:
            raise DataError(f"token {fault.token}: {fault.tag!r} {fault.why}")


# -- inputs ---------------------------------------------------------------------------------------------------------


def row_of_text(model: Tagger, text: str) -> InputRow:
    """A text, cut into words; DataError if the model reads further columns."""
    if model.model_.columns != (WORD,):
        raise DataError(
            f"this model reads the columns {', '.join(model.model_.columns)}, but a text has only words: send tokens, "
            f"each a list of {', '.join(model.columns_)}"
        )
    offsets = token_bounds(text)
    words = [text[a:b] for a, b in offsets]
    return InputRow(text, row_key(model, words, None), words, None, offsets)


def row_of_tokens(model: Tagger, sentence: Sequence[Token]) -> InputRow:
    """A sentence of words, or of lists of a word and its further columns."""
    width = len(model.columns_)
    columns: list[tuple[str, ...]] | None = None
    if all(isinstance(token, str) for token in sentence):
        if model.model_.columns != (WORD,):
            raise DataError(
                f"this model reads the columns {', '.join(model.model_.columns)}: send tokens as lists of "
                f"{', '.join(model.columns_)}"
            )
        words = [str(token) for token in sentence]
    else:
        for t, token in enumerate(sentence):
            if isinstance(token, str) or len(token) != width:
                raise DataError(f"token {t}: expected a list of {width} ({', '.join(model.columns_)})")
        columns = [tuple(token) for token in sentence]
        words = [cells[0] for cells in columns]
    offsets, start = [], 0
    for word in words:
        offsets.append((start, start + len(word)))
        start += len(word) + 1
    return InputRow(" ".join(words), row_key(model, words, columns), words, columns, offsets)


def row_key(model: Tagger, words: Sequence[str], columns: Sequence[tuple[str, ...]] | None) -> str:
    """A key of the columns that the model reads."""
    if columns is None or model.model_.columns == (WORD,):
        return "\x1e".join(words)
    return "\x1f".join("\x1e".join(cells) for cells in zip(*columns, strict=True))


def table_of(model: Tagger, rows: Sequence[InputRow]) -> TokenTable:
    """The token table that the model reads."""
    if model.model_.columns == (WORD,):
        return TokenTable.over_lists({WORD: [row.words for row in rows]})
    for row in rows:
        if row.columns is None:
            raise DataError(f"this model reads the columns {', '.join(model.model_.columns)}")
    names = model.columns_
    lists = {
        name: [[cells[c] for cells in row.columns or ()] for row in rows] for c, name in enumerate(names)
    }
    return TokenTable.over_lists(lists)


def further_columns(model: Tagger, row: InputRow) -> dict[str, list[str]]:
    """The columns of the training data beside the words; one that was not given is not read by any feature."""
    return {
        name: [NO_CELL] * len(row.words) if row.columns is None else [cells[c] for cells in row.columns]
        for c, name in enumerate(model.columns_)
        if name != WORD
    }


# -- spans ----------------------------------------------------------------------------------------------------------


def _runs(tags: Sequence[str]) -> list[TokenSpan]:
    """Runs of equal labels, except outside."""
    found: list[TokenSpan] = []
    for t, tag in enumerate(tags):
        if found and found[-1].end == t and found[-1].label == tag:
            found[-1] = TokenSpan(tag, found[-1].start, t + 1)
        elif tag != OUTSIDE:
            found.append(TokenSpan(tag, t, t + 1))
    return found


def _in_characters(found: Sequence[TokenSpan], row: InputRow, scores: Sequence[float | None]) -> list[Answer]:
    return [
        {"start": row.offsets[s.start][0], "end": row.offsets[s.end - 1][1], "label": s.label, "score": score}
        for s, score in zip(found, scores, strict=True)
    ]
