"""An explanation reads its input once: the answer, its rival and the removal of features share one encoding."""

from collections import Counter

import pytest

import old_models
import recipe_models as small
from chaffinch import Aligner, Classifier, Parser, Reranker, Tagger, load, samples
from chaffinch.model import segments
from chaffinch.model.alignment_features import AlignmentFeatures
from chaffinch.model.candidates import TagCandidates
from chaffinch.model.document_encoder import DocumentEncoder
from chaffinch.model.encoders import SymbolEncoder, TemplateEncoder
from chaffinch.model.kernel_classifier import ObjectEncoder
from chaffinch.model.pcfg import PcfgModel
from chaffinch.model.ruled import RuledChainModel, under_rules
from chaffinch.model.span_parser import SpanParserModel
from chaffinch.rules import once

# What turns an input into features or potentials, for each kind of model.
ENCODINGS = [
    (TemplateEncoder, "rows"),
    (SymbolEncoder, "rows"),
    (segments, "span_features"),
    (DocumentEncoder, "rows"),
    (ObjectEncoder, "rows"),
    (PcfgModel, "potentials"),
    (SpanParserModel, "columns"),
    (AlignmentFeatures, "__call__"),
    (TagCandidates, "rows"),
]

MODELS = {
    "tagger-crf": {"TemplateEncoder.rows"},
    "tagger-crf-in-two-passes": {"TemplateEncoder.rows"},
    "tagger-hmm": {"SymbolEncoder.rows"},
    "tagger-memm": {"TemplateEncoder.rows"},
    "tagger-m3n-with-a-kernel": {"TemplateEncoder.rows"},
    "tagger-greedy": {"TemplateEncoder.rows"},
    "tagger-easiest-first": {"TemplateEncoder.rows"},
    "tagger-beam": {"TemplateEncoder.rows"},
    "tagger-semi-crf": {"TemplateEncoder.rows", "segments.span_features"},
    "classifier-ridge": {"DocumentEncoder.rows"},
    "classifier-hashed": {"DocumentEncoder.rows"},
    "classifier-several-labels-svm": {"DocumentEncoder.rows"},
    "classifier-kernel-svm": {"DocumentEncoder.rows"},
    "classifier-spectrum": {"ObjectEncoder.rows"},
    "parser-pcfg": {"PcfgModel.potentials"},
    "parser-parser": {"TemplateEncoder.rows", "SpanParserModel.columns"},
    "aligner-aligner": {"AlignmentFeatures.__call__"},
    "reranker-perceptron": {"TagCandidates.rows"},
}


def explained(model):
    match model:
        case Tagger():
            return model.explain(old_models.WORDS[0])
        case Classifier():
            return model.explain(old_models.TEXTS[2])
        case Parser():
            return model.explain(samples.load("trees", "dev", n=1)[0].words())
        case Aligner():
            pair = samples.load("pairs", "dev", n=1)[0]
            return model.explain((pair.words(), pair.links.target))
        case Reranker():
            return model.explain(small._lists()[0])


@pytest.fixture
def times(monkeypatch):
    """How often each object encoded something."""
    small._lists()  # encoded before counting
    times = Counter()
    for owner, method in ENCODINGS:
        called, original = f"{owner.__name__.rpartition('.')[2]}.{method}", getattr(owner, method)

        def counted(*given, original=original, called=called, **more):
            times[called, id(given[0]) if called[0].isupper() else 0] += 1
            return original(*given, **more)

        monkeypatch.setattr(owner, method, counted)
    return times


@pytest.mark.parametrize("name", MODELS)
def test_an_explanation_encodes_its_input_once(name, times):
    assert explained(load(old_models.FOLDER / f"{name}.chaff")).decisions
    assert {called for called, _ in times} == MODELS[name]
    assert set(times.values()) == {1}


def test_a_chain_under_rules_encodes_a_sentence_once(times):
    tagger = load(old_models.FOLDER / "tagger-crf.chaff")
    tagger.model_ = under_rules(tagger.model_, [once("PER")])
    assert isinstance(tagger.model_, RuledChainModel)
    assert explained(tagger).decisions
    assert [(called, n) for (called, _), n in times.items()] == [("TemplateEncoder.rows", 1)]


def test_a_reranker_with_a_kernel_prepares_its_candidates_once(monkeypatch):
    reranker, given = load(old_models.FOLDER / "reranker-by-a-kernel.chaff"), []
    kernel = type(reranker.dual_.kernel)
    prepare = kernel.prepared
    monkeypatch.setattr(
        kernel, "prepared", lambda self, objects: given.append(objects) or prepare(self, objects)
    )
    assert reranker.explain(small._tree_lists()[0]).decisions
    assert sum(isinstance(objects, list) for objects in given) == 1
