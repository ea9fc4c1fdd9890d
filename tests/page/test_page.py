"""The page as a person reads it, in a real browser, before a server of toy models."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from page.conftest import PHONE, SENTENCE, Faults, labels, opened, typed
from page.stub import NAMES, PAGE, Stub, serving

LIMIT = 120_000  # bytes that a browser loads


# --- files ---------------------------------------------------------------------------------------------------------


def test_the_page_is_small_and_loads_nothing_from_elsewhere() -> None:
    loaded = [path for path in PAGE.rglob("*") if path.suffix in (".html", ".css", ".js", ".mjs", ".svg")]
    assert sum(path.stat().st_size for path in loaded) < LIMIT
    for path in loaded:
        addresses = set(re.findall(r"https?://[\w./-]+", path.read_text("utf-8")))
        assert addresses <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1999/xhtml",
            "http://www.w3.org/1998/Math/MathML",
        }, path


def test_the_page_has_no_script_or_style_inside() -> None:
    page = (PAGE / "index.html").read_text("utf-8")
    assert re.findall(r"<script[^>]*>(.*?)</script>", page, re.S) == [""]
    assert "<style" not in page
    assert not re.search(r"\son\w+=|\sstyle=", page)


# --- reading -------------------------------------------------------------------------------------------------------


def test_spans_are_drawn_over_the_text_with_their_certainty(page: Page, stub: Stub) -> None:
    typed(page, SENTENCE)
    assert labels(page, name="read") == [("Ada Lovelace", "PER"), ("Paris", "LOC")]
    sure = stub.toy.result("names", SENTENCE)["token_certainty"]
    paris = page.locator(".word", has_text="Paris")
    assert paris.get_attribute("aria-label") == f"Paris, LOC, {round(100 * sure[4])} %"
    shade = paris.locator("xpath=..").get_attribute("class")
    assert shade is not None
    assert ("shade4" in shade) == (sure[4] >= 0.9)
    page.focus("#read-0")
    page.keyboard.press("ArrowRight")
    assert page.locator("#read-0").get_attribute("aria-activedescendant") == "read-0-1"


def test_offsets_are_right_behind_characters_beyond_the_first_plane(page: Page) -> None:
    typed(page, "A 🐦 sang 👩‍🔬 Ada in New York 🎉 .")
    assert labels(page, name="read") == [("Ada", "PER"), ("New York", "LOC")]
    assert page.locator("#read-0").inner_text().startswith("A 🐦 sang 👩‍🔬 Ada")


def test_right_to_left_text_runs_and_is_walked_from_right_to_left(page: Page) -> None:
    typed(page, "سافرت ليلى إلى دمشق أمس .")
    line = page.locator("#read-0")
    assert line.evaluate("line => getComputedStyle(line).direction") == "rtl"
    assert labels(page, name="read") == [("ليلى", "PER"), ("دمشق", "LOC")]
    first, second = (page.locator(f"#read-0-{i}").bounding_box() for i in (0, 1))
    assert first is not None
    assert second is not None
    assert first["x"] > second["x"]
    line.focus()
    page.keyboard.press("ArrowLeft")  # to the word on the left, which is the next one
    assert line.get_attribute("aria-activedescendant") == "read-0-1"


def test_evidence_adds_up_to_the_lead_in_both_groupings(page: Page) -> None:
    typed(page, SENTENCE)
    page.locator(".word", has_text="Paris").click()
    page.wait_for_selector(".waterfall")

    def value(text: str) -> float:
        return float(text.replace("−", "-"))

    for grouping in ("by word", "by kind"):
        page.click(f"text={grouping}")
        cells = [value(text) for text in page.locator(".waterfall tr td.number").all_inner_texts()]
        assert sum(cells[:-1]) == pytest.approx(cells[-1])
    assert "shape" in page.locator(".waterfall").inner_text()
    page.locator(".fold", has_text="suffix").click()
    assert "suffix[0]=Paris" in "".join(page.locator(".term").all_inner_texts())
    assert page.locator(".readings li").all_inner_texts()[0].split("\n")[-1] == "the answer"


def test_why_not_another_label_is_asked_of_the_server(page: Page, stub: Stub) -> None:
    typed(page, SENTENCE)
    page.focus("#read-0")
    page.keyboard.press("Enter")
    page.wait_for_selector(".why select")
    page.select_option(".why select", "I-ORG")
    expect(page.locator(".waterfall")).to_have_attribute("aria-label", re.compile("against I-ORG"))
    asked = [body for _, path, body in stub.toy.requests if path == "/explain"]
    assert asked[-1]["instead"] == "I-ORG"
    assert asked[-1]["position"] == 0
    page.click(".evidence >> text=Close")
    expect(page.locator(".evidence.empty")).to_be_visible()


def test_two_models_stand_side_by_side_and_their_differences_are_marked(page: Page) -> None:
    opened(page, "Compare")
    page.fill("#text", SENTENCE)
    expect(page.locator(".summary")).to_have_text("2 of 8 words differ.")
    assert labels(page, name="first") == [("Ada Lovelace", "PER"), ("Paris", "LOC")]
    assert labels(page, name="second") == [("Paris", "LOC")]
    assert page.locator("#second-0 .differs").all_inner_texts() == ["Ada", "Lovelace"]


def test_plain_tags_stand_below_their_words(page: Page) -> None:
    page.select_option(".tools select", "parts")
    typed(page, "2 cups flour ,")
    assert page.locator("#read-0 .stack .tag").all_inner_texts() == ["NUM", "WORD", "WORD", "PUNCT"]


def test_trees_and_links_are_drawn_and_told_in_words(page: Page) -> None:
    page.select_option(".tools select", "trees")
    page.fill("#text", "a bird")
    expect(page.locator(".drawing svg")).to_have_attribute(
        "aria-label", "(S (NP (N a) (N bird)) (VP (V sings)))"
    )
    assert page.locator(".drawing .leaf").all_text_contents() == ["a", "bird", "sings"]
    assert page.locator(".drawing .edge").count() == 8
    page.select_option(".tools select", "links")
    expect(page.locator(".said")).to_contain_text("Write a pair on each line")
    page.fill("#text", "the house ||| la maison")
    page.wait_for_selector("text=As a list")
    page.click("text=As a list")
    assert page.locator(".pairs li").all_inner_texts() == ["the – la", "house – maison"]


# --- errors --------------------------------------------------------------------------------------------------------


def test_a_refusal_is_shown_in_the_words_of_the_server(page: Page, faults: Faults) -> None:
    opened(page, "Corpus")
    page.select_option("[aria-label=File]", "opinions")
    expect(page.locator("[role=alert]")).to_contain_text("The file opinions has rows of another kind")
    faults.allow("400")


def test_a_server_that_has_gone_is_named(page: Page, stub: Stub, faults: Faults) -> None:
    page.context.set_offline(True)
    page.fill("#text", SENTENCE)
    expect(page.locator("[role=alert]")).to_contain_text("Is chaffinch serve still running?")
    faults.allow("ERR_INTERNET_DISCONNECTED")


def test_the_token_of_the_address_is_sent_in_a_header_and_hidden(browser: Browser) -> None:
    with serving(token="sesame") as guarded:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{guarded.url}#token=sesame")
        page.wait_for_selector("#text")
        assert "sesame" not in page.url
        page.reload()
        page.wait_for_selector("#text")
        stranger = browser.new_context().new_page()
        stranger.goto(guarded.url)
        expect(stranger.locator("[role=alert]")).to_contain_text("The token is missing or wrong")
        stranger.context.close()
        context.close()


# --- many spans ----------------------------------------------------------------------------------------------------


def spans_painted(page: Page) -> int:
    """How many ranges the highlights hold; the text's own count must agree."""
    held = page.evaluate("[...CSS.highlights.values()].reduce((sum, one) => sum + one.size, 0)")
    assert page.locator(".painted").get_attribute("data-spans") == str(held)
    return int(held)


