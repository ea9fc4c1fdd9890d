"""A real browser for the page: Debian's chromium, or the one that CHROMIUM names."""

import faulthandler
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from page.stub import Stub, serving

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PACKAGES = Path(__file__).parent / "node_modules"
SENTENCE = "Ada Lovelace went to Paris in spring ."
PATIENCE = 150  # seconds that a test may take
HUNG = 75  # the exit status of a run whose browser no longer answers: make test-page then tries once more
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 800}


@pytest.fixture(autouse=True)
def bounded(request: pytest.FixtureRequest) -> Iterator[None]:
    """End the run if a test hangs: some requests to a browser, such as to evaluate, are waited for without a limit."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def give_up() -> None:
        capture.suspend_global_capture()
        print(f"{request.node.nodeid} hangs", flush=True)
        faulthandler.dump_traceback(all_threads=True)
        os._exit(HUNG)

    timer = threading.Timer(PATIENCE, give_up)
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs chromium: apt-get install chromium, or name one in CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder of npm's packages."""
    if not (PACKAGES / "axe-core").is_dir():
        pytest.skip("needs packages of npm: run `make test-page`, or npm ci in tests/page")
    return PACKAGES


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving() as running:
        yield running


class Faults(list[str]):
    """What the browser complained about; ``allow`` names complaints that a test provokes."""

    def allow(self, part: str) -> None:
        self[:] = [fault for fault in self if part not in fault]


@pytest.fixture
def faults() -> Faults:
    """Filled by the page of the test."""
    return Faults()


@pytest.fixture
def page(browser: Browser, stub: Stub, faults: Faults) -> Iterator[Page]:
    """The page of a stub, opened; at the end the browser must not have complained."""
    context = browser.new_context(viewport=WIDE, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(stub.url)
    page.wait_for_selector("main select, main textarea")
    yield page
    context.close()
    assert faults == []


def typed(page: Page, text: str) -> None:
    """Type a text, and wait for its answer."""
    page.fill("#text", text)
    page.wait_for_selector(".row .word")


def labels(page: Page, row: int = 0, name: str = "row") -> list[tuple[str, str]]:
    """The spans of a row as they are drawn: text and label."""
    found = page.locator(f"#{name}-{row} .span").all()
    return [
        (" ".join(span.locator(".word").all_inner_texts()), span.locator(".tag").inner_text())
        for span in found
    ]


def opened(page: Page, view: str) -> None:
    """Open a view by its name."""
    page.click(f"nav >> text={view}")
