"""The aligner: what it learns, how it is kept, and what the command line makes of it."""

import json

import numpy as np
import pytest

from chaffinch import Aligner, load, modelfile, samples
from chaffinch.corpus import read
from chaffinch.errors import ConfigError, DataError, ModelFileError
from chaffinch.evaluate import score_alignments
from chaffinch.model.associations import Associations, ibm1_links
from chaffinch.recipes.aligners import ALIGNERS, MarginAligner, MiraAligner
from commandline import Runner, run  # noqa: F401


def sample(part, n):
    documents = samples.load("pairs", part)[:n]
    pairs = [(d.words(), list(d.links.target)) for d in documents]
    return pairs, [d.links.sure for d in documents], [d.links.possible for d in documents]


TRAIN, TEST = sample("train", 80), sample("test", 40)


@pytest.fixture(scope="module")
def aligner():
    return Aligner().fit(TRAIN[0], TRAIN[1], possible=TRAIN[2])


@pytest.mark.parametrize("recipe", [r.name for r in ALIGNERS])
def test_every_recipe_beats_the_intersection_of_ibm_model_1(recipe):
    trained = Aligner(recipe).fit(TRAIN[0], TRAIN[1], possible=TRAIN[2], text=TEST[0])
    text = Associations.learnt([*TRAIN[0], *TEST[0]], str.lower)
    both = [there & back for there, back in (ibm1_links(text, pair) for pair in TEST[0])]
    ours, theirs = (
        score_alignments(TEST[1], TEST[2], found).aer for found in (trained.predict(TEST[0]), both)
    )
    assert ours < theirs
    assert ours == pytest.approx(1 - trained.score(TEST[0], TEST[1], TEST[2]))


def test_the_best_of_the_k_best_is_the_prediction(aligner):
    for best, readings in zip(
        aligner.predict(TEST[0][:10]), aligner.predict_kbest(TEST[0][:10], 3), strict=True
    ):
        assert readings[0][1] == best
        assert [s for s, _ in readings] == sorted((s for s, _ in readings), reverse=True)


def test_a_saved_aligner_answers_alike_and_has_the_same_bytes_for_any_threads(aligner, tmp_path):
    aligner.save(tmp_path / "a.chaff")
    again = load(tmp_path / "a.chaff")
    assert again.predict(TEST[0]) == aligner.predict(TEST[0])
    Aligner(threads=2).fit(TRAIN[0], TRAIN[1], possible=TRAIN[2]).save(tmp_path / "b.chaff")
    assert (tmp_path / "a.chaff").read_bytes() == (tmp_path / "b.chaff").read_bytes()


def test_a_file_with_an_index_out_of_range_is_refused(aligner, tmp_path):
    aligner.save(tmp_path / "a.chaff")
    file = modelfile.read(tmp_path / "a.chaff")
    arrays = {name: np.array(a) for name, a in file.arrays.items()}
    arrays["words.forward.columns"][0] = 10**6
    modelfile.write(
        tmp_path / "bad.chaff", file.header, arrays, {k: list(v) for k, v in file.strings.items()}
    )
    with pytest.raises(ModelFileError, match=r"words\.forward\.columns"):
        load(tmp_path / "bad.chaff")


def test_words_never_seen_and_empty_sentences_are_no_trouble(aligner):
    assert (
        aligner.predict([(["zxq"], ["qxz", "zxq"]), ([], ["a"]), (["a"], []), ([], [])])[1:]
        == [frozenset()] * 3
    )


def test_what_cannot_be_learnt_from_is_refused():
    with pytest.raises(DataError, match="links for each of 1 sentence pairs, got 2"):
        Aligner().fit([(["a"], ["b"])], [set(), set()])
    with pytest.raises(DataError, match="pair 1: expected links within 1 and 1 words, found 0-3"):
        Aligner().fit([(["a"], ["b"])], [{(0, 3)}])
    with pytest.raises(DataError, match="at least one sure link"):
        Aligner().fit([(["a"], ["b"])], [set()])
    with pytest.raises(DataError, match="expected two lists of words"):
        Aligner().fit([("a b", "c d")], [{(0, 0)}])
    with pytest.raises(ConfigError, match="not trained"):
        Aligner().predict([])