def scroll_through(page: Page) -> None:
    """Bring every line of a long text near the view, a screen at a time."""
    page.evaluate(
        """async () => {
            const box = document.querySelector(".painted");
            for (const line of [...box.children].filter((_, n) => n % 10 === 0)) {
                line.scrollIntoView({ block: "center" });
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 20)));
            }
        }"""
    )


def test_ten_thousand_spans_are_painted_at_once(page: Page) -> None:
    words = [word for word in NAMES if word.isascii()]
    lines = [" ".join(f"{words[(i + k) % 7]} met" for k in range(20)) + " ." for i in range(500)]
    session = page.context.new_cdp_session(page)
    session.send(
        "Performance.enable", {"timeDomain": "threadTicks"}
    )  # CPU time, as machines of tests are busy

    def milliseconds(script: str) -> float:
        """CPU time of the page's main thread in a script, and in drawing what it changed."""
        spent = []
        for act in ("", script):
            page.evaluate(f"(async () => {{ {act} }})()")
            page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)))")
            metrics = session.send("Performance.getMetrics")["metrics"]
            spent.append(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))
        return 1000 * (spent[1] - spent[0])

    asked = """
        const { post } = await import("/page/server.js");
        const { received } = await import("/page/offsets.js");
        const { results } = await post("predict", { model: "names", texts: window.lines });
        window.results = results.map(received);
    """
    drawn = """
        const { Painted } = await import("/page/painted.js");
        const { html, render } = await import("/page/live.js");
        const model = { kind: "tags", scheme: "BIO", labels: ["O", "B-LOC", "B-ORG", "B-PER"] };
        document.body.append(Object.assign(document.createElement("main"), { id: "apart" }));
        render(html`<${Painted} id="x" model=${model} results=${window.results} />`, document.getElementById("apart"));
        document.getElementById("apart").scrollIntoView();
    """
    page.evaluate("(lines) => { window.lines = lines; }", lines)
    milliseconds(asked)
    spent = milliseconds(drawn)
    print(f"10,000 spans drawn in {spent:.0f} ms of CPU")
    assert spent < 200  # generous: about 35 where it was written
    lines_in_view = page.evaluate(
        """() => {
            const box = document.getElementById("x");
            return [...box.querySelectorAll(".line")].filter((line) => {
                const { top, bottom } = line.getBoundingClientRect();
                return bottom > box.getBoundingClientRect().top && top < box.getBoundingClientRect().bottom;
            }).length;
        }"""
    )
    assert 20 * lines_in_view <= spans_painted(page) < 10_000  # those out of view wait
    scroll_through(page)
    assert spans_painted(page) == 10_000


