"""Names of the package: one word has one meaning."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from chaffinch import structures
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.union import FeatureUnion
from chaffinch.lab import Source, bench, dataset

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "chaffinch"


def class_names(source: str) -> list[str]:
    """The classes that a module defines outside functions; names with an underscore belong to their file alone."""
    found = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return [name for name in found if not name.startswith("_")]


def test_classes_of_a_module_are_found():
    assert class_names("class A:\n    class B: ...\nclass _C: ...\ndef f():\n    class D: ...\n") == ["A"]


def test_no_two_classes_of_the_package_share_a_name():
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(PACKAGE / "compat"):  # which has the names of other packages
            continue
        for name in class_names(path.read_text("utf-8")):
            places[name].append(str(path.relative_to(PACKAGE)))
    assert len(places) > 400
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_old_names_work_with_a_warning():
    with pytest.warns(DeprecationWarning, match="SpanTree"):
        assert structures.Tree is structures.SpanTree
    union = FeatureUnion((TextVectorizer(),))
    with pytest.warns(DeprecationWarning, match="vectorizers"):
        assert union.parts is union.vectorizers
    laid = bench(Source(name="reviews"))
    with pytest.warns(DeprecationWarning, match="splits"):
        assert laid.parts is laid.splits
    found = dataset(Source(name="reviews"))
    with pytest.warns(DeprecationWarning, match="split"):
        assert found.part("dev") is found.split("dev")
