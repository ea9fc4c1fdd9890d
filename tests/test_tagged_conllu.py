"""A tagger's answer as CoNLL-U: ten columns, the labels where it learned them, and all else as it was."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaffinch import _core, corpus
from chaffinch.corpus import record_blocks
from chaffinch.corpus.splitter import RowRules, SentenceBlock, _column_text
from chaffinch.kinds.tags import kind
from commandline import Runner, run

__all__ = ["run"]

SENTENCE = """# sent_id = {n}
# source = letters
# text = She doesn't see {noun}.
1	She	she	PRON	PRP	Case=Nom	4	nsubj	_	_
2-3	doesn't	_	_	_	_	_	_	_	_
2	does	do	AUX	VBZ	Tense=Pres	4	aux	_	_
3	n't	not	PART	RB	_	4	advmod	_	_
4	see	see	VERB	VB	_	0	root	_	Mark=1
5	{noun}	{noun}	NOUN	NNS	Number=Plur	4	obj	_	SpaceAfter=No
6	.	.	PUNCT	.	_	4	punct	_	_

"""
FIELDS = {"upos": [3], "xpos": [4], "deprel": [7], "upos|feats": [3, 5]}


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.conllu"
    nouns = ("owls", "cats", "dogs", "jays")
    path.write_text("".join(SENTENCE.format(n=n, noun=noun) for n, noun in enumerate(nouns * 4)))
    return path


def trained(run: Runner, gold: Path, label: str) -> Path:
    model = gold.with_suffix(".chaff")
    outcome = run("train", gold, "-o", model, "--recipe", "hmm", "--label", label)
    assert outcome.code == 0, outcome.err
    return model


def blanked(text: str, fields: list[int]) -> str:
    """The same words with nothing known in some fields."""
    rows = [line.split("\t") for line in text.split("\n")]
    for row in rows:
        if len(row) == 10 and row[0].isdecimal():
            for i in fields:
                row[i] = "_"
    return "\n".join("\t".join(row) for row in rows)


@pytest.mark.parametrize("label", FIELDS)
def test_the_labels_stand_in_the_column_that_was_learned_and_all_else_is_untouched(
    label: str, gold: Path, run: Runner
) -> None:
    model, new, out = trained(run, gold, label), gold.with_name("new.conllu"), gold.with_name("out.conllu")
    new.write_text(blanked(gold.read_text(), FIELDS[label]))
    assert run("predict", model, new, "-o", out).code == 0
    assert out.read_text() == gold.read_text()
    scored = run("evaluate", gold, out, "--label", label)
    assert scored.code == 0, scored.err
    assert "1.0000" in scored.out


def test_the_round_trip_closes_through_convert_and_from_a_pipe(gold: Path, run: Runner) -> None:
    model, out, columns = (
        trained(run, gold, "xpos"),
        gold.with_name("out.conllu"),
        gold.with_name("out.conll"),
    )
    assert run("predict", model, "-", "-o", out, stdin=gold.read_bytes()).code == 0
    assert run("convert", out, columns, "--label", "xpos", "--columns", "lemma").code == 0
    assert next(d.columns["y"] for d in corpus.read(columns)) == ["PRP", "VBZ", "RB", "VB", "NNS", "."]


def test_the_last_column_of_a_column_file_is_what_was_learned_beside_its_gold(
    gold: Path, run: Runner
) -> None:
    model, out = trained(run, gold, "xpos"), gold.with_name("out.conll")
    assert run("predict", model, gold, "-o", out).code == 0
    assert all(
        line.split("\t")[-2:] in (["VB", "VB"], []) for line in out.read_text().split("\n") if "see" in line
    )
    assert "1.0000" in run("evaluate", out).out


def test_texts_become_sentences_with_their_spaces_and_sureness_goes_to_the_last_column(
    gold: Path, run: Runner
) -> None:
    model, out = trained(run, gold, "upos"), gold.with_name("out.conllu")
    gold.with_name("new.txt").write_text("She see owls.\n")
    assert run("predict", model, gold.with_name("new.txt"), "--marginals", "-o", out).code == 0
    (read,) = corpus.read(out)
    assert (read.text, read.columns["y"]) == ("She see owls.", ["PRON", "VERB", "NOUN", "PUNCT"])
    assert read.columns["misc"][2].startswith("SpaceAfter=No|Probability=")
    assert 0 < float(read.columns["misc"][0].removeprefix("Probability=")) <= 1


def test_sentences_in_columns_keep_what_conllu_has_a_place_for(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.conll").write_text("the\tDT\tB-NP\nowl\tNN\tI-NP\nsings\tVB\tO\n\n" * 9)
    run("train", tmp_path / "a.conll", "-o", tmp_path / "m.chaff", "--recipe", "hmm")
    outcome = run("predict", tmp_path / "m.chaff", tmp_path / "a.conll", "-o", tmp_path / "b.conllu")
    assert outcome.code == 0, outcome.err
    row = (tmp_path / "b.conllu").read_text().split("\n")[2].split("\t")
    assert row == ["2", "owl", "_", "I-NP", "NN", "_", "_", "_", "_", "_"]


@pytest.mark.parametrize("name", ["out.csv", "out.npz", "out.mrg", "out.ft"])
def test_a_name_under_which_tags_could_not_be_read_again_is_refused(
    name: str, gold: Path, run: Runner
) -> None:
    model, out = trained(run, gold, "upos"), gold.with_name(name)
    outcome = run("predict", model, gold, "-o", out)
    assert outcome.code == 2
    assert "cannot hold tags; name a file of columns" in outcome.err
    assert not out.exists()


def test_several_readings_do_not_fit_ten_columns(gold: Path, run: Runner) -> None:
    outcome = run("predict", trained(run, gold, "upos"), gold, "--kbest", 2, "-o", gold.with_name("o.conllu"))
    assert outcome.code == 2
    assert "--kbest gives columns" in outcome.err


@pytest.mark.parametrize("label", FIELDS)
@pytest.mark.parametrize("size", [1 << 20, 200])
def test_labels_put_into_the_text_are_those_written_from_documents(
    label: str, size: int, gold: Path, run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, out = trained(run, gold, label), gold.with_name("out.conllu")
    monkeypatch.setattr(record_blocks, "SIZE", size)
    made = []
    for put in (kind.relabel_conllu, lambda *_: False):
        monkeypatch.setattr(kind, "relabel_conllu", put)
        assert run("predict", model, gold, "-o", out).code == 0
        made.append(out.read_text())
    assert made[0] == made[1]


def test_what_is_no_label_keeps_its_bytes_and_sentences_of_two_files_stay_apart(
    gold: Path, run: Runner
) -> None:
    model, out = trained(run, gold, "xpos"), gold.with_name("out.conllu")
    one, other = gold.with_name("one.conllu"), gold.with_name("other.conllu")
    lines = SENTENCE.format(n=1, noun="owls").rstrip("\n").split("\n")
    moved = [
        lines[2],
        "#no space",
        lines[0],
        lines[1],
        *lines[3:7],
        "3.1\tx\t_\tX\tX\t_\t_\t_\t_\t_",
        *lines[7:],
    ]
    one.write_text("\n".join(moved))
    other.write_bytes("\r\n".join(lines).encode())
    assert run("predict", model, one, other, "-o", out).code == 0
    assert out.read_bytes() == one.read_bytes() + b"\n\n" + other.read_bytes() + b"\n\n"
    assert len(list(corpus.read(out))) == 2


LINE = st.sampled_from(
    [
        "# text",
        "",
        "1\ta\tb\tc",
        "12\tx\t\t",
        "1-2\tx\ty\tz",
        "1.1\tx\ty\tz",
        "3\tlonger than a word\té\t",
        "# a\tb\tc\td",
    ]
)


@given(
    st.lists(LINE, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from([(), (1,), (3,), (0, 2), (0, 1, 2, 3)]),
    st.lists(st.integers(0, 99), max_size=3),
)
def test_cells_are_replaced_as_line_by_line(lines, end, ended, places, cuts):
    text = end.join(lines) + (end if ended else "")
    rules = RowRules(columns=4, kept=(1,), word=1, comment="#", number_rows=True, marked=places, expected="")
    reader = _column_text(rules, 1)
    content = text.encode()
    bounds = [0, *sorted(min(at, len(content)) for at in cuts), len(content)]
    assert all(reader.feed(content[a:b]) for a, b in pairwise(bounds))  # in chunks of any size
    assert reader.finish()
    block = SentenceBlock(*reader.take())
    ids = (np.arange(block.ptr[-1]) % 2).astype(np.int32)
    cells = [[f"p{place}", ""] for place in places]
    expected, t = list(lines), 0
    for n, line in enumerate(lines):
        row = line.split("\t")
        if row[0].isdecimal():
            for place, own in zip(places, cells, strict=True):
                row[place] = own[ids[t]]
            expected[n], t = "\t".join(row), t + 1
    assert t == len(ids)
    made = _core.relabelled(content, block.places, cells, ids)
    assert made.decode() == end.join(expected) + (end if ended else "")


def test_places_of_sentences_that_are_read_in_blocks_follow_one_another():
    rules = RowRules(columns=2, kept=(0,), marked=(1,), expected="")
    content = b"a\tX\n\nb\tYY\nc\t\n\n"
    for cut in range(len(content)):
        reader, places = _column_text(rules, 1), []
        for part in (content[:cut], content[cut:]):
            assert reader.feed(part)
            places += SentenceBlock(*reader.take()).places.tolist()
        assert places == [2, 3, 7, 9, 12, 12]


@pytest.mark.parametrize(
    ("places", "cells", "ids", "told"),
    [
        ([1, 2], [], [0], "two places of every cell"),
        ([1], [["a"]], [0], "two places of every cell"),
        ([2, 1], [["a"]], [0], "ascending"),
        ([-1, 1], [["a"]], [0], "ascending"),
        ([1, 5], [["a"]], [0], "ascending"),
        ([1, 2], [["a"]], [1], "an id has no cell"),
        ([1, 2], [["a"]], [-1], "an id has no cell"),
    ],
)
def test_wrong_cells_are_refused(places, cells, ids, told):
    with pytest.raises(ValueError, match=told):
        _core.relabelled(b"1\tx\n", np.array(places, np.int64), cells, np.array(ids, np.int32))


@pytest.mark.parametrize("first", ["# sent_id = 1\n", ""])
def test_a_byte_order_mark_stays_before_a_comment_alone(first: str, gold: Path, run: Runner) -> None:
    model, new, out = trained(run, gold, "upos"), gold.with_name("new.conllu"), gold.with_name("out.conllu")
    rows = SENTENCE[SENTENCE.index("1\t") :].format(noun="owls")
    new.write_bytes(b"\xef\xbb\xbf" + (first + rows).encode())
    assert run("predict", model, new, "-o", out).code == 0
    mark = b"\xef\xbb\xbf" if first else b""
    text = "" if first else "# text = She doesn't see owls.\n"
    assert out.read_bytes() == mark + (first + text + rows).encode()
