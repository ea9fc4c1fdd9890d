"""chaffinch convert: between all formats that can carry the content, with a report of what cannot."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaffinch import corpus
from chaffinch.corpus.conversion import convert
from chaffinch.errors import ConfigError, DataError
from chaffinch.kinds import KINDS
from chaffinch.kinds.kind import Kind
from chaffinch.text.document import Document, Span
from commandline import Runner, run
from documents import spanned, trees, words

__all__ = ["run"]

few = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NER = "Ann\tNNP\tB-PER\nLee\tNNP\tI-PER\nleft\tVBD\tO\nOslo\tNNP\tB-LOC\n\nIt\tPRP\tO\nrained\tVBD\tO\n\n"


@pytest.fixture
def ner(tmp_path: Path) -> Path:
    path = tmp_path / "ner.conll"
    path.write_text(NER)
    return path


def losses(outcome_err: str) -> list[str]:
    return [line.strip() for line in outcome_err.splitlines()[1:]]


def test_rows_become_json_lines_and_back_without_loss(tmp_path: Path, run: Runner) -> None:
    rows = 'label,text,source\ngood,"crisp, and\nsweet",a\nbad,"he said ""no""",b\n'
    (tmp_path / "a.csv").write_text(rows)
    there = run("convert", tmp_path / "a.csv", tmp_path / "b.jsonl.gz")
    assert (there.code, there.err) == (0, "2 documents: csv to jsonl\n")
    back = run("convert", tmp_path / "b.jsonl.gz", tmp_path / "c.csv")
    assert (back.code, losses(back.err)) == (0, [])
    assert (tmp_path / "c.csv").read_text() == rows


def test_columns_are_mapped_by_name(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.tsv").write_text("stars\tbody\n5\tfine\n")
    outcome = run(
        "convert", tmp_path / "a.tsv", "-", "--to", "fasttext", "--text", "body", "--label", "stars"
    )
    assert (outcome.code, outcome.out) == (0, "__label__5 fine\n")


def test_several_labels_in_a_cell_need_a_separator(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.ft").write_text("__label__x __label__y fine\n")
    refused = run("convert", tmp_path / "a.ft", tmp_path / "b.csv")
    assert refused.code == 2
    assert "--label-separator" in refused.err
    assert not (tmp_path / "b.csv").exists()
    assert run("convert", tmp_path / "a.ft", tmp_path / "b.csv", "--label-separator", "|").code == 0
    assert (tmp_path / "b.csv").read_text() == "label,text\nx|y,fine\n"


def test_tags_become_spans_and_lost_columns_are_named(ner: Path, run: Runner) -> None:
    outcome = run("convert", ner, "-", "--to", "jsonl-spans")
    assert outcome.code == 0
    first, second = map(json.loads, outcome.out.splitlines())
    assert first["text"] == "Ann Lee left Oslo"
    assert first["spans"] == [
        {"start": 0, "end": 7, "label": "PER"},
        {"start": 13, "end": 17, "label": "LOC"},
    ]
    assert second["spans"] == []
    assert losses(outcome.err) == ["column pos is not carried by jsonl-spans, documents: 2"]


def test_a_shared_extension_is_settled_by_the_content(ner: Path, tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.csv").write_text("label,text\nx,fine\n")
    (tmp_path / "a.mrg").write_text("(S (N a))\n")
    for source, target, to in (
        (ner, "1.jsonl", "jsonl-spans"),
        (ner, "2.tsv", "columns"),
        (tmp_path / "a.csv", "3.jsonl", "jsonl"),
        (tmp_path / "a.csv", "4.tsv", "tsv"),
        (tmp_path / "a.csv", "5.txt", "fasttext"),
        (tmp_path / "a.mrg", "6.tsv", "brackets-tsv"),
        (tmp_path / "a.mrg", "7.txt", "brackets"),
    ):
        outcome = run("convert", source, tmp_path / target, "--json")
        assert json.loads(outcome.out)["to"] == to
        assert corpus.detect(tmp_path / target).name == to


def test_text_that_was_tokenised_before_is_cut_at_spaces_when_asked(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"text": "Sly- left .", "spans": [{"start": 0, "end": 4, "label": "PER"}]}\n'
    )
    outcome = run("convert", tmp_path / "a.jsonl", "-", "--to", "columns", "--tokeniser", "spaces")
    assert (outcome.out, losses(outcome.err)) == ("Sly-\tB-PER\nleft\tO\n.\tO\n\n", [])


def test_tags_that_break_their_scheme_are_counted(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.conll").write_text("a O\nb B-X\nc I-X\n\nd I-X\ne O\nf B-X\ng O\nh B-X\n\n")
    outcome = run("convert", tmp_path / "a.conll", "-", "--to", "jsonl-spans")
    assert outcome.code == 0
    assert losses(outcome.err) == [
        "tags that BIO does not allow were read as the start of a span: 1 (first at sentence 2)"
    ]


def test_spans_become_tags_of_the_tokenised_text(tmp_path: Path, run: Runner) -> None:
    spans = [{"start": 0, "end": 7, "label": "PER"}, {"start": 14, "end": 18, "label": "LOC"}]
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "Ann Lee left (Oslo).", "spans": spans}) + "\n")
    outcome = run("convert", tmp_path / "a.jsonl", "-", "--to", "columns", "--scheme", "bioes")
    assert outcome.code == 0
    assert outcome.out == "Ann\tB-PER\nLee\tE-PER\nleft\tO\n(\tO\nOslo\tS-LOC\n)\tO\n.\tO\n\n"
    assert losses(outcome.err) == [
        "spacing between the tokens is not carried by columns, documents: 1 (first at document 1)"
    ]


