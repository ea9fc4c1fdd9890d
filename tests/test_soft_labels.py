"""Soft labels: shares of labels count as that many weighted copies, and recipes whose objective has no place refuse."""

import numpy as np
import pytest

from chaffinch import Classifier, Tagger
from chaffinch.errors import ConfigError
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.classifiers import CLASSIFIERS
from chaffinch.recipes.crf import Crf

TEXTS = ["good tea", "bad tea", "fine cake", "poor cake", "good cake"]
SHARES = [
    {"+": 0.9, "-": 0.1},
    {"-": 1.0},
    {"+": 0.5, "0": 0.5},
    {"+": 0.25, "-": 0.75},
    {"0": 0.4, "+": 0.6},
]
TIGHT = {
    "logistic": {"tolerance": 1e-9, "epochs": 3000},
    "maxent": {"tolerance": 1e-9},
    "loglinear": {"epochs": 3000, "rate": 0.01, "l2": 0.1},
    "nb": {},
    "complement-nb": {},
}


@pytest.mark.parametrize("recipe", TIGHT)
def test_a_text_with_shares_is_a_copy_per_label_weighted_by_its_share(recipe):
    copies = [(text, y, k) for text, shares in zip(TEXTS, SHARES, strict=True) for y, k in shares.items()]
    texts, labels, weight = zip(*copies, strict=True)

    def made(more: float = 1.0) -> Classifier:
        settings = dict(TIGHT[recipe])
        if "l2" in settings:  # met with every document, of which the copies are more
            settings["l2"] *= more
        config = CLASSIFIERS.by_name(recipe).config(**settings)
        return Classifier(config, features="counts", calibrate=False, smallest=0.0, bits=None)

    soft = made().fit(TEXTS, SHARES)
    copied = made(len(TEXTS) / len(texts)).fit(list(texts), list(labels), np.array(weight))
    assert soft.classes_.tolist() == copied.classes_.tolist()
    np.testing.assert_allclose(soft.predict_proba(TEXTS), copied.predict_proba(TEXTS), atol=0.005)


def test_soft_tags_of_a_token_are_copies_of_its_sentence_weighted_by_their_shares():
    config = Crf(optimiser="precise", margin=0.0, c2=0.3, tolerance=1e-8)
    soft = Tagger(config, features=["w[0]"], folds=0).fit([["u"], ["v"]], [[{"A": 0.7, "B": 0.3}], ["B"]])
    copied = Tagger(config, features=["w[0]"], folds=0).fit(
        [["u"], ["u"], ["v"]], [["A"], ["B"], ["B"]], sample_weight=[0.7, 0.3, 1]
    )
    for words in (["u"], ["v"]):
        np.testing.assert_allclose(
            soft.predict_marginals([words])[0], copied.predict_marginals([words])[0], atol=1e-3
        )


@pytest.mark.parametrize("recipe", [r.name for r in CLASSIFIERS if r.name not in TIGHT])
def test_classifiers_without_a_log_loss_refuse_shares_and_name_one_with_it(recipe):
    with pytest.raises(ConfigError, match=r"logistic"):
        Classifier(recipe).fit(TEXTS, SHARES)


@pytest.mark.parametrize("recipe", [r.name for r in TAGGERS if r.name != "crf"])
def test_taggers_other_than_the_crf_refuse_soft_tags(recipe):
    with pytest.raises(ConfigError, match=f"recipe {recipe} cannot use soft labels; crf can"):
        Tagger(recipe).fit([["u", "v"]], [[{"A": 0.7, "B": 0.3}, "B"]])
