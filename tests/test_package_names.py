"""Names of the package: one word has one meaning."""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from chaffinch import structures
from chaffinch.features.ngrams import TextVectorizer
from chaffinch.features.union import FeatureUnion
from chaffinch.lab import Source, bench, dataset

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "chaffinch"


OF_FILES = {"_Facts", "_Sections"}  # schemas of one file: facts of the header, and sections


@cache
def parsed(source: str) -> tuple[list[str], list[ast.Import | ast.ImportFrom]]:
    """The classes that a module defines outside functions, and its imports, also inside functions."""
    module = ast.parse(source)
    classes = [node.name for node in module.body if isinstance(node, ast.ClassDef)]
    return classes, [node for node in ast.walk(module) if isinstance(node, ast.Import | ast.ImportFrom)]


def class_names(source: str) -> list[str]:
    """The classes that a module defines outside functions."""
    found, _ = parsed(source)
    return [name for name in found if name not in OF_FILES]


def test_classes_of_a_module_are_found():
    source = "class A:\n    class B: ...\nclass _C: ...\nclass _Facts: ...\ndef f():\n    class D: ...\n"
    assert class_names(source) == ["A", "_C"]


def test_no_two_classes_of_the_package_share_a_name():
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in class_names(path.read_text("utf-8")):
            places[name].append(str(path.relative_to(PACKAGE)))
    assert len(places) > 400
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert twice == {
        "Tagger": ["compat/pycrfsuite/tagger.py", "estimators/tagger.py"]
    }  # that package's own name


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


def imports_of(path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports, also inside functions; of a package, what it takes from it."""
    found = set()
    for node in parsed(path.read_text("utf-8"))[1]:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & modules.keys()
            found |= inner or ({node.module} & modules.keys())
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & modules.keys()
    return found


def test_no_modules_import_each_other_in_a_circle():
    modules = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    left = {name: imports_of(path, modules) - {name, "chaffinch"} for name, path in modules.items()}
    assert sum(map(len, left.values())) > 2000
    while free := [name for name, wanted in left.items() if not wanted & left.keys()]:
        for name in free:
            del left[name]
    assert left == {}
