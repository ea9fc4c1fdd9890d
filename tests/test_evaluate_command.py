"""chaffinch evaluate: files in, tables, JSON and a page out; what does not fit is said with its line."""

import gzip
import json
import random
import re
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from chaffinch.cli import app
from chaffinch.errors import ConfigError, DataError
from chaffinch.evaluate import evaluate_files, score_tags
from chaffinch.evaluate.reliability import error_by_chance, reliability


def run(*arguments):
    """Standard output of the command; errors are raised."""
    result = CliRunner().invoke(app, ["evaluate", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


GOLD = [["B-NP", "I-NP", "O"], ["B-VP", "O"], ["B-NP", "B-NP"]]
FOUND = [["B-NP", "O", "O"], ["B-VP", "O"], ["B-NP", "I-NP"]]
WORDS = [["the", "finch", "sings"], ["it", "<flew>"], ["far", "away"]]


def column_file(path, *columns):
    rows = ("\n".join(map(" ".join, zip(*sentence, strict=True))) for sentence in zip(*columns, strict=True))
    path.write_text("\n\n".join(rows) + "\n\n")
    return path


@pytest.fixture
def files(tmp_path):
    return column_file(tmp_path / "gold.conll", WORDS, GOLD), column_file(
        tmp_path / "out.conll", WORDS, FOUND
    )


def test_json_has_every_score_under_its_key(files):
    found = json.loads(run(*files, "--json"))
    expected = score_tags(GOLD, FOUND).as_dict()
    assert {key: found[key] for key in expected} == expected
    assert found["task"] == "tags"
    assert found["convention"] == "conlleval"
    low, high = found["intervals"]["span.micro.f1"]
    assert low <= found["span.micro.f1"] <= high


def test_one_file_may_hold_gold_and_prediction(files, tmp_path):
    both = column_file(tmp_path / "both.conll", WORDS, GOLD, FOUND)
    one, two = json.loads(run(both, "--json")), json.loads(run(*files, "--json"))
    assert one["span.micro.f1"] == two["span.micro.f1"]
    with pytest.raises(DataError, match="has one column of tags; a single file needs two"):
        run(files[0])


def test_an_output_may_have_another_layout_than_gold(files, tmp_path):
    out = tmp_path / "out.predicted"
    out.write_text(files[1].read_text().replace(" ", "\tX\t"))
    assert json.loads(run(files[0], out, "--json"))["span.micro.f1"] == score_tags(GOLD, FOUND).span.micro.f1


def test_the_same_seed_gives_the_same_intervals(files):
    assert run(*files, "--json", "--seed", 3) == run(*files, "--json", "--seed", 3)


def test_text_names_the_convention_and_shows_the_scores(files):
    shown = run(*files, "--convention", "seqeval-strict")
    assert "spans by seqeval-strict (IOB2)" in shown
    assert re.search(r"span F1 +0\.2857", shown)
    assert re.search(r"NP +0\.0000", shown)


def test_two_outputs_are_compared(files):
    gold, out = files
    found = json.loads(run(gold, out, "--against", gold, "--json"))
    c = found["comparison"]["span.micro.f1"]
    assert (c["other"], found["against"]) == (1.0, str(gold))
    assert c["difference"] == pytest.approx(found["span.micro.f1"] - 1.0)
    assert "do not differ significantly" in run(gold, out, "--against", out)


def test_unseen_words_are_scored_apart(files, tmp_path):
    train = column_file(tmp_path / "train.conll", WORDS[:1], GOLD[:1])
    found = json.loads(run(*files, "--train", train, "--json"))
    assert (found["seen.tokens"], found["unseen.tokens"]) == (3, 4)
    assert found["seen.token_accuracy"] == pytest.approx(2 / 3)
    assert found["unseen.token_accuracy"] == pytest.approx(3 / 4)


class Checker(HTMLParser):
    """Elements open and close in order; nothing is fetched."""

    void = frozenset({"meta", "br", "link", "img"})

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        assert not any(name in ("src", "onclick") for name, _ in attrs)
        assert all(value.startswith("#") for name, value in attrs if name == "href")
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_escaped_and_needs_no_network(files, tmp_path):
    page = tmp_path / "report.html"
    run(*files, "--against", files[0], "--train", files[0], "--html", page)
    text = page.read_text()
    checker = Checker()
    checker.feed(text)
    assert not checker.open
    assert checker.seen.count("svg") == 3
    assert "script" not in checker.seen
    assert "&lt;flew&gt;" in text or "<flew>" not in text
    for heading in ("Scores", "By type", "Confusions", "Examples of errors", "Seen and unseen words"):
        assert f"<h2>{heading}</h2>" in text


def test_tags_that_mark_no_spans_are_shown_by_tag(tmp_path):
    words, gold, found = [["a", "b"]], [["DT", "NN"]], [["DT", "VB"]]
    paths = column_file(tmp_path / "g.conll", words, gold), column_file(tmp_path / "p.conll", words, found)
    page = tmp_path / "report.html"
    shown = run(*paths, "--html", page)
    assert "span" not in shown
    assert re.search(r"NN +0\.0000 +0\.0000", shown)
    assert "NN taken for VB" in page.read_text()


def test_documents_are_scored_from_labels_or_a_prediction_column(tmp_path):
    gold, out, both = (tmp_path / name for name in ("gold.csv", "out.csv", "both.csv"))
    gold.write_text("text,label\none,a\ntwo,b\nthree,b\n")
    out.write_text("text,label\none,a\ntwo,a\nthree,b\n")
    both.write_text("text,label,prediction\none,a,a\ntwo,b,a\nthree,b,b\n")
    page = tmp_path / "report.html"
    two, one = json.loads(run(gold, out, "--json", "--html", page)), json.loads(run(both, "--json"))
    assert two["accuracy"] == one["accuracy"] == pytest.approx(2 / 3)
    assert two["task"] == "documents"
    assert two["label.b.recall"] == 0.5
    assert "Most confused pairs" in page.read_text()
    Checker().feed(page.read_text())


def test_a_table_without_a_known_column_of_labels_has_its_columns_named(tmp_path):
    (tmp_path / "gold.csv").write_text("text,coarse,fine\nhow far,NUM,NUM:dist\n")
    (tmp_path / "out.csv").write_text("text,coarse,prediction\nhow far,NUM,NUM\n")
    with pytest.raises(DataError, match="columns coarse, fine has the labels, name it with --label"):
        evaluate_files(tmp_path / "gold.csv", tmp_path / "out.csv")
    assert evaluate_files(tmp_path / "gold.csv", tmp_path / "out.csv", label="coarse").scores.accuracy == 1.0


def test_predictions_that_are_no_gold_label_are_said(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("label,group,text,prediction\n0,space,a rocket,space\n1,hockey,a puck,hockey\n")
    with pytest.warns(
        UserWarning, match="no prediction is a gold label: gold has 0, 1, the output hockey, space"
    ):
        evaluate_files(path)
    assert evaluate_files(path, label="group").scores.accuracy == 1.0


def test_trees_are_scored_by_brackets(tmp_path):
    gold, out = tmp_path / "gold.mrg", tmp_path / "out.mrg"
    gold.write_text("(S (NP (DT the) (NN finch)) (VP (VBZ sings)) (. .))\n")
    out.write_text("(S (NP (DT the)) (VP (NN finch) (VBZ sings)) (. .))\n")
    found = json.loads(run(gold, out, "--format", "brackets", "--json"))
    assert (found["task"], found["bracket.gold"], found["bracket.correct"]) == ("trees", 3, 1)
    assert "brackets by evalb" in run(gold, out, "--format", "brackets")
    third = tmp_path / "third.mrg"
    third.write_text("(S (NP (DT the) (NN finch)) (QP (VBZ sings)) (. .))\n")
    found = json.loads(run(gold, out, "--against", third, "--format", "brackets", "--json"))
    assert found["comparison"]["bracket.f1"]["other"] == pytest.approx(2 / 3)


def test_links_are_scored_by_error_rate(tmp_path):
    head = "source\ttarget\tsure\tpossible\n"
    gold, out = tmp_path / "gold.tsv", tmp_path / "out.tsv"
    gold.write_text(head + "the house\tla maison\t1-1 2-2\t1-2\n")
    out.write_text(head + "the house\tla maison\t1-1 1-2\t\n")
    found = json.loads(run(gold, out, "--json", "--format", "alignment"))
    assert found["task"] == "links"
    assert found["aer"] == pytest.approx(1 - (1 + 2) / (2 + 2))


def test_spans_in_running_text_are_scored(tmp_path):
    gold, out = tmp_path / "gold.jsonl", tmp_path / "out.jsonl"
    gold.write_text('{"text": "Ann left Oslo", "spans": [{"start": 0, "end": 3, "label": "PER"}]}\n')
    out.write_text('{"text": "Ann left Oslo", "spans": [{"start": 0, "end": 3, "label": "LOC"}]}\n')
    found = json.loads(run(gold, out, "--json"))
    assert (found["task"], found["span.micro.f1"], found["untyped.f1"]) == ("spans", 0.0, 1.0)


OTHER_WORDS = {
    r"out.conll:6: the word is 'left', but '<flew>' at .*gold.conll:6": [WORDS[0], ["it", "left"], WORDS[2]],
    r"out.conll:1: sentence 1 has 2 tokens, but 3 at .*gold.conll:1": [["the", "finch"], *WORDS[1:]],
    r"gold.conll:8: sentence 3 begins here, but .*out.conll ends after 2": WORDS[:2],
}


@pytest.mark.parametrize("message", OTHER_WORDS)
def test_files_about_other_words_are_refused_with_the_line(files, message):
    words = OTHER_WORDS[message]
    column_file(files[1], words, [["O"] * len(row) for row in words])
    with pytest.raises(DataError, match=message):
        run(*files)


def test_documents_that_do_not_fit_are_refused_with_the_line(tmp_path):
    gold, out = tmp_path / "gold.csv", tmp_path / "out.csv"
    gold.write_text('text,label\n"one\nor two",a\ntwo,b\n')
    out.write_text('text,label\n"one\nor two",a\nthree,b\n')
    with pytest.raises(
        DataError, match=r"out.csv:4: the text differs from .*gold.csv:4: 'three', expected 'two'"
    ):
        run(gold, out)
    out.write_text('text,label\n"one\nor two",a\n')
    with pytest.raises(DataError, match=r"gold.csv:4: item 2 begins here, but .*out.csv ends after 1"):
        run(gold, out)
    out.write_text('text,label\n"one\nor two",a\ntwo,\n')
    with pytest.raises(DataError, match=r"out.csv:4: expected one label, found 0"):
        run(gold, out)


def test_bad_settings_are_refused_and_nothing_is_written(files, tmp_path):
    page = tmp_path / "report.html"
    with pytest.raises(ConfigError, match="unknown convention"):
        run(*files, "--convention", "x", "--html", page)
    with pytest.raises(ConfigError, match="between 0 and 100"):
        run(*files, "--interval", 0, "--html", page)
    with pytest.raises(ConfigError, match="a scheme applies only to seqeval-strict"):
        run(*files, "--convention", "seqeval", "--scheme", "IOB2", "--html", page)
    assert not page.exists()


def test_gold_scored_against_itself_is_perfect_on_real_data(data):
    folder = data / "sutd_hmm_2020"
    for name, spans in (("EN", 13179), ("SG", 4301)):
        gold = folder / name / "dev.out"
        found = evaluate_files(gold, gold, convention="hmm-project").as_dict()
        assert (found["span.micro.f1"], found["untyped.f1"], found["token_accuracy"]) == (1.0, 1.0, 1.0)
        assert found["span.micro.gold"] == spans


def test_real_trees_and_links_scored_against_themselves_are_perfect(data, tmp_path):
    trees = tmp_path / "trees.tsv"
    with gzip.open(data / "ptb_sample" / "trees.tsv.gz", "rt") as rows:
        trees.write_text("".join(islice(rows, 301)))
    found = evaluate_files(trees, trees).as_dict()
    assert (found["trees"], found["bracket.f1"], found["exact_match"]) == (300, 1.0, 1.0)
    links = data / "word_alignment" / "hansards_test_en_fr.tsv"
    found = evaluate_files(links, links).as_dict()
    assert (found["pairs"], found["sure"], found["aer"]) == (447, 4038, 0.0)


def test_every_key_is_documented():
    documented = (Path(__file__).parents[1] / "docs" / "scores.md").read_text()
    rng = random.Random(1)
    tags = ["O", "B-NP", "I-NP"]
    rows = [[rng.choice(tags) for _ in range(5)] for _ in range(5)]
    for key in score_tags(rows, rows).as_dict():
        name = key.replace(".NP.", ".TYPE.")
        prefix, _, rate = name.rpartition(".")
        assert f"`{name}`" in documented or (f"`{prefix}.*`" in documented and f"`{rate}`" in documented), key


def test_tags_beside_spans_are_told_apart_and_the_way_to_one_format_is_named(tmp_path, files):
    (tmp_path / "gold.jsonl").write_text(
        '{"text": "the finch sings", "spans": [{"start": 0, "end": 9, "label": "NP"}]}\n'
    )
    with pytest.raises(
        DataError, match=r"out.conll: has tags .* chaffinch convert .*out.conll OUT --to jsonl-spans"
    ):
        evaluate_files(tmp_path / "gold.jsonl", files[1])


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.jsonl", '{"text": "a", "label": "x"}\n', {"label_separator": "|"}),
        ("a.mrg", "(S (NP (DT a)) (VP (VB b)))\n", {"label": "xpos"}),
        ("a.tsv", "source\ttarget\tsure\tpossible\na b\tc d\t1-1\t\n", {"label": "xpos"}),
        ("a.txt", "so good\n", {"label": "xpos"}),
    ],
)
def test_an_option_that_a_format_does_not_have_is_refused(tmp_path, name, content, options):
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=f"takes no option '{next(iter(options))}'"):
        evaluate_files(tmp_path / name, tmp_path / name, **options)


