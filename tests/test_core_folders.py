"""The folders of the core: an order that no include breaks, a namespace each, one definition of every name."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = sorted((ROOT / "src" / "core").rglob("*.[ch]pp"))

_SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|#[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
_NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s*([\w:]*)\s*$")
_TYPE = re.compile(
    r"(?:^|[\s>])(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\([^)]*\)\s*)?(\w+)\b(?!\s*(?:::|<))[^;=()]*$"
)
_ALIAS = re.compile(r"(?:^|[\s>])using\s+(\w+)\s*=")


def declared_types(source: str) -> Iterator[tuple[str, str]]:
    """The types that a file defines outside classes and functions, each as (namespace, name).

    Names of an unnamed namespace belong to their file alone and are left out.
    """
    scopes: list[str | None] = []  # a namespace's name ("" if unnamed), None for any other brace
    head = ""
    for piece in re.split(r"([{};])", _SKIPPED.sub(" ", source)):
        if piece == "{":
            opened = _NAMESPACE.search(head)
            if opened is None and None not in scopes and "" not in scopes and (found := _TYPE.search(head)):
                yield "::".join(filter(None, scopes)), found[1]
            scopes.append(opened[1] if opened else None)
        elif piece == "}":
            scopes.pop()
        elif piece == ";" and None not in scopes and "" not in scopes and (alias := _ALIAS.search(head)):
            yield "::".join(filter(None, scopes)), alias[1]
        head = piece
    assert not scopes


def test_the_core_includes_only_downwards():
    stated = re.search(r"set\(core_folders ([^)]*)\)", (ROOT / "CMakeLists.txt").read_text("utf-8"))
    assert stated is not None
    floor = {folder: n for n, folder in enumerate(stated[1].split())}
    home = {path.name: floor[path.parent.name] for path in CORE}
    included = [
        (path.name, name)
        for path in CORE
        for name in re.findall(r'#include "([^"]+)"', path.read_text("utf-8"))
    ]
    assert len(included) > 100
    assert [pair for pair in included if home[pair[1]] > home[pair[0]]] == []


def test_no_two_files_of_the_core_have_the_same_name():
    names = [path.name for path in CORE]
    assert len(names) == len(set(names))


def test_types_are_found_with_their_namespace():
    source = """
        namespace chaffinch::text {
        struct Later;                  // not defined here
        template <class T> struct Rows : std::vector<T> { struct Inner { int x; }; };
        template <> struct Rows<bool> { };
        struct Rows::Later { };
        enum class Kind : int { a, b };
        using Letters = std::vector<int>;
        namespace hashing { class Mixer final { void f() { struct Local { }; } }; }
        namespace { struct Own { }; using Short = int; }
        void f(struct Rows<int>& rows) { using Inside = int; }
        } // namespace chaffinch::text
    """
    assert list(declared_types(source)) == [
        ("chaffinch::text", "Rows"),
        ("chaffinch::text", "Kind"),
        ("chaffinch::text", "Letters"),
        ("chaffinch::text::hashing", "Mixer"),
    ]


def test_every_type_of_the_core_is_in_the_namespace_of_its_folder_and_defined_once():
    found = [(path, space, name) for path in CORE for space, name in declared_types(path.read_text("utf-8"))]
    assert len(found) > 150
    strays = [
        f"{path.relative_to(ROOT)}: {space}::{name}"
        for path, space, name in found
        if f"{space}::".split("::")[:2] != ["chaffinch", path.parent.name]
    ]
    assert strays == []
    times = Counter((space, name) for _, space, name in found)
    assert [f"{space}::{name}" for (space, name), n in times.items() if n > 1] == []


def test_a_file_of_the_core_opens_no_namespace_but_that_of_its_folder():
    for path in CORE:
        opened = set(re.findall(r"^namespace (chaffinch[\w:]*)", path.read_text("utf-8"), re.MULTILINE))
        assert opened <= {f"chaffinch::{path.parent.name}"}, path