def test_parameters_are_those_of_the_constructor_and_the_recipe():
    aligner = Aligner(MiraAligner(C=0.5)).set_params(recipe__epochs=2, seed=3)
    assert aligner.get_params()["recipe__C"] == 0.5
    assert (aligner.recipe.epochs, aligner.seed) == (2, 3)
    assert ALIGNERS.by_config(MarginAligner()).name == "aligner"


def test_the_command_line_trains_links_scores_and_inspects(tmp_path, run: Runner):  # noqa: F811
    samples.export("pairs", tmp_path / "pairs")
    train, test = (tmp_path / f"few-{part}.tsv" for part in ("train", "test"))
    for path in (train, test):
        lines = (
            (tmp_path / "pairs" / path.name.removeprefix("few-")).read_text("utf-8").splitlines(keepends=True)
        )
        path.write_text("".join(lines[:81]), "utf-8")
    made = run("train", train, "-o", tmp_path / "m.chaff", "--dev", test, "--json", "--epochs", "2")
    assert made.code == 0, made.err
    record = json.loads(made.out)
    assert record["recipe"] == "aligner"
    assert record["dev"]["aer"] < 0.2
    assert run("predict", tmp_path / "m.chaff", test, "-o", tmp_path / "found.tsv").code == 0
    scored = json.loads(run("evaluate", test, tmp_path / "found.tsv", "--json").out)
    assert scored["aer"] == pytest.approx(record["dev"]["aer"], abs=1e-4)
    readings = run("predict", tmp_path / "m.chaff", test, "--kbest", "2")
    assert len(json.loads(readings.out.splitlines()[0])["alignments"]) == 2
    held = run("inspect", tmp_path / "m.chaff")
    assert held.code == 0, held.err
    wrong = run("train", train, "-o", tmp_path / "x.chaff", "--recipe", "crf")
    assert (wrong.code, "holds sentence pairs" in wrong.err) == (2, True)


def test_pairs_without_links_teach_the_command_line_what_text_teaches_fit(tmp_path, run: Runner):  # noqa: F811
    X, sure, possible = (part[:40] for part in TRAIN)
    rows = zip(X, sure, possible, strict=True)
    cells = [
        [
            " ".join(e),
            " ".join(f),
            *(" ".join(f"{i + 1}-{j + 1}" for i, j in sorted(links)) for links in both),
        ]
        for (e, f), *both in rows
    ]
    head = ["source", "target", "sure", "possible"]
    (tmp_path / "linked.tsv").write_text("".join("\t".join(row) + "\n" for row in [head, *cells]), "utf-8")
    text = TEST[0][:60]
    halves = {"tabs.tsv": ("\t", text[:30]), "bars.txt": (" ||| ", text[30:])}
    for name, (between, pairs) in halves.items():
        (tmp_path / name).write_text(
            "".join(f"{' '.join(e)}{between}{' '.join(f)}\n" for e, f in pairs), "utf-8"
        )
    named = [word for name in halves for word in ("--pairs", tmp_path / name)]
    made = run("train", tmp_path / "linked.tsv", "-o", tmp_path / "m.chaff", *named)
    assert made.code == 0, made.err
    alone = Aligner().fit(X, sure, possible=possible)
    ours = Aligner().fit(X, sure, possible=possible, text=text)
    found = load(tmp_path / "m.chaff").predict(TEST[0])
    assert found == ours.predict(TEST[0])
    assert score_alignments(*TEST[1:], found).aer < score_alignments(*TEST[1:], alone.predict(TEST[0])).aer


