import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch.errors import ConfigError, DataError
from chaffinch.text.alignment import spans_of, tagged
from chaffinch.text.document import Document, Span
from chaffinch.text.tokens import tokens

TEXT = "Ada Lovelace met Charles."


def document(*spans: Span) -> Document:
    return Document(TEXT, tokens=tokens(TEXT), spans=list(spans))


def test_spans_on_token_borders_become_tags_and_come_back() -> None:
    given_spans = [Span("PER", 0, 12), Span("PER", 17, 24)]
    [made], misfits = tagged([document(*given_spans)], "BIO")
    assert made.columns["y"] == ["B-PER", "I-PER", "O", "B-PER", "O"]
    assert misfits == []
    assert spans_of(made, "BIO") == given_spans


@pytest.mark.parametrize(
    ("start", "end", "why", "widened"),
    [
        (1, 12, "starts within 'Ada'", (0, 12)),
        (0, 8, "ends within 'Lovelace'", (0, 12)),
        (0, 4, "ends after 'Ada', outside any token", (0, 3)),
        (3, 12, "starts before 'Lovelace', outside any token", (4, 12)),
        (5, 7, "starts within 'Lovelace'", (4, 12)),
        (3, 4, "touches no token", None),
        (4, 4, "is empty", None),
    ],
)
def test_a_span_off_the_borders_is_reported_and_treated_as_chosen(
    start: int, end: int, why: str, widened: tuple[int, int] | None
) -> None:
    rows = [document(Span("PER", 17, 24)), document(Span("PER", start, end))]
    with pytest.raises(
        DataError, match=rf"1 of 2 spans do not fit the tokens: row 2: PER {start}-{end} .* {why}"
    ):
        tagged(rows, "BIO")
    made, [misfit] = tagged(rows, "BIO", misaligned="drop")
    assert (misfit.row, misfit.why, misfit.remedy) == (1, why, "dropped")
    assert spans_of(made[1], "BIO") == []
    made, [misfit] = tagged(rows, "BIO", misaligned="widen")
    if widened is None:
        assert misfit.remedy == "dropped"
    else:
        assert misfit.remedy == f"widened to {widened[0]}-{widened[1]}"
        assert spans_of(made[1], "BIO") == [Span("PER", *widened)]


def test_spans_that_overlap_are_reported_and_dropped_only_when_asked() -> None:
    rows = [document(Span("PER", 0, 3), Span("NAME", 0, 12), Span("X", 17, 24))]
    with pytest.raises(
        DataError, match=r"1 of 3 spans are nested in others, .*: row 1: PER 0-3 'Ada' is nested in NAME"
    ):
        tagged(rows, "BIO")
    crossing = [document(Span("PER", 0, 12), Span("NAME", 4, 16), Span("X", 1, 3))]
    with pytest.raises(
        DataError, match=r"1 of 3 spans do not fit .*; 1 of 3 spans overlap others, .* NAME 4-16"
    ):
        tagged(crossing, "BIO")
    [made], [misfit] = tagged(rows, "BIO", overlapping="drop")
    assert misfit.span.label == "PER"
    assert made.columns["y"] == ["B-NAME", "I-NAME", "O", "B-X", "O"]


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(ConfigError, match="misaligned must be one of error, drop, widen"):
        tagged([document()], "BIO", misaligned="shrink")  # type: ignore[arg-type]


@given(st.text("ab .", max_size=12), st.data())
def test_no_span_is_lost_or_moved_without_a_word(text: str, data: st.DataObject) -> None:
    n = len(text)
    drawn = data.draw(
        st.lists(st.tuples(st.sampled_from("XY"), st.integers(0, n), st.integers(0, n)), max_size=4)
    )
    spans = [Span(label, min(a, b), max(a, b)) for label, a, b in drawn]
    rows = [Document(text, tokens=tokens(text), spans=spans)]
    [made], misfits = tagged(rows, "BIO", misaligned="drop", overlapping="drop")
    told = spans_of(made, "BIO") + [misfit.span for misfit in misfits]
    assert sorted(told, key=str) == sorted(spans, key=str)