def test_words_of_a_long_text_are_chosen_by_keys_and_pointer(page: Page) -> None:
    page.fill("#text", "Ada 🐦 met Bohr in Paris .\n" * 300)
    expect(page.locator(".painted")).to_have_attribute("data-spans", re.compile("[1-9]"), timeout=20_000)
    scroll_through(page)
    highlighted = page.evaluate(
        """[...CSS.highlights.values()].flatMap((one) => [...one])
            .map(({ startContainer: text, startOffset, endOffset }) => text.data.slice(startOffset, endOffset))"""
    )
    assert sorted(set(highlighted)) == ["Ada", "Bohr", "Paris"]
    assert len(highlighted) == spans_painted(page) == 900
    page.locator(".painted").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(".said")).to_contain_text("Bohr, B-PER")
    page.keyboard.press("Enter")
    expect(page.locator(".evidence h2")).to_have_text("Bohr")
    box = page.evaluate(
        """() => {
            const range = new Range();
            const text = document.querySelectorAll(".painted .line")[1].firstChild;
            range.setStart(text, 19);
            range.setEnd(text, 22);
            const { x, y, width, height } = range.getBoundingClientRect();
            return [x + width / 2, y + height / 2];
        }"""
    )
    page.mouse.click(*box)
    expect(page.locator(".evidence h2")).to_have_text("Paris")


def test_without_highlights_long_texts_are_built_of_elements(browser: Browser, stub: Stub) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("delete CSS.__proto__.highlights; delete CSS.highlights")
    page.goto(stub.url)
    page.fill("#text", "Ada met Bohr in Paris .\n" * 300)
    page.wait_for_selector("#read-299 .span")
    assert page.locator(".painted").count() == 0
    assert labels(page, 299, "read") == [("Ada", "PER"), ("Bohr", "PER"), ("Paris", "LOC")]
    context.close()


# --- looks ---------------------------------------------------------------------------------------------------------


def test_nothing_is_wider_than_a_phone(browser: Browser, stub: Stub) -> None:
    context = browser.new_context(viewport=PHONE)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(stub.url)
    for view in ("Read", "Compare", "Corpus", "Versions", "Report"):
        opened(page, view)
        if view == "Read":
            typed(page, SENTENCE)
        page.wait_for_timeout(150)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], view
    context.close()


def test_the_theme_follows_the_system_until_a_person_chooses(browser: Browser, stub: Stub) -> None:
    context = browser.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(stub.url)
    page.wait_for_selector("#text")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("[aria-label='Light colours']")
    assert page.evaluate(background) != dark
    page.reload()
    page.wait_for_selector("[aria-label='Dark colours']")
    context.close()
