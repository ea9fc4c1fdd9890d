"""What tools say of the page: types and accessibility; its parts agree with the library and with npm's packages."""

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from chaffinch.text.schemes import SCHEMES, spans, tags_of
from page.conftest import PHONE, WIDE
from page.stub import PAGE, Stub

HERE = Path(__file__).parent


def test_types_agree(packages: Path) -> None:
    checker = packages / ".bin" / "tsc"
    done = subprocess.run([checker, "-p", HERE], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("ours", "theirs"), [("preact", "preact/dist/preact.mjs"), ("htm", "htm/dist/htm.mjs")]
)
def test_vendored_files_are_those_of_npm(ours: str, theirs: str, packages: Path) -> None:
    assert (PAGE / "vendor" / f"{ours}.mjs").read_bytes() == (packages / theirs).read_bytes()
    licence = (packages / theirs).parents[1] / "LICENSE"
    assert (PAGE / "vendor" / f"{ours}.LICENSE").read_bytes() == licence.read_bytes()


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_axe_finds_nothing(look: str, browser: Browser, stub: Stub, packages: Path) -> None:
    tokens = ["Bergen", "."]
    stub.toy.correct({"model": "names", "tokens": tokens, "tags": ["B-LOC", "O"]})
    context = browser.new_context(
        viewport=PHONE if look == "phone" else WIDE,  # type: ignore[arg-type]
        color_scheme="dark" if look == "dark" else "light",
        reduced_motion="reduce",
        bypass_csp=True,  # for the checker, which is injected
    )
    page = context.new_page()
    page.goto(stub.url)
    page.fill("#text", "Ada Lovelace went to Paris in spring .\nسافرت ليلى إلى دمشق أمس .")
    page.wait_for_selector(".span")
    page.locator(".word", has_text="Paris").click()
    page.wait_for_selector(".waterfall")
    page.add_script_tag(path=packages / "axe-core" / "axe.min.js")
    rules = {"runOnly": ["color-contrast"]} if look == "dark" else {}
    found = {"read": faults(page, rules)}
    page.click(".evidence >> text=Close")
    page.click("nav >> text=Compare")
    page.wait_for_selector("#second-0 .span")
    found["compare"] = faults(page, rules)
    page.click("nav >> text=Corpus")
    page.wait_for_selector("#row-0 .span")
    page.locator("#row-3 .word").nth(3).click()
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.wait_for_selector(".state.corrected")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".changes")
    found["corpus"] = faults(page, rules)
    page.select_option("select[aria-label=Order]", "next")
    page.wait_for_selector(".row >> text=once(ORG)")
    page.click("text=2 rules of the decoder")
    found["next"] = faults(page, rules)
    if look != "phone":
        found |= others(page, rules)
    context.close()
    assert {view: what for view, what in found.items() if what} == {}


def others(page: Page, rules: dict[str, Any]) -> dict[str, list[str]]:
    """Faults of the views that look the same on a phone."""
    found = {}
    page.keyboard.press("Tab")
    if page.locator(".evidence >> text=Close").count():
        page.click(".evidence >> text=Close")
    page.click("nav >> text=Versions")
    page.wait_for_selector(".numbers td")
    found["versions"] = faults(page, rules)
    page.click("nav >> text=Report")
    page.wait_for_selector(".confusion")
    for summary in page.locator("summary").all():
        summary.click()
    found["report"] = faults(page, rules)
    page.click("nav >> text=Read")
    for model, text in (
        ("trees", "a bird"),
        ("links", "the house ||| la maison"),
        ("feeling", "fine"),
        ("parts", "2 cups"),
    ):
        page.fill("#text", text)
        page.select_option(".tools select", model)
        page.wait_for_selector("main .drawing, main .options, main .stack")
        found[model] = faults(page, rules)
    return found