def test_a_convention_that_is_none_is_refused_whatever_is_scored(tmp_path):
    (tmp_path / "a.csv").write_text("text,label,prediction\na,x,x\n")
    with pytest.raises(ConfigError, match="unknown convention 'none of them'; there are auto, conlleval"):
        evaluate_files(tmp_path / "a.csv", convention="none of them")


def test_the_column_that_is_scored_is_told_to_files_of_golds_format_alone(tmp_path):
    row = "1\ta\ta\tX\tNN\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "gold.conllu").write_text(row)
    column_file(tmp_path / "out.conll", [["a"]], [["NN"]])
    assert (
        evaluate_files(tmp_path / "gold.conllu", tmp_path / "out.conll", label="xpos").scores.token_accuracy
        == 1
    )
    assert evaluate_files(tmp_path / "gold.conllu", tmp_path / "out.conll").scores.token_accuracy == 0


# -- probabilities --------------------------------------------------------------------------------------------------


def assert_calibration(found, unit, p, right):
    p, right = np.array(p), np.array(right)
    assert found["calibration"]["unit"] == unit
    assert found["calibration"]["answers"] == len(p)
    assert found["calibration"]["brier"] == pytest.approx(np.mean((p - right) ** 2))
    assert found["calibration"]["error"] == pytest.approx(reliability(p, right).error)


