"""Takes docs/page-read.png and docs/page-corpus.png: the page of `chaffinch serve` on the sample of ingredient lines.

Run it from the project's root, with the packages of the group `page` and chromium: .venv/bin/python docs/run_page.py
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chaffinch import samples

DOCS = Path(__file__).parent
TRAINED = 100  # lines, so that there is something left to correct
TEXT = """2 large cans chopped tomatoes , drained
1 cup warm milk ( or oat milk ) for the dough
a pinch of sea salt"""


def written(path: Path, split: str, rows: int) -> None:
    """Some lines of the sample with their labels, one token on a line."""
    documents = samples.load("ingredients", split)[:rows]
    lines = (
        "".join(f"{w}\t{y}\n" for w, y in zip(d.words(), d.columns["y"], strict=True)) for d in documents
    )
    path.write_text("\n".join(lines), encoding="utf-8")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server with a tagger of few ingredient lines, and a corpus of more."""
    written(folder / "few.conll", "train", TRAINED)
    written(folder / "recipes.conll", "test", 600)
    command = [sys.executable, "-m", "chaffinch"]
    train = "train few.conll -o recipes.chaff --recipe crf --no-choose --folds 3"
    subprocess.run([*command, *train.split()], cwd=folder, check=True, capture_output=True)
    line = "serve recipes.chaff --data recipes.conll --train few.conll --port 0"
    with subprocess.Popen(
        [*command, *line.split()], cwd=folder, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = ""
        for part in process.stderr:
            said += part
            if found := re.search(r"serving at\s+(http\S+)", said):
                yield found[1]
                break
        process.terminate()


def photographed(page: Any, address: str) -> None:
    """A text that is read and explained, and a corpus after one correction was learnt."""
    page.set_default_timeout(20_000)
    page.goto(address)
    page.fill("#text", TEXT)
    page.wait_for_selector("#read-2 .word")
    page.locator("#read-0 .word", has_text="chopped").click()
    page.wait_for_selector(".waterfall")
    page.screenshot(path=DOCS / "page-read.png")
    page.click("nav >> text=Corpus")
    page.wait_for_selector("#row-0 .word")
    page.select_option("[aria-label=Order]", "doubt")
    page.wait_for_selector("text=the most doubtful first")
    wrong = page.locator(".row", has=page.locator(".differs")).first.locator(".differs")
    for word in wrong.evaluate_all("words => words.map((word) => word.id)"):
        page.click(f"#{word}")
        right = page.locator(".gold strong").inner_text()  # as the file has it
        page.locator(".labels bdi", has_text=re.compile(f"^{right}$")).click()
    page.keyboard.press("Enter")
    page.wait_for_selector(".state.corrected")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".changes", timeout=60_000)
    page.wait_for_selector(".said >> text=learnt in")
    page.click("[aria-label=Dismiss]")
    page.click(".evidence >> text=Close")
    page.wait_for_timeout(300)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=DOCS / "page-corpus.png")


def main() -> None:
    """Take both pictures."""
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1200, "height": 760}, reduced_motion="reduce")
        photographed(context.new_page(), address)
        browser.close()


if __name__ == "__main__":
    main()
