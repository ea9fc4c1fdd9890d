"""python-crfsuite in its fastest use: feature strings of its chunking example, written out in plain Python."""

import itertools
import tempfile
from pathlib import Path
from typing import Any

Sentence = list[list[str]]


def read_columns(path: Path) -> list[Sentence]:
    """Sentences of tokens of columns, from a file of columns separated by tabs."""
    blocks = path.read_text().strip().split("\n\n")
    return [[line.split("\t") for line in block.split("\n")] for block in blocks]


def chunking_features(sentence: Sentence) -> list[list[str]]:
    """The 19 templates of CRFsuite's chunking example, with its marks of the first and the last token."""
    words = [token[0] for token in sentence]
    tags = [token[1] for token in sentence]
    T = len(words)
    rows = []
    for t in range(T):
        row = []
        for name, column in (("w", words), ("pos", tags)):
            for o in (-2, -1, 0, 1, 2):
                if 0 <= t + o < T:
                    row.append(f"{name}[{o}]={column[t + o]}")
        for o in (-1, 0):
            if t + o >= 0 and t + o + 1 < T:
                row.append(f"w[{o}]|w[{o + 1}]={words[t + o]}|{words[t + o + 1]}")
        for o in (-2, -1, 0, 1):
            if t + o >= 0 and t + o + 1 < T:
                row.append(f"pos[{o}]|pos[{o + 1}]={tags[t + o]}|{tags[t + o + 1]}")
        for o in (-2, -1, 0):
            if t + o >= 0 and t + o + 2 < T:
                row.append(f"pos[{o}]|..={tags[t + o]}|{tags[t + o + 1]}|{tags[t + o + 2]}")
        rows.append(row)
    rows[0].append("__BOS__")
    rows[-1].append("__EOS__")
    return rows


def tagging_features(sentence: Sentence) -> list[list[str]]:
    """Words, word pairs, lower case, prefixes and suffixes to 4 letters, shapes: 19 templates."""
    words = [token[0] for token in sentence]
    shapes = [_shape(word) for word in words]
    T = len(words)
    rows = []
    for t, word in enumerate(words):
        row = [f"w[{o}]={words[t + o]}" for o in (-2, -1, 0, 1, 2) if 0 <= t + o < T]
        row += [f"w[{o}]|={words[t + o]}|{words[t + o + 1]}" for o in (-1, 0) if t + o >= 0 and t + o + 1 < T]
        row.append(f"lower={word.lower()}")
        row += [f"p{n}={word[:n]}" for n in (1, 2, 3, 4) if len(word) >= n]
        row += [f"s{n}={word[-n:]}" for n in (1, 2, 3, 4) if len(word) >= n]
        row += [f"shape[{o}]={shapes[t + o]}" for o in (-1, 0, 1) if 0 <= t + o < T]
        rows.append(row)
    return rows


def trained(
    sentences: list[Sentence], features: Any, parameters: dict[str, Any], algorithm: str = "lbfgs"
) -> tuple[Any, list[str]]:
    """A tagger, and the lines of the trainer's log."""
    import pycrfsuite

    lines: list[str] = []

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        def message(self, message: str) -> None:
            lines.append(message)

    trainer = Trainer(algorithm, parameters, verbose=True)
    for sentence in sentences:
        trainer.append(features(sentence), [token[-1] for token in sentence])
    path = Path(tempfile.mkdtemp()) / "model.crfsuite"
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger, lines


def objective(lines: list[str]) -> float:
    """The last value of the loss that the trainer's log reports."""
    return float([line for line in lines if line.startswith("Loss:")][-1].split()[1])


def tagged(tagger: Any, sentences: list[Sentence], features: Any) -> list[list[str]]:
    """Labels of every sentence."""
    return [tagger.tag(features(sentence)) for sentence in sentences]


def _shape(word: str) -> str:
    """Letters and digits folded, runs squeezed."""
    folded = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)
    return "".join(c for c, _ in itertools.groupby(folded))