def test_pairs_that_are_no_pairs_are_refused_with_their_line(tmp_path, run: Runner):  # noqa: F811
    (tmp_path / "linked.tsv").write_text("source\ttarget\tsure\tpossible\na b\tc d\t1-1\t\n", "utf-8")
    (tmp_path / "text.tsv").write_text("a b\tc d\nno pair\n", "utf-8")
    given = ("train", tmp_path / "linked.tsv", "-o", tmp_path / "m.chaff", "--pairs", tmp_path / "text.tsv")
    wrong = run(*given)
    assert (wrong.code, "text.tsv:2: expected two sentences" in wrong.err) == (2, True)
    (tmp_path / "text.tsv").write_text("Source\tTarget\tSure\tPossible\na b\tc d\t1-9\t\n", "utf-8")
    assert run(*given).code == 0
    both = run(*given, "--compare", "aligner,aligner-mira")
    assert (both.code, "--pairs cannot be combined with --compare" in both.err) == (2, True)
    (tmp_path / "words.conll").write_text("a X\nb Y\n\n" * 3, "utf-8")
    strange = run(
        "train", tmp_path / "words.conll", "-o", tmp_path / "m.chaff", "--pairs", tmp_path / "text.tsv"
    )
    assert (strange.code, "--pairs does not apply to sentences" in strange.err) == (2, True)


def test_the_example_draws_its_grid_and_matching_has_the_least_errors(tmp_path, capsys):
    from examples import alignment

    rates = alignment.main(tmp_path)
    assert min(rates, key=rates.__getitem__) == "matching"
    svg = (tmp_path / "alignment.svg").read_text("utf-8")
    assert "sure, found" in svg
    assert "AER" in capsys.readouterr().out


def test_with_fertility_words_have_two_links(tmp_path):
    pairs = [(["not", "here"], ["ne", "ici", "pas"]), (["here", "not"], ["ici", "ne", "pas"])] * 6
    links = [{(0, 0), (0, 2), (1, 1)}, {(0, 0), (1, 1), (1, 2)}] * 6
    aligner = Aligner(MarginAligner(fertility=2)).fit(pairs, links)
    assert aligner.predict(pairs[:2]) == [frozenset(found) for found in links[:2]]
    aligner.save(tmp_path / "m.chaff")
    assert load(tmp_path / "m.chaff").predict(pairs[:2]) == aligner.predict(pairs[:2])
    assert len(aligner.model_.feature_names()) == len(aligner.model_.scorer.w)


def test_hansards_are_linked_far_better_than_by_ibm_model_1(data):
    parts = {}
    for name in ("dev", "test"):
        documents = list(read(data / f"word_alignment/hansards_{name}_en_fr.tsv"))
        parts[name] = [((d.words(), list(d.links.target)), d.links.sure, d.links.possible) for d in documents]
    train, test = [*parts["dev"], *parts["test"][:100]], parts["test"][100:]
    X, sure, possible = zip(*train, strict=True)
    pairs, gold, maybe = zip(*test, strict=True)
    found = Aligner(MarginAligner(epochs=3)).fit(X, sure, possible=possible, text=pairs).predict(pairs)
    text = Associations.learnt([*X, *pairs], str.lower)
    both = [there & back for there, back in (ibm1_links(text, pair) for pair in pairs)]
    ours, theirs = (score_alignments(gold, maybe, links).aer for links in (found, both))
    assert ours < 0.5 * theirs
    assert ours < 0.14


def test_links_to_words_that_are_not_there_are_left_out_and_said(tmp_path, run: Runner):  # noqa: F811
    (tmp_path / "p.tsv").write_text(
        "source\ttarget\tsure\tpossible\na b\tc d\t1-1 1-3\t\nx y\tz w\t1-1 2-2\t\n"
    )
    done = run("train", tmp_path / "p.tsv", "-o", tmp_path / "m.chaff")
    assert done.code == 0
    assert "links outside their sentences were left out: 1" in done.err
