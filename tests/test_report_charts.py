"""Charts: well-formed, to scale, escaped, and every number told in a tooltip."""

import xml.etree.ElementTree as ET

import pytest

from chaffinch.report import Bar, Page, bars, figure, grouped_bars, heat_map, lines, reliability, table, tag
from chaffinch.report.charts import Scale, ticks

SVG = "{http://www.w3.org/2000/svg}"

CHARTS = {
    "bars": bars("F1 <by> type", [Bar("a & b", 0.5, 0.4, 0.6), Bar("long" * 20, 1.0)]),
    "grouped": grouped_bars("Two systems", ["x", "y"], {"ours": [0.5, 0.6], "other": [0.4, 0.7]}),
    "lines": lines(
        "Learning", {"dev": [(1, 0.5), (2, 0.7)]}, "epoch", "F1", {"dev": [(1, 0.4, 0.6), (2, 0.6, 0.8)]}
    ),
    "log": lines("Gap", {"gap": [(1, 500.0), (2, 5.0), (3, 0.0), (4, 0.05)]}, "pass", "gap", log=True),
    "heat": heat_map(
        "Transitions", ["B", "I"], ["B", "I"], [[1.5, -2.0], [0.0, 3.0]], diverging=True, digits=1
    ),
    "reliability": reliability("Calibration", [(0.1, 0.05, 10), (0.5, 0.0, 0), (0.9, 0.95, 30)]),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_is_well_formed_and_titled(name):
    root = ET.fromstring(CHARTS[name])
    assert root.tag == f"{SVG}svg"
    assert root.attrib["aria-label"] == root.find(f"{SVG}text").text
    assert [t.text for t in root.iter(f"{SVG}title")]


@pytest.mark.parametrize("name", CHARTS)
def test_every_mark_is_inside_the_box(name):
    root = ET.fromstring(CHARTS[name])
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for rect in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(rect.attrib[k]) for k in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height


def test_bars_are_as_long_as_their_values():
    root = ET.fromstring(bars("t", [Bar("half", 0.5), Bar("whole", 1.0)]))
    half, whole = (float(r.attrib["width"]) for r in root.iter(f"{SVG}rect"))
    assert whole == pytest.approx(2 * half, abs=0.02)


def test_equal_factors_are_equally_far_apart_on_a_logarithmic_axis():
    points = ET.fromstring(CHARTS["log"]).iter(f"{SVG}circle")
    top, middle, bottom = (float(c.attrib["cy"]) for c in points)  # zero has no place
    assert middle - top == pytest.approx(bottom - middle, abs=0.02)


def test_heat_deepens_with_the_value_and_turns_cold_below_zero():
    cells = list(ET.fromstring(CHARTS["heat"]).iter(f"{SVG}rect"))
    depth = [float(r.attrib["fill-opacity"]) for r in cells]
    assert depth[3] > depth[1] > depth[0] > depth[2]
    assert [r.attrib["fill"] == "var(--cold)" for r in cells] == [False, True, False, False]


def test_an_empty_chart_is_still_a_chart():
    for empty in (
        bars("t", []),
        lines("t", {}),
        lines("t", {"a": [(1, 0.0)]}, log=True),
        heat_map("t", [], [], []),
        reliability("t", []),
    ):
        ET.fromstring(empty)


def test_text_is_escaped_wherever_it_comes_from():
    page = Page("<script>", "a & b")
    page.add("<i>", figure(bars("t", [Bar("<b>", 0.1)])), table(["<u>"], [["<s>"]]), tag("p", "x", title='"'))
    text = page.render()
    for raw in ("<script>", "<i>", "<b>", "<u>", "<s>"):
        assert raw not in text
    assert 'title="&quot;"' in text


def test_ticks_are_round_and_inside():
    for low, high in ((0, 1), (-3, 7), (0.71, 0.734), (0, 123456)):
        found = ticks(low, high)
        assert 3 <= len(found) <= 11
        assert all(low <= t <= high for t in found)
    assert Scale(0, 10, 100, 200)(5) == 150
