"""Template syntax and files: what they mean, and errors that point at the place."""

import pytest

from chaffinch.errors import ConfigError
from chaffinch.features.encoder import FeatureEncoder
from chaffinch.features.files import feature_set, read_features
from chaffinch.features.presets import PRESETS
from chaffinch.features.templates import parse
from chaffinch.text.clusters import Clusters
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.table import TokenTable


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("w[0]", ["w[0]"]),
        (" w [ -1 ] | pos[+1] ", ["w[-1]|pos[1]"]),
        ("suffix3", ["suffix3[0]"]),
        ("w[-1..0]|pos[0..1]", ["w[-1]|pos[0]", "w[-1]|pos[1]", "w[0]|pos[0]", "w[0]|pos[1]"]),
        ("any( w , -8 .. -1 )", ["any(w,-8..-1)"]),
        ("bias", ["bias"]),
        ("biased[1]", ["biased[1]"]),
        ("y[-1]|y[+1]", ["y[-1]|y[1]"]),
        ("lower(lemma)[2]", ["lower(lemma)[2]"]),
    ],
)
def test_a_template_reads_as_written(text, means):
    made = parse(text)
    assert [str(t) for t in made] == means
    assert [t for m in means for t in parse(m)] == list(made)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("w[-1|w[0]", "character 5: expected ']', found '|'"),
        ("w[x]", "character 3: expected an offset such as -1 or a range such as -2..2, found 'x'"),
        ("w[0]|", "character 6: expected a column's name, found the end"),
        ("", "character 1: expected a column's name, found the end"),
        ("w[0] pos[0]", "character 6: expected '|' or the end, found 'p'"),
        ("w[2..-2]", "character 3: expected an ascending range instead of 2..-2, found '2'"),
        ("y[0]", "character 1: expected the label of another token"),
        ("y", "a label needs its offset"),
        ("any(y,-2..-1)", "character 5: expected a column other than y"),
        ("any(w,-2..-1)|w[0]", "character 14: expected the end, found '|'"),
        ("w[5000]", "an offset of at most 1000"),
        ("w[0]|w[0]", "found w[0] twice"),
    ],
)
def test_a_mistake_in_a_template_is_pointed_at(text, message):
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert message in str(caught.value)


def test_presets_have_the_templates_they_are_known_for():
    with_pos = {name: len(feature_set(name, ["w", "pos", "y"]).templates) for name in PRESETS}
    assert with_pos["chunking19"] == with_pos["ewt19"] == 19
    assert (with_pos["chunking"], with_pos["ingredients"], with_pos["pos"]) == (37, 71, 41)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_runs_with_all_that_there_can_be(name):
    clusters = Clusters.from_pairs([("01", "dog")])
    gazetteers = Gazetteers.from_lists({"animal": ["dog"]})
    encoder = FeatureEncoder(name, clusters=clusters, gazetteers=gazetteers)
    words = [["The", "dog", "barks"], ["Dogs", "(", "2", ")"]]
    rows = encoder.fit(TokenTable.from_lists({"w": words, "pos": [["D", "N", "V"], ["N", "(", "C", ")"]]}))
    assert all(n > 0 for n in (rows.ptr[1:] - rows.ptr[:-1]).tolist())
    with_lists = any("gaz" in t for t in encoder.templates)
    assert with_lists == (name not in ("chunking19", "ewt19", "crfsuite", "pixels"))


def test_the_default_uses_the_columns_that_there_are():
    assert "chunktag[-1]|chunktag[0]" in map(str, feature_set("default", ["w", "chunktag", "y"]).templates)
    assert "w[0]|pos[1]" in map(str, feature_set("default", ["w", "pos"]).templates)
    assert not any("pos" in str(t).replace("position", "") for t in feature_set("default", ["w"]).templates)


def test_a_file_of_lines_is_a_feature_set(tmp_path):
    path = tmp_path / "features.txt"
    path.write_text("# words\nw[-1..1]  # three\n\n@preset ewt19\n@pattern year ^[0-9#]{4}$\nyear[0]\n")
    made = read_features(path, ["w"])
    assert [str(t) for t in made.templates][:3] == ["w[-1]", "w[0]", "w[1]"]
    assert str(made.templates[-1]) == "year[0]"
    assert len(made.templates) == 20
    assert made.patterns["year"].regex == "^[0-9#]{4}$"
    assert not made.boundary


