"""Word clusters: known classes are found again, files go round, damage is named."""

import random
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

from chaffinch import _core
from chaffinch.cli import app
from chaffinch.errors import ConfigError, DataError
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.text.clusters import Clusters, learn_clusters, write_clusters
from chaffinch.text.table import TokenTable

CLASSES = {
    "D": ["the", "a", "this", "every"],
    "N": ["cat", "dog", "bird", "fish", "cow", "horse"],
    "V": ["sees", "likes", "hears", "chases", "feeds"],
    "A": ["big", "small", "old"],
    "E": [".", "!"],
}


def synthetic(n: int, seed: int = 3) -> list[list[str]]:
    chance = random.Random(seed)
    frames = ["DNVDNE", "DANVDNE", "DNVDANE", "DANVDANE"]
    return [[chance.choice(CLASSES[c]) for c in chance.choice(frames)] for _ in range(n)]


def test_known_classes_are_recovered():
    rows = learn_clusters(synthetic(600), classes=len(CLASSES))
    path = {word: bits for bits, word, _ in rows}
    assert {frozenset(w for w in path if path[w] == p) for p in path.values()} == set(
        map(frozenset, CLASSES.values())
    )


def test_paths_are_a_binary_tree_with_the_classes_as_leaves():
    rows = learn_clusters(synthetic(300), classes=9)
    paths = {bits for bits, _, _ in rows}
    assert len(paths) == 9
    assert not any(a != b and b.startswith(a) for a in paths for b in paths)
    assert sum(2.0 ** -len(p) for p in paths) == 1.0


def test_each_round_scores_no_worse_and_the_score_is_its_definition():
    table = TokenTable.from_lists({"w": synthetic(200)})
    counts = np.bincount(table.columns["w"].ids)
    rank = np.empty(len(counts), np.int32)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    ids = rank[table.columns["w"].ids]
    learner = _core.WordClasses(table.ptr, ids, len(counts), 7)
    learner.improve()
    learner.shrink(4)
    scores = [learner.score()]
    while learner.improve():
        scores.append(learner.score())
    assert scores == sorted(scores)

    classes = learner.classes()
    N = np.zeros((5, 5))
    for a, b in zip(table.ptr[:-1], table.ptr[1:], strict=True):
        line = [4, *classes[ids[a:b]].tolist(), 4]
        for c, d in pairwise(line):
            N[c, d] += 1

    def f(x):
        return np.sum(np.where(x > 0, x * np.log(np.maximum(x, 1)), 0.0))

    assert learner.score() == pytest.approx(f(N) - f(N.sum(0)) - f(N.sum(1)))


def test_a_cluster_file_reads_back_and_feeds_the_encoder(tmp_path):
    rows = learn_clusters(synthetic(200), classes=5)
    write_clusters(tmp_path / "c.tsv.gz", rows)
    clusters = Clusters.read(tmp_path / "c.tsv.gz")
    assert all(clusters.of(word) == bits for bits, word, _ in rows)
    encoder = FeatureEncoder(["cluster2[0]"], clusters=clusters)
    rows_of = encoder.fit(TokenTable.from_lists({"w": [["cat", "Dog", "sees"]]}))
    assert rows_of.ids[0] == rows_of.ids[1] != rows_of.ids[2]


def test_the_published_cluster_file_can_be_read(data):
    clusters = Clusters.read(data / "brown_clusters" / "tweets_6m_paths.tsv.gz")
    assert len(clusters.words) > 111_000
    assert clusters.of("Monday") == clusters.of("tuesday")


def test_weekdays_share_a_cluster_in_newspaper_text(data):
    text = (data / "conll2000" / "train.tsv").read_text(encoding="utf-8").strip().split("\n\n")[:5000]
    sentences = [[line.split("\t")[0] for line in block.split("\n")] for block in text]
    rows = learn_clusters(sentences, classes=100, min_count=5, rounds=4)
    path = {word: bits for bits, word, _ in rows}
    assert len({path[d] for d in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")}) <= 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path\tword\n01x\tdog\n", ":2: expected a path of 0s and 1s"),
        ("", "has no clusters"),
        ("01\n", ":1: expected"),
    ],
)
def test_a_damaged_cluster_file_is_named(tmp_path, text, message):
    (tmp_path / "c.tsv").write_text(text)
    with pytest.raises(DataError) as caught:
        Clusters.read(tmp_path / "c.tsv")
    assert message in str(caught.value)


def test_nothing_to_learn_from_is_said():
    with pytest.raises(DataError, match="found none"):
        learn_clusters([])
    with pytest.raises(DataError, match="no word occurs 2 times"):
        learn_clusters([["a", "b"]])
    with pytest.raises(ConfigError, match="classes must be >= 1"):
        learn_clusters([["a"]], classes=0)


def test_the_command_writes_clusters(tmp_path):
    (tmp_path / "t.txt").write_text("\n".join(" ".join(s) for s in synthetic(300)), encoding="utf-8")
    out = tmp_path / "c.tsv"
    done = CliRunner().invoke(
        app, ["cluster", str(tmp_path / "t.txt"), "-o", str(out), "--classes", "5", "--json"]
    )
    assert done.exit_code == 0, done.output
    assert '"clusters": 5' in done.output
    assert out.read_text().startswith("path\tword\tcount\n")