@pytest.mark.parametrize("answers", [60, 240, 2000])
def test_the_error_by_chance_is_that_of_simulated_perfect_probabilities(answers):
    rng = np.random.default_rng(answers)
    p = rng.beta(3, 1, answers)
    simulated = np.mean([reliability(p, rng.random(answers) < p).error for _ in range(1000)])
    assert error_by_chance(p) == pytest.approx(simulated, rel=0.05)


SURE = [["0.9000", "0.4000", "0.7000"], ["0.8000", "0.6000"], ["0.5000", "_"]]
RIGHT = [True, False, True, True, True, True]


def test_a_column_of_probabilities_is_judged(files, tmp_path):
    gold, _ = files
    out = column_file(tmp_path / "sure.conll", WORDS, SURE, FOUND)
    p = [float(cell) for row in SURE for cell in row if cell != "_"]
    assert_calibration(json.loads(run(gold, out, "--json")), "tokens", p, RIGHT)
    both = column_file(tmp_path / "both.conll", WORDS, GOLD, SURE, FOUND)
    assert_calibration(json.loads(run(both, "--json")), "tokens", p, RIGHT)
    assert "calibration" not in json.loads(run(*files, "--json"))


def test_the_last_column_of_conllu_may_hold_probabilities(tmp_path):
    for name, tags, sure in (("gold", ["DET", "NOUN"], ["_", "_"]), ("out", ["DET", "VERB"], ["0.9", "0.7"])):
        rows = [
            f"{n}\t{word}\t_\t{tag}\t_\t_\t0\troot\t_\t{'_' if p == '_' else 'SpaceAfter=No|Probability=' + p}"
            for n, (word, tag, p) in enumerate(zip(["the", "finch"], tags, sure, strict=True), 1)
        ]
        (tmp_path / f"{name}.conllu").write_text("\n".join(rows) + "\n\n")
    found = json.loads(run(tmp_path / "gold.conllu", tmp_path / "out.conllu", "--json"))
    assert_calibration(found, "tokens", [0.9, 0.7], [True, False])


