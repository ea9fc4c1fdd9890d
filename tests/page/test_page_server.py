"""The page before the real server: a person reads, asks why, corrects, teaches, takes back and exports."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from chaffinch import Tagger
from chaffinch.rules import once
from page.conftest import WIDE
from page.serving import Process, classifier, name_sentences, tagger, write_columns

STRANGER = (["Zoe", "lives", "in", "Bern"], ["B-PER", "O", "O", "B-LOC"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder: Path = tmp_path_factory.mktemp("served")
    X, y = name_sentences(40)
    train = write_columns(folder / "train.conll", X, y)
    # A name that the model has never seen comes first, and then in sentences that are not corrected.
    others = [
        (["Zoe", "left", "Rome", "."], ["B-PER", "O", "B-LOC", "O"]),
        (["the", "road", "to", "Zoe"], ["O"] * 3 + ["B-LOC"]),
    ]
    rows = [STRANGER, *others, *zip(X, y, strict=True)]
    data = write_columns(folder / "letters.conll", [words for words, _ in rows], [tags for _, tags in rows])
    single = Tagger("crf", folds=0, threads=1, rules=[once("LOC")]).fit(X, y)
    single.save(folder / "single.chaff")
    models = [tagger(folder / "names.chaff"), classifier(folder / "mood.chaff"), folder / "single.chaff"]
    with Process(*models, "--data", data, "--train", f"names={train}", "--token", "open-sesame") as running:
        yield running


@pytest.fixture
def page(browser: Browser, server: Process) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{server.url}/#token=open-sesame")
    page.wait_for_selector("#text")
    yield page
    context.close()
    assert faults == []


def spans(page: Page, line: str) -> list[str]:
    return page.locator(f"#{line} .span").all_inner_texts()


def test_a_text_is_read_explained_and_compared(page: Page) -> None:
    page.fill("#text", "Ann Bob left Oslo .\n🐦 Eve lives in Rome")
    page.wait_for_selector("#read-1 .span")
    assert spans(page, "read-0") == ["Ann BobPER", "OsloLOC"]
    assert spans(page, "read-1")[-2:] == ["EvePER", "RomeLOC"]
    page.locator("#read-0 .word", has_text="Oslo").click()
    page.wait_for_selector(".waterfall")
    values = [
        float(text.replace("−", "-")) for text in page.locator(".waterfall td.number").all_inner_texts()
    ]
    assert sum(values[:-1]) == pytest.approx(values[-1], abs=0.006 * len(values))
    assert page.locator(".readings li").count() > 1
    page.select_option(".why select", "B-PER")
    expect(page.locator(".waterfall")).to_have_attribute(
        "aria-label", "Evidence for B-LOC against B-PER: the scores add up to the lead"
    )
    page.select_option(".tools select", "mood")
    page.fill("#text", "lovely tea")
    expect(page.locator("#read-0 [aria-selected=true]")).to_contain_text("+")


def test_a_review_by_keyboard_is_journalled_learnt_taken_back_and_exported(
    page: Page, server: Process
) -> None:
    headers = {"X-Chaffinch-Token": "open-sesame"}
    press = page.keyboard.press
    page.click("nav >> text=Corpus")
    page.wait_for_selector("#row-0 .word")
    page.focus("#row-0")
    press("0")
    buttons = page.locator(".labels button").all()
    keys = {button.locator("bdi").inner_text(): button.locator("kbd").inner_text() for button in buttons}
    press(keys["LOC"])
    press("Control+z")
    press(keys["PER"])
    assert "ZoePER" in spans(page, "row-0")
    press("Enter")
    expect(page.locator(".state.corrected")).to_have_count(1)
    expect(page.locator(".journal")).to_contain_text("1 saved, not learnt")
    _, journal = server.ask("/corrections?model=names", headers=headers)
    assert [(one["tags"], one["state"]) for one in journal["corrections"]] == [(STRANGER[1], "waiting")]
    _, pinned = server.ask("/predict", {"model": "names", "tokens": STRANGER[0]}, headers=headers)
    assert pinned["results"][0]["tags"] == STRANGER[1]

    before = page.locator(".version").inner_text()
    press("Control+Enter")
    expect(page.locator("#outcome")).to_be_focused(timeout=30_000)
    after = page.locator(".version").inner_text()
    assert after != before
    listed = page.locator(".change").all_inner_texts()
    assert all("Zoe lives in Bern" not in text for text in listed)
    expect(page.locator(".journal")).to_contain_text("1 learnt")
    press("Tab")
    press("Enter")
    expect(page.locator(".version")).to_have_text(before)
    _, models = server.ask("/models", headers=headers)
    assert models["models"][0]["version"] == before

    with page.expect_download() as waiting:
        page.select_option("[aria-label=Export]", "jsonl")
    exported = [json.loads(line) for line in Path(waiting.value.path()).read_text("utf-8").splitlines()]
    assert len(exported) == 43
    page.click("nav >> text=Versions")
    page.click("text=Take back >> nth=0")
    expect(page.locator("td .state")).to_have_text("undone")


def test_the_report_measures_the_corpus(page: Page) -> None:
    page.click("nav >> text=Report")
    page.wait_for_selector(".confusion", timeout=30_000)
    assert page.locator(".confusion tbody tr").count() >= 3
    assert page.locator(".scores dd").count() >= 3


def test_suspects_are_waited_for(page: Page) -> None:
    page.click("nav >> text=Corpus")
    page.wait_for_selector("#row-0 .word")
    page.click("text=suspects")
    expect(page.locator(".reading")).to_have_attribute("aria-busy", "false", timeout=60_000)


def test_the_rules_of_a_model_are_shown_and_the_one_that_changed_an_answer(page: Page) -> None:
    page.select_option(".tools select", "single")
    page.fill("#text", "Ann left Rome .\nRome is in Oslo")
    page.wait_for_selector("#read-1 .span")
    page.click("text=1 rule of the decoder")
    assert page.locator("details .code").inner_text() == "once(LOC)"
    first, second = page.locator(".row").all()
    assert first.locator(".gold").count() == 0
    assert second.locator(".gold").inner_text().startswith("once(LOC): ")
    assert "B-LOC → " in second.locator(".gold").inner_text()


def test_the_queue_of_what_to_label_next_is_reviewed(page: Page, server: Process) -> None:
    page.click("nav >> text=Corpus")
    page.wait_for_selector("#row-0 .word")
    page.select_option("select[aria-label=Order]", "next")
    page.wait_for_selector(".row >> text=drawn at random")
    page.wait_for_selector(".row >> text=the model is uncertain about it")
    chosen = page.locator("#row-0").inner_text()
    page.focus("#row-0")
    page.keyboard.press("Enter")
    page.wait_for_selector(".state.corrected")
    page.keyboard.press("PageDown")
    expect(page.locator("#row-0")).not_to_have_text(chosen)
    assert page.locator(".state.corrected").count() == 0
