"""Documentation that is derived from the code says what the code says."""

import re
import runpy
from pathlib import Path

import pytest

from chaffinch.corpus import FORMATS
from chaffinch.kernels.kernel import NAMED

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_settings_page_is_what_the_knobs_say() -> None:
    derived = runpy.run_path(str(DOCS / "build.py"))["settings_page"]()
    assert (DOCS / "settings.md").read_text("utf-8") == derived, "run `make docs` and commit docs/settings.md"


def test_the_table_of_kernels_is_what_their_classes_say() -> None:
    page = (DOCS / "kernels.md").read_text("utf-8")
    derived = runpy.run_path(str(DOCS / "build.py"))["with_kernels"]
    assert derived(page) == page, "run `make docs` and commit docs/kernels.md"
    assert derived(page.replace("| `Rbf(", "| `Other(")) == page
    assert all(f"| `{named.kind.__name__}(" in page for named in NAMED.values())


def test_the_table_of_formats_has_every_format_and_its_extensions() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]*) \|", (DOCS / "formats.md").read_text("utf-8"), re.M)
    assert {name for name, _ in rows} == FORMATS.keys()
    for name, extensions in rows:
        told = {word for word in extensions.replace(",", " ").split() if word[0] in "._"}
        assert told == set(FORMATS[name].extensions), name


@pytest.mark.parametrize("page", sorted(p.name for p in DOCS.glob("*.md")))
def test_links_between_pages_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)[)#]", (DOCS / page).read_text("utf-8")):
        assert (DOCS / target).exists(), target


def test_the_readme_counts_the_formats() -> None:
    told = re.search(r"converts between (\d+) formats", (DOCS.parent / "README.md").read_text("utf-8"))
    assert told is not None
    assert int(told[1]) == len(FORMATS)