def test_confidence_of_documents_and_scores_of_spans_are_judged(tmp_path):
    (tmp_path / "d.csv").write_text(
        "text,label,prediction,confidence\na,x,x,0.9\nb,x,y,0.6\nc,y,y,0.8\nd,y,,\n", encoding="utf-8"
    )
    found = json.loads(run(tmp_path / "d.csv", "--json"))
    assert_calibration(found, "documents", [0.9, 0.6, 0.8], [True, False, True])
    shown = run(tmp_path / "d.csv", "--html", tmp_path / "d.html")
    assert "expected calibration error" in shown
    assert "Brier score" in shown
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert 'aria-label="Reliability of the probabilities of documents"' in page
    gold = {"text": "Ann met Bob", "spans": [{"start": 0, "end": 3, "label": "PER"}]}
    spans = [
        {"start": 0, "end": 3, "label": "PER", "score": 0.9},
        {"start": 8, "end": 11, "label": "PER", "score": 0.3},
    ]
    (tmp_path / "g.jsonl").write_text(json.dumps(gold) + "\n")
    (tmp_path / "s.jsonl").write_text(json.dumps({"text": "Ann met Bob", "spans": spans}) + "\n")
    found = json.loads(run(tmp_path / "g.jsonl", tmp_path / "s.jsonl", "--json"))
    assert_calibration(found, "spans", [0.9, 0.3], [True, False])