def test_spans_that_do_not_fit_are_counted_and_treated_as_chosen(tmp_path: Path, run: Runner) -> None:
    lines = ['{"text": "Annie left", "spans": [{"start": 0, "end": 3, "label": "PER"}]}'] * 2
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    refused = run("convert", tmp_path / "a.jsonl", tmp_path / "b.conll")
    assert refused.code == 2
    assert "2 of 2 spans do not fit the tokens: row 1: PER 0-3 'Ann' ends within 'Annie'" in refused.err
    assert not (tmp_path / "b.conll").exists()
    for choice, tags, done in (("drop", "OO", "dropped"), ("widen", "BO", "widened to whole tokens")):
        outcome = run(
            "convert", tmp_path / "a.jsonl", tmp_path / "b.conll", "--misaligned", choice, "--force"
        )
        assert outcome.code == 0
        assert f"spans that do not fit the tokens were {done}: 2" in outcome.err
        assert (
            "".join(d.columns["y"][0][0] + d.columns["y"][1][0] for d in corpus.read(tmp_path / "b.conll"))
            == tags * 2
        )


def test_overlapping_spans_are_counted(tmp_path: Path, run: Runner) -> None:
    spans = [{"start": s, "end": e, "label": "X"} for s, e in ((0, 3), (0, 5), (4, 5), (2, 3))]
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "a b c", "spans": spans}) + "\n")
    outcome = run("convert", tmp_path / "a.jsonl", "-", "--to", "columns")
    assert outcome.out == "a\tB-X\nb\tI-X\nc\tI-X\n\n"
    assert "spans: not representable as BIO tags because they are nested in others: 3" in outcome.err
    crossing = [{"start": s, "end": e, "label": "X"} for s, e in ((0, 3), (2, 5))]
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": "a b c", "spans": crossing}) + "\n")
    outcome = run("convert", tmp_path / "b.jsonl", "-", "--to", "columns")
    assert "spans: not representable as BIO tags because they overlap: 1" in outcome.err