def faults(page: Page, rules: dict[str, Any]) -> list[str]:
    """Faults of what is shown, each with its rule and its first element."""
    report: dict[str, Any] = page.evaluate(
        "(rules) => axe.run(document, { resultTypes: ['violations'], ...rules })", rules
    )
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0]['failureSummary'][:200]}"
        for one in report["violations"]
    ]


def test_tags_and_spans_are_those_of_the_library(page: Page) -> None:
    chance = random.Random(3)
    cases = []
    for name, scheme in SCHEMES.items():
        for _ in range(40):
            n = chance.randrange(1, 9)
            letters = [scheme.spelling.get(letter, letter) for letter in scheme.letters]
            given = [chance.choice(["O", *(f"{c}-{t}" for c in letters for t in "XY")]) for _ in range(n)]
            found = [[s.start, s.end - 1, s.label] for s in spans(given, scheme)]
            cases.append([name, given, found, tags_of(spans(given, scheme), n, scheme)])
    wrong = page.evaluate(
        """async (cases) => {
            const { extents, tagsOf } = await import("/page/schemes.js");
            return cases.filter(([scheme, given, spans, tags]) => {
                const found = extents(given, scheme);
                const listed = found.map(({ first, last, label }) => [first, last, label]);
                return JSON.stringify(listed) !== JSON.stringify(spans) ||
                    JSON.stringify(tagsOf(found, given.length, scheme)) !== JSON.stringify(tags);
            });
        }""",
        cases,
    )
    assert wrong == []


def test_offsets_are_converted_as_python_counts(page: Page) -> None:
    chance = random.Random(4)
    cases = []
    for _ in range(60):
        text = "".join(chance.choice("aé🐦𝔘 ש👩‍🔬\n") for _ in range(chance.randrange(0, 20)))
        bounds = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        cases.append(
            [
                {"text": text, "tokens": [bounds], "spans": [{"start": bounds[0], "end": bounds[1]}]},
                text[slice(*bounds)],
            ]
        )
    wrong = page.evaluate(
        """async (cases) => {
            const { received, wordsOf } = await import("/page/offsets.js");
            return cases.filter(([result, word]) => {
                const given = received(result);
                const [{ start, end }] = given.spans;
                return wordsOf(given)[0] !== word || given.text.slice(start, end) !== word;
            });
        }""",
        cases,
    )
    assert wrong == []


def test_signals_tell_their_readers_once_and_nobody_else(page: Page) -> None:
    seen = page.evaluate(
        """async () => {
            const { batch, computed, effect, signal } = await import("/page/live.js");
            const [a, b] = [signal(1), signal(10)];
            const sum = computed(() => a.value + b.value);
            const seen = [];
            const stop = effect(() => { seen.push(a.value > 5 ? "high" : sum.value); });
            batch(() => { a.value = 2; b.value = 20; });
            a.value = 2;
            a.value = 6;
            b.value = 30;  // not read any more
            stop();
            a.value = 1;
            return seen;
        }"""
    )
    assert seen == [11, 22, "high"]


def test_evidence_of_words_that_look_alike_is_kept_apart(page: Page) -> None:
    groups = [
        {"word": "the", "at": 0, "kind": "word", "value": 1.0, "terms": []},
        {"word": "the", "at": 3, "kind": "word", "value": -2.0, "terms": []},
        {"word": "the", "at": 0, "kind": "shape", "value": 0.5, "terms": [{"name": "shape=x", "value": 0.5}]},
        {"word": None, "at": None, "kind": "bias", "value": 0.25, "terms": []},
    ]
    script = """async (groups) => {
        const { summed } = await import("/page/evidence.js");
        return ["word", "kind"].map((by) => summed(groups, by).map(({ key, value }) => [key, value]));
    }"""
    by_word, by_kind = page.evaluate(script, groups)
    assert by_word == [["the (2)", -2], ["the", 1.5], ["the whole text", 0.25]]
    assert by_kind == [["word", -1], ["shape", 0.5], ["bias", 0.25]]
