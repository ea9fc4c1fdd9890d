"""The folders of the core stand in an order, and nothing includes upwards; the Python side has its import contract."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = sorted((ROOT / "src" / "core").rglob("*.[ch]pp"))


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