def test_tags_are_spelled_in_the_scheme_asked_for(ner: Path, run: Runner) -> None:
    outcome = run("convert", ner, "-", "--to", "columns", "--scheme", "bilou")
    assert outcome.out == NER.replace("I-PER", "L-PER").replace("B-LOC", "U-LOC")
    for wrong in (["--scheme", "x", "--to", "columns"], ["--scheme", "bio", "--to", "jsonl-spans"]):
        assert run("convert", ner, "-", *wrong).code == 2


def test_trees_to_labelled_texts_are_refused_with_the_formats_that_could(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.mrg").write_text("(S (NP (NNP Ann)) (VP (VBD left)))\n")
    outcome = run("convert", tmp_path / "a.mrg", tmp_path / "b.ft")
    assert outcome.code == 2
    said, _, able = outcome.err.partition("; formats that can: ")
    trees = f"{tmp_path / 'a.mrg'} has trees and columns of tokens"
    assert said == f"chaffinch: {trees}, of which fasttext can carry nothing"
    assert {"brackets", "brackets-tsv", "columns", "conllu", "datasets"} <= {*able.strip().split(", ")}
    assert "fasttext" not in able
    assert not (tmp_path / "b.ft").exists()


def test_trees_to_columns_keep_the_tags_and_say_that_the_trees_are_gone(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.mrg").write_text("(S (NP-SBJ (NNP Ann)) (VP (VBD left) (NP (-NONE- *))))\n")
    outcome = run("convert", tmp_path / "a.mrg", "-", "--to", "columns", "--strip")
    assert outcome.out == "Ann\tNNP\nleft\tVBD\n\n"
    assert losses(outcome.err) == ["trees are not carried by columns: 1"]


@pytest.mark.parametrize(("target", "missing"), [("brackets", "trees"), ("alignment", "word links")])
def test_a_format_that_needs_what_is_not_there_is_refused(
    target: str, missing: str, ner: Path, run: Runner
) -> None:
    outcome = run("convert", ner, "-", "--to", target)
    assert outcome.code == 2
    assert f"{target} holds {missing}" in outcome.err


def test_labels_to_columns_are_refused(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.csv").write_text("label,text\nx,fine\n")
    outcome = run("convert", tmp_path / "a.csv", "-", "--to", "columns")
    assert outcome.code == 2
    assert "has labels of documents, of which columns can carry nothing" in outcome.err


def test_the_report_is_json_when_asked_for(ner: Path, tmp_path: Path, run: Runner) -> None:
    outcome = run("convert", ner, tmp_path / "b.json", "--to", "label-studio", "--json")
    assert json.loads(outcome.out) == {
        "from": "columns",
        "to": "label-studio",
        "documents": 2,
        "losses": [
            {"what": "column pos is not carried by label-studio, documents", "count": 2, "first": None}
        ],
        "output": str(tmp_path / "b.json"),
    }
    assert run("convert", ner, "-", "--to", "jsonl-spans", "--json").code == 2


def test_an_existing_target_is_replaced_only_by_force(ner: Path, tmp_path: Path, run: Runner) -> None:
    target = tmp_path / "b.jsonl"
    target.write_text("mine\n")
    outcome = run("convert", ner, target)
    assert (outcome.code, target.read_text()) == (2, "mine\n")
    assert "--force" in outcome.err
    assert run("convert", ner, target, "--force").code == 0
    assert target.read_text().startswith('{"text"')


def test_nothing_reaches_standard_output_when_a_later_line_is_bad(run: Runner) -> None:
    outcome = run(
        "convert", "-", "-", "--from", "jsonl", "--to", "csv", stdin=b'{"text": "a"}\n' * 9 + b"{\n"
    )
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("chaffinch: <stdin>:10: is not valid JSON")


def test_standard_input_is_recognised_and_converted(run: Runner) -> None:
    outcome = run("convert", "-", "-", "--to", "fasttext", stdin=b"label,text\nx,fine\n")
    assert (outcome.code, outcome.out) == (0, "__label__x fine\n")


def test_an_option_that_the_reader_does_not_take_is_refused(ner: Path, run: Runner) -> None:
    outcome = run("convert", ner, "-", "--to", "jsonl-spans", "--offsets", "utf-16")
    assert outcome.code == 2
    assert "reading columns takes no option 'offsets'" in outcome.err


def test_predictions_carry_the_score_that_label_studio_sorts_by(tmp_path: Path) -> None:
    d = Document("Ann left Oslo", spans=[Span("PER", 0, 3, 0.9), Span("LOC", 9, 13, 0.4)])
    corpus.write([d], tmp_path / "a.json", "label-studio")
    [task] = json.loads((tmp_path / "a.json").read_text())
    assert task["predictions"][0]["score"] == 0.4
    assert [r["score"] for r in task["predictions"][0]["result"]] == [0.9, 0.4]
    assert "annotations" not in task


def test_prodigy_tasks_offer_every_label_of_the_corpus(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.csv").write_text("label,text\nx,a\ny,b\n")
    outcome = run("convert", tmp_path / "a.csv", "-", "--to", "prodigy")
    tasks = [json.loads(line) for line in outcome.out.splitlines()]
    assert [t["accept"] for t in tasks] == [["x"], ["y"]]
    assert all([o["id"] for o in t["options"]] == ["x", "y"] for t in tasks)


def test_rejected_and_ignored_tasks_are_counted(tmp_path: Path, run: Runner) -> None:
    tasks = [
        {"text": "a", "label": "X", "answer": answer} for answer in ("accept", "reject", "ignore", "reject")
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(t) + "\n" for t in tasks))
    outcome = run("convert", tmp_path / "a.jsonl", "-", "--to", "jsonl")
    assert outcome.out == '{"text": "a", "label": "X"}\n'
    assert f"tasks answered reject are left out: 2 (first at {tmp_path / 'a.jsonl'}:2)" in outcome.err


def test_links_outside_are_dropped_by_choice_and_counted(tmp_path: Path, run: Runner) -> None:
    (tmp_path / "a.tsv").write_text("english\tczech\tsure\tpossible\na b\tc\t1-1 2-9\t\n")
    outcome = run("convert", tmp_path / "a.tsv", "-", "--to", "alignment", "--out-of-range", "drop")
    assert outcome.out == "source\ttarget\tsure\tpossible\na b\tc\t1-1\t\n"
    assert "links outside their sentences were left out: 1" in outcome.err


@few
@given(
    document=spanned(text=st.lists(words, min_size=1, max_size=5).map(" ".join)),
    between=st.sampled_from(["doccano", "label-studio", "prodigy", "parquet", "brat"]),
)
def test_spans_come_back_from_a_conversion_there_and_back(
    document: Document, between: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("spans")
    document.id = "d"
    corpus.write([document], folder / "a.jsonl", "jsonl-spans")
    convert(folder / "a.jsonl", folder / "b", from_format="jsonl-spans", to_format=between)
    convert(folder / "b", folder / "c.jsonl", from_format=between, to_format="jsonl-spans")
    assert (folder / "c.jsonl").read_bytes() == (folder / "a.jsonl").read_bytes()


@few
@given(
    tags=st.lists(st.lists(st.sampled_from(["X", "Y", ""]), min_size=1, max_size=6), min_size=1, max_size=3),
    between=st.sampled_from(["jsonl-spans", "doccano", "label-studio", "prodigy", "parquet", "brat"]),
)
def test_tagged_words_come_back_from_every_format_of_spans(
    tags: list[list[str]], between: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("tags")
    documents = [
        Document.from_words([f"w{t}" for t in range(len(ys))], y=[f"B-{y}" if y else "O" for y in ys])
        for ys in tags
    ]
    corpus.write(documents, folder / "a.conll", "columns")
    there = convert(folder / "a.conll", folder / "b", to_format=between)
    assert there.losses == []
    spans = any(y for ys in tags for y in ys)
    if spans:
        back = convert(folder / "b", folder / "c.conll", from_format=between)
        assert back.losses == [] or between == "brat"
        assert (folder / "c.conll").read_text().replace("-DOCSTART-", "") == (folder / "a.conll").read_text()


@few
@given(drawn=st.lists(trees, min_size=1, max_size=3))
def test_trees_come_back_from_a_table(drawn: list, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("trees")
    documents = [Document("", tree=tree) for tree in drawn]
    corpus.write(documents, folder / "a.mrg", "brackets")
    convert(folder / "a.mrg", folder / "b.tsv")
    assert (folder / "b.tsv").read_text().startswith("file\ttree\n")
    convert(folder / "b.tsv", folder / "c.mrg")
    assert (folder / "c.mrg").read_bytes() == (folder / "a.mrg").read_bytes()


def test_a_folder_of_brat_documents_is_recognised_and_replaced_only_whole(
    tmp_path: Path, run: Runner
) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"id": "x", "text": "Ann left", "spans": [{"start": 0, "end": 3, "label": "PER"}]}\n'
    )
    assert run("convert", tmp_path / "a.jsonl", tmp_path / "notes", "--to", "brat").code == 0
    assert (tmp_path / "notes" / "x.ann").read_text() == "T1\tPER 0 3\tAnn\n"
    assert run("convert", tmp_path / "notes", tmp_path / "b.jsonl").code == 0
    assert (tmp_path / "b.jsonl").read_text() == (tmp_path / "a.jsonl").read_text()
    (tmp_path / "notes" / "thesis.doc").write_text("")
    refused = run("convert", tmp_path / "a.jsonl", tmp_path / "notes", "--to", "brat", "--force")
    assert refused.code == 2
    assert "thesis.doc" in refused.err
    (tmp_path / "notes" / "thesis.doc").unlink()
    assert run("convert", tmp_path / "a.jsonl", tmp_path / "notes", "--to", "brat", "--force").code == 0


def test_a_large_file_is_streamed(tmp_path: Path) -> None:
    """Peak memory is that of the process, not of the 40 MB corpus."""
    line = json.dumps({"text": "crisp and sweet " * 250, "label": "good"}) + "\n"
    with (tmp_path / "a.jsonl").open("w") as f:
        f.writelines(line * 1000 for _ in range(10))
    code = (
        "import resource, sys; from chaffinch.corpus.conversion import convert; "
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; convert(sys.argv[1], sys.argv[2]); "
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.jsonl"), str(tmp_path / "b.csv")]
    grown = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown < 15


def test_the_documentation_lists_every_format_with_its_extensions() -> None:
    text = (Path(__file__).parents[1] / "docs" / "formats.md").read_text()
    listed = {row.split("`")[1]: row.split("|")[2] for row in text.splitlines() if row.startswith("| `")}
    assert set(listed) == set(corpus.FORMATS)
    for name, extensions in listed.items():
        assert {e for e in extensions.replace(",", "").split() if e[0] in "._"} == set(
            corpus.FORMATS[name].extensions
        )


def test_misspelled_choices_are_refused(ner: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="misaligned must be one of"):
        convert(ner, tmp_path / "a.jsonl", misaligned="guess")  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "content"), [("a.csv", "text,label\n"), ("a.jsonl", "\n\n")])
def test_a_source_without_documents_is_refused_since_nothing_could_be_read_again(
    name: str, content: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=rf"{name}: has no document"):
        convert(tmp_path / name, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.detected], ids=lambda kind: kind.plural)
def test_files_of_a_kind_that_are_no_corpora_are_refused_by_that_name(
    tmp_path: Path, kind: Kind, run: Runner
) -> None:
    found = run("convert", kind.write_example(tmp_path), tmp_path / "out.jsonl")
    assert f"holds {kind.plural}, which no format of a corpus has" in found.err
    assert not (tmp_path / "out.jsonl").exists()