def test_a_toml_file_is_a_feature_set(tmp_path):
    path = tmp_path / "features.toml"
    path.write_text(
        'templates = ["w[0]", "year[0]"]\nboundary = false\n[patterns]\nyear = "^[0-9]{4}$"\n'
        'tail = {regex = ".$", what = "match"}\n'
    )
    made = read_features(path, ["w"])
    assert [str(t) for t in made.templates] == ["w[0]", "year[0]"]
    assert (made.boundary, made.patterns["tail"].what) == (False, "match")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("f.txt", "w[0]\nw[\n", "f.txt:2: template 'w[', character 3"),
        ("f.txt", "@nothing\n", "f.txt:1: unknown @nothing"),
        ("f.txt", "@boundary maybe\n", "f.txt:1: @boundary must be marks or none"),
        ("f.txt", "# nothing\n", "f.txt: has no templates"),
        ("f.toml", "templates = 3\n", "f.toml: templates must be list, found 3"),
        ("f.toml", "tmplates = []\n", "f.toml: unknown key 'tmplates'"),
        ("f.toml", "templates = [", "f.toml: is not TOML"),
        ("crf", "U00:%x[0,0]\nU01:%x[0,7]\n", "crf:2: column 7 in %x[0,7]: the corpus has columns 0 to 1"),
        ("crf", "U00:%x[0,0]\nU01:%q[0,0]\n", "crf:2: expected a macro such as"),
        ("crf", "U00:%x[0,0]\nQ01:%x[0,0]\n", "crf:2: expected a line that starts with U, B or *"),
        ("crf", "U00:%t[0,0]\n", "crf:1: %t[0,0]: %t needs a regular expression in quotes"),
    ],
)
def test_a_mistake_in_a_file_names_file_and_line(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_features(tmp_path / name, ["w", "pos", "y"])
    assert message in str(caught.value)


def test_crfpp_templates_become_ours(tmp_path):
    path = tmp_path / "template"
    path.write_text("# Unigram\nU00:%x[-2,0]\nU05:%x[-1,0]/%x[0,1]\nU99:\n\n# Bigram\nB\nB01:%x[0,0]\n")
    made = read_features(path, ["w", "pos", "y"])
    assert [str(t) for t in made.templates] == ["w[-2]", "w[-1]|pos[0]", "bias", "y[-1]", "y[-1]|w[0]"]
    assert made.boundary


def test_wapiti_patterns_become_ours(tmp_path):
    path = tmp_path / "template"
    path.write_text(
        '*:%x[0,1]\nu:1=%X[0,0]\nu:%m[0,0,"^.?.?"]\nu:%t[-1,0,"\\d"]/%M[0,1,"\\u*$"]\nu:%t[0,0,"\\d"]\nb\n'
    )
    made = read_features(path, ["w", "pos", "y"])
    assert [str(t) for t in made.templates] == [
        "pos[0]", "y[-1]|pos[0]", "lower[0]", "match1[0]", "test2[-1]|match3(pos)[0]", "test2[0]", "y[-1]",
    ]  # fmt: skip
    encoder = FeatureEncoder(made)
    rows = encoder.fit(TokenTable.from_lists({"w": [["B52", "flies"]], "pos": [["NNP", "VBZ"]]}))
    assert encoder.names(rows.ids[rows.ptr[1] :]) == [
        "pos[0]=VBZ", "lower[0]=flies", "match1[0]=fl", "test2[-1]=true|match3(pos)[0]=vbz", "test2[0]=false",
    ]  # fmt: skip


def test_features_are_chosen_by_preset_or_file(tmp_path):
    assert feature_set("ner", ["w"]) == feature_set("ner", ["w", "y"])
    (tmp_path / "mine").write_text("w[0]\n@preset chunking\n")
    clusters = Clusters.from_pairs([("01", "dog")])
    made = [str(t) for t in feature_set(str(tmp_path / "mine"), ["w", "pos"], clusters).templates]
    assert "w[0]|pos[0]" in made
    assert "cluster4[0]" in made
    with pytest.raises(
        ConfigError, match="no feature preset and no file 'nowhere'; presets are default, chunk"
    ):
        feature_set("nowhere", ["w"])
