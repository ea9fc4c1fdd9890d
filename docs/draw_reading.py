"""Draws docs/reading.svg, the picture of the README: a tagger's answer with its runners-up and certainty.

Run it from the project's root: .venv/bin/python docs/draw_reading.py
"""

from pathlib import Path

from chaffinch import Tagger, samples
from chaffinch.files import writing_text
from chaffinch.report.html import Html, tag

SENTENCE = "1 large can chopped tomatoes , drained".split()
CELL, ROW, LEFT, TOP = 92, 34, 96, 46
COLOURS = {
    "QTY": "#3b6fb6",
    "SIZE": "#7a55b0",
    "UNIT": "#2a8a7c",
    "NAME": "#b5533c",
    "PREP": "#8a7a22",
    "PUNC": "#777777",
    "COMMENT": "#5a6b2f",
    "PURPOSE": "#a03c7a",
}


def drawn(k: int = 3) -> Html:
    """The k best readings under the words, and a bar for the certainty of each word's best label."""
    documents = samples.load("ingredients", "train")
    tagger = Tagger("hmm").fit([d.words() for d in documents], [d.columns["y"] for d in documents])
    readings = tagger.predict_kbest([SENTENCE], k)[0]
    certainty = tagger.predict_marginals([SENTENCE])[0].max(axis=1)
    width, height = LEFT + CELL * len(SENTENCE) + 16, TOP + ROW * k + 64
    marks = [tag("rect", x=0, y=0, width=width, height=height, rx=10, fill="#fbfaf7", stroke="#d9d4c8")]
    for t, word in enumerate(SENTENCE):
        x = LEFT + CELL * t + CELL / 2
        marks.append(_text(word, x, TOP - 16, size=16, weight="600"))
        bar = 28 * float(certainty[t])
        y = TOP + ROW * k + 42
        marks.append(
            tag("rect", x=x - 14, y=y - bar, width=28, height=bar, rx=3, fill="#3b6fb6", opacity=0.75)
        )
        marks.append(_text(f"{certainty[t]:.2f}", x, y + 14, size=11, fill="#555555"))
    for row, (score, labels) in enumerate(readings):
        y = TOP + ROW * row
        marks.append(_text(f"log p {score:.1f}", 50, y + 20, size=11, fill="#777777"))
        for t, label in enumerate(labels):
            x = LEFT + CELL * t
            same = row > 0 and label == readings[0][1][t]
            fade = 0.25 if same else 1.0
            colour = COLOURS.get(label, "#777777")
            marks.append(
                tag("rect", x=x + 6, y=y, width=CELL - 12, height=ROW - 8, rx=6, fill=colour, opacity=fade)
            )
            marks.append(_text(label, x + CELL / 2, y + 18, size=12, fill="#ffffff", weight="600"))
    marks.append(_text("certainty", 50, TOP + ROW * k + 40, size=11, fill="#777777"))
    return tag(
        "svg",
        tag("title", "Three readings of an ingredient line"),
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        font_family="system-ui, sans-serif",
    )


def _text(content: str, x: float, y: float, size: int, fill: str = "#222222", weight: str = "400") -> Html:
    return tag("text", content, x=x, y=y, text_anchor="middle", font_size=size, font_weight=weight, fill=fill)


if __name__ == "__main__":
    with writing_text(Path(__file__).with_name("reading.svg")) as stream:
        stream.write(drawn() + "\n")
