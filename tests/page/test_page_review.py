"""Corrections on the page, by keyboard and by pointer, in a real browser, before a server of toy models."""

from pathlib import Path

from playwright.sync_api import Dialog, Page, expect

from page.conftest import SENTENCE, Faults, labels, opened, typed
from page.stub import Stub


def test_a_whole_review_by_keyboard(page: Page, stub: Stub) -> None:
    press = page.keyboard.press
    while page.evaluate("document.activeElement.textContent") != "Corpus":
        press("Tab")
    press("Enter")
    page.wait_for_selector("#row-0")
    while page.evaluate("document.activeElement.id") != "row-0":
        press("Tab")
    press("ArrowDown")  # Niels Bohr met her in New York .
    assert labels(page, 1) == [("Bohr", "PER"), ("New York", "LOC")]
    expect(page.locator(".gold")).to_have_text("The file says B-PER for Niels.")
    buttons = page.locator(".labels button").all()
    keys = {button.locator("bdi").inner_text(): button.locator("kbd").inner_text() for button in buttons}
    press(keys["PER"])
    assert labels(page, 1) == [("Niels", "PER"), ("Bohr", "PER"), ("New York", "LOC")]
    press("Shift+ArrowRight")
    assert labels(page, 1) == [("Niels Bohr", "PER"), ("New York", "LOC")]
    press("Control+z")
    press("Control+z")
    assert labels(page, 1) == [("Bohr", "PER"), ("New York", "LOC")]
    press("Control+y")
    press("Control+y")
    assert labels(page, 1) == [("Niels Bohr", "PER"), ("New York", "LOC")]
    press("Enter")
    expect(page.locator(".said")).to_contain_text("number 1")
    assert stub.toy.corrections[0]["tags"] == ["B-PER", "I-PER", "O", "O", "O", "B-LOC", "I-LOC", "O"]
    expect(page.locator("#row-2")).to_be_focused()
    expect(page.locator(".journal")).to_contain_text("1 saved, not learnt")
    press("ArrowDown")  # The train from Bergen to Oslo was late .
    for _ in range(3):
        press("ArrowRight")
    press(keys["LOC"])
    press("Enter")
    expect(page.locator("#row-4")).to_be_focused()

    press("Control+Enter")
    expect(page.locator("#outcome")).to_be_focused()
    changed = page.locator(".outcome p").first.inner_text()
    others = 2 * (len(stub.toy.lines) // 7 - 1)  # every other copy of the two sentences
    assert (
        changed
        == f"2 corrections learnt in 0.21 s: version names-1. {others} other rows changed: {others} fixed."
    )
    assert page.locator(".change").count() == others
    assert "Bergen O → B-LOC" in page.locator(".change", has_text="Bergen").first.inner_text()
    assert labels(page, 8) == [("Niels Bohr", "PER"), ("New York", "LOC")]
    expect(page.locator(".journal")).to_contain_text("nothing waits, 2 learnt")
    press("Tab")
    press("Enter")  # take back
    expect(page.locator(".said")).to_contain_text("Version names-0 answers again")
    assert stub.toy.active == 0
    assert labels(page, 8) == [("Bohr", "PER"), ("New York", "LOC")]


def test_undo_takes_a_saved_correction_back_and_redo_saves_it_again(page: Page, stub: Stub) -> None:
    opened(page, "Corpus")
    page.locator("#row-4").focus()
    page.locator("#row-4 .word").first.click()
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect(page.locator(".state.corrected")).to_have_count(1)
    page.keyboard.press("Control+z")
    expect(page.locator(".state.draft")).to_have_count(1)
    assert [one["state"] for one in stub.toy.corrections] == ["undone"]
    page.keyboard.press("Control+z")
    expect(page.locator(".states")).to_have_count(0)
    page.keyboard.press("Control+Shift+Z")
    page.keyboard.press("Control+Shift+Z")
    expect(page.locator(".state.corrected")).to_have_count(1)
    assert [one["state"] for one in stub.toy.corrections] == ["undone", "waiting"]


ADA, PARIS = ("Ada Lovelace", "PER"), ("Paris", "LOC")
KEYS: list[tuple[str, list[tuple[str, str]]]] = [  # from the first word of the first sentence
    ("Shift+ArrowLeft", [("Ada", "PER"), PARIS]),
    ("Shift+ArrowRight", [("Ada Lovelace went", "PER"), PARIS]),
    ("Shift+ArrowRight " * 4, [("Ada Lovelace went to Paris in", "PER")]),
    ("Control+Shift+ArrowRight", [("Lovelace", "PER"), PARIS]),
    ("Control+Shift+ArrowRight " * 3, [("Lovelace", "PER"), PARIS]),
    ("Delete", [PARIS]),
    ("1", [("Ada Lovelace", "LOC"), PARIS]),
    ("End ArrowLeft ArrowLeft Shift+ArrowRight 2", [ADA, PARIS, ("in spring", "ORG")]),
    ("End ArrowLeft ArrowLeft Shift+ArrowLeft Shift+ArrowLeft 2", [ADA, ("to Paris in", "ORG")]),
    ("Delete Escape", [ADA, PARIS]),
]


def test_a_pasted_text_is_corrected_and_learnt_by_keyboard(page: Page, stub: Stub) -> None:
    typed(page, "Bergen is cold .")
    page.focus("#read-0")
    page.keyboard.press("1")
    page.keyboard.press("Enter")  # saves, since there is a change
    expect(page.locator(".state.corrected")).to_have_count(1)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#outcome")).to_be_focused()
    assert stub.toy.lexicons[-1]["Bergen"] == "LOC"
    assert "18 other rows changed: 18 fixed." in page.locator(".outcome").inner_text()


def test_keys_change_spans_and_undo_takes_every_change_back(page: Page) -> None:
    opened(page, "Corpus")
    page.wait_for_selector("#row-0 .word")
    page.focus("#row-0")
    for keys, expected in KEYS:
        page.keyboard.press("Home")
        for key in keys.split():
            page.keyboard.press(key)
        assert labels(page) == expected, keys
        while page.locator(".said").inner_text().startswith("There is nothing to undo") is False:
            page.keyboard.press("Control+z")
        assert labels(page) == [ADA, PARIS], keys
        page.click("[aria-label=Dismiss]")
        page.focus("#row-0")


def test_changes_outlive_a_reload_and_are_warned_about_until_they_are_saved(page: Page) -> None:
    asked: list[str] = []

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", leave)
    opened(page, "Corpus")
    page.wait_for_selector("#row-3 .word")
    page.reload()
    page.wait_for_selector("#row-3 .word")
    assert asked == []
    page.locator("#row-3 .word").nth(3).click()
    page.keyboard.press("1")
    page.wait_for_selector(".state.draft")
    before = labels(page, 3)
    page.reload()
    page.wait_for_selector(".state.draft")
    assert asked == ["beforeunload"]
    assert labels(page, 3) == before
    page.select_option(".tools select", "cautious")
    expect(page.locator(".state.draft")).to_have_count(0)
    page.select_option(".tools select", "names")
    page.wait_for_selector(".state.draft")
    page.locator("#row-3 .word").nth(3).click()
    page.keyboard.press("Enter")
    page.wait_for_selector(".state.corrected")
    page.reload()
    page.wait_for_selector(".state.corrected")
    assert asked == ["beforeunload"]


def test_a_text_and_its_changes_outlive_a_reload(page: Page) -> None:
    page.on("dialog", lambda dialog: dialog.accept())
    typed(page, SENTENCE)
    page.focus("#read-0")
    page.keyboard.press("2")
    page.wait_for_selector(".state.draft")
    before = labels(page, name="read")
    page.reload()
    page.wait_for_selector(".state.draft")
    assert labels(page, name="read") == before
    assert page.input_value("#text") == SENTENCE


def test_documents_are_corrected_by_keys(page: Page, stub: Stub) -> None:
    page.select_option(".tools select", "feeling")
    opened(page, "Corpus")
    expect(page.locator("#row-2 [aria-selected=true]")).to_contain_text("good")
    page.focus("#row-0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("1")
    expect(page.locator("#row-2 [aria-selected=true]")).to_contain_text("bad")
    page.keyboard.press("Enter")
    expect(page.locator(".said")).to_contain_text("number 1")
    assert stub.toy.corrections[0]["label"] == "bad"
    page.locator("#row-3").focus()
    page.keyboard.press("?")
    expect(page.locator(".verdict")).to_contain_text("good")


def test_rows_are_sorted_filtered_searched_and_paged(page: Page, stub: Stub) -> None:
    opened(page, "Corpus")
    expect(page.locator(".pager")).to_contain_text(f"1–50 of {len(stub.toy.lines)}")
    page.focus("#row-0")
    page.keyboard.press("PageDown")
    expect(page.locator(".pager")).to_contain_text("51–100")
    page.keyboard.press("/")
    page.keyboard.type("Acme")
    page.keyboard.press("Enter")
    expect(page.locator(".pager")).to_contain_text("of 36")
    page.select_option("[aria-label=Label]", "LOC")
    expect(page.locator(".pager")).to_contain_text("of 18")
    page.fill("#search", "")
    page.keyboard.press("Enter")
    page.select_option("[aria-label=Label]", "")
    page.click("text=suspects")
    expect(page.locator(".suspect")).to_have_count(18)
    page.select_option("[aria-label=Order]", "doubt")
    expect(page.locator(".said")).to_contain_text("the most doubtful first")
    sure = [float(text.strip(" %")) for text in page.locator(".gutter span:last-child").all_inner_texts()]
    assert sure == sorted(sure)


def test_corrections_are_exported_with_the_name_the_server_gave(page: Page) -> None:
    opened(page, "Corpus")
    page.wait_for_selector("#row-0")
    with page.expect_download() as waiting:
        page.select_option("[aria-label=Export]", "conll")
    assert waiting.value.suggested_filename == "corrected.conll"
    assert Path(waiting.value.path()).read_text("utf-8").startswith(SENTENCE)


def test_versions_and_the_journal_are_listed_and_taken_back(page: Page, stub: Stub) -> None:
    tokens = ["Bergen", "."]
    stub.toy.correct({"model": "names", "tokens": tokens, "tags": ["B-LOC", "O"]})
    stub.toy.learn({})
    page.reload()
    opened(page, "Versions")
    expect(page.locator(".versions li")).to_have_count(2)
    page.click("text=Make it answer")
    expect(page.locator(".version")).to_have_text("names-0")
    assert stub.toy.active == 0
    page.click("text=Take back")
    expect(page.locator("td .state")).to_have_text("undone")


def test_the_report_has_curves_calibration_and_confusion_with_their_numbers(
    page: Page, faults: Faults
) -> None:
    opened(page, "Report")
    expect(page.locator(".confusion")).to_contain_text("702")
    assert page.locator(".scores dd").all_inner_texts() == ["91.4", "96.0 %", "1.6 points", "names-0"]
    assert page.locator(".chart").count() == 3
    for summary in page.locator("summary").all():
        summary.click()
    assert page.locator(".numbers tbody tr").count() == 12 + 12 + 4
    page.select_option(".tools select", "trees")
    expect(page.locator("[role=alert]")).to_contain_text("There is no report")
    faults.allow("404")
