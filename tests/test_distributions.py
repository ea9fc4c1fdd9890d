"""The distribution over labellings of every tagger that has one: it says what predictions and marginals say."""

import numpy as np
import pytest

from chaffinch import Tagger, samples
from chaffinch.errors import ConfigError
from chaffinch.model.protocols import LatticeModel
from chaffinch.recipes import TAGGERS
from chaffinch.recipes.crf import Crf
from chaffinch.recipes.latent import LatentSvmTagger
from chaffinch.recipes.margin import MaxMarginMarkovNetwork

SENTENCES = samples.load("ingredients", "train", n=60)
X = [d.words() for d in SENTENCES]
Y = [d.columns["y"] for d in SENTENCES]
WITHOUT = {"greedy", "easiest-first", "beam", "semi-crf"}
VARIANTS = {
    "crf of order 2": (Crf(order=2, passes=2), None),
    "crf of two passes": (Crf(second_pass=True, passes=2), None),
    "crf with label pairs that look": (Crf(passes=2), ["w[0]", "y[-1]|w[0]"]),
    "crf with few labels tried": (Crf(prune=0.01, passes=2), None),
    "quadratic m3n": (MaxMarginMarkovNetwork(kernel="polynomial", passes=2), ["w[0]", "suffix2[0]"]),
}
WITH = [recipe.name for recipe in TAGGERS if recipe.name not in WITHOUT]


@pytest.mark.parametrize("name", [*WITH, *VARIANTS])
def test_a_distribution_agrees_with_predictions_marginals_and_the_k_best(name):
    quick = LatentSvmTagger(rounds=2, restarts=1) if name == "latent-ssvm" else name
    config, features = VARIANTS.get(name, (quick, None))
    tagger = Tagger(config, features=features, threads=1).fit(X, Y)
    assert isinstance(tagger.model_, LatticeModel)
    found = tagger.distributions(X[:8])
    marginals, listed = tagger.predict_marginals(X[:8]), tagger.predict_kbest(X[:8], 3)
    for d, best, p, readings in zip(found, tagger.predict(X[:8]), marginals, listed, strict=True):
        assert d.best() == best
        np.testing.assert_allclose(d.marginals, p, atol=2e-4)
        gaps = [(readings[0][0] - score) / tagger.model_.temperature for score, _ in readings]
        mine = d.kbest(len(readings))
        np.testing.assert_allclose([np.log(mine[0][0] / q) for q, _ in mine], gaps, atol=1e-3)


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_taggers_that_score_no_whole_labelling_say_so(name):
    posts = samples.load("posts", "train", n=20)
    words = [d.words() for d in posts]
    tagger = Tagger(name, threads=1).fit(words, [d.columns["y"] for d in posts])
    with pytest.raises(ConfigError, match="no distribution over labellings"):
        tagger.distributions(words[:1])
