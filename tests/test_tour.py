"""The tour: every chapter runs on the embedded samples, and asks first unless told not to."""

from dataclasses import replace

from chaffinch import Parser, samples
from chaffinch.cli.tour import CHAPTERS, SENTENCES, TREES
from chaffinch.corpus.brackets import bracketed
from commandline import Runner, run  # noqa: F401


def test_every_chapter_of_the_tour_runs_and_leaves_its_files_where_asked(
    tmp_path,
    run: Runner,  # noqa: F811
    monkeypatch,
):
    for name, sample in list(
        samples.SAMPLES.items()
    ):  # a twelfth of each: chapters take half a minute on all of it
        sizes = {split: n // 12 for split, n in sample.sizes.items()}
        monkeypatch.setitem(samples.SAMPLES, name, replace(sample, sizes=sizes))
    folder = tmp_path / "tour"
    result = run("tour", "--yes", "--folder", folder)
    assert result.code == 0
    for number, (title, _) in enumerate(CHAPTERS, 1):
        assert f"{number}. {title}" in result.out
    assert (folder / "hmm.chaff").exists()
    assert (folder / "ingredients" / "train.conll").exists()


def test_words_decide_where_the_last_phrase_of_the_tours_sentences_belongs():
    train = [d.tree for d in samples.load("trees", "train")[:TREES] if d.tree is not None]
    eaten_with, on_the_pizza = Parser("parser").fit(train).predict([s.split() for s in SENTENCES])
    assert "(NP (DT the) (NN pizza)) (PP (IN with)" in bracketed(eaten_with)
    assert "(NP (NP (DT the) (NN pizza)) (PP (IN with)" not in bracketed(eaten_with)
    assert "(NP (NP (DT the) (NN pizza)) (PP (IN with)" in bracketed(on_the_pizza)