def test_several_labels_are_judged_by_the_shares_of_a_json_output(tmp_path):
    rows = [({"a": 0.9, "b": 0.7}, ["a", "b"], ["a"]), ({"a": 0.2, "b": 0.8}, ["b"], ["a", "b"])]
    for name in ("gold", "out"):
        lines = [
            {"text": f"t{n}", "labels": gold}
            if name == "gold"
            else {"text": f"t{n}", "prediction": given, "labels": shares}
            for n, (shares, given, gold) in enumerate(rows)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = json.loads(run(tmp_path / "gold.jsonl", tmp_path / "out.jsonl", "--json"))
    assert_calibration(found, "labels", [0.9, 0.7, 0.8], [True, False, True])


def test_tags_in_columns_are_scored_against_texts_with_spans(files, tmp_path):
    scores = [{"score": 0.8}, {"score": 0.9}, {"score": 0.4}]
    spans = [[(0, 3, "NP")], [(0, 2, "VP")], [(0, 8, "NP")]]
    with (tmp_path / "out.jsonl").open("w") as stream:
        for words, found, sure in zip(WORDS, spans, scores, strict=True):
            made = [{"start": a, "end": b, "label": label} | sure for a, b, label in found]
            stream.write(json.dumps({"text": " ".join(words), "spans": made}) + "\n")
    by_tags, by_spans = (
        json.loads(run(files[0], other, "--json")) for other in (files[1], tmp_path / "out.jsonl")
    )
    same = ("span.micro.f1", "span.micro.precision", "span.micro.recall", "untyped.f1")
    assert [by_spans[key] for key in same] == [by_tags[key] for key in same]
    assert by_spans["span.micro.precision"] == pytest.approx(1 / 3)
    assert_calibration(by_spans, "spans", np.array([0.8, 0.9, 0.4]), np.array([False, True, False]))
    plain = column_file(tmp_path / "plain.conll", WORDS, [["D", "N", "V"], ["P", "V"], ["A", "A"]])
    with pytest.raises(DataError, match=r"plain\.conll: its tags mark no spans"):
        evaluate_files(plain, tmp_path / "out.jsonl")
