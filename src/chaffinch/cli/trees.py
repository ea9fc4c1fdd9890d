"""Trees on the command line: how parsers are trained on treebanks, how they parse, what they hold."""

import json as json_text
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chaffinch.cli.console import progress_bar
from chaffinch.cli.task import Contents, Explaining, Prediction, Task, Training, refuse_other_format
from chaffinch.cli.training_report import clock, keep_trained
from chaffinch.corpus import Format, read
from chaffinch.corpus.brackets import bracketed, nodes, stripped
from chaffinch.corpus.sentences import as_sentences
from chaffinch.errors import DataError
from chaffinch.estimators.parser import Parser
from chaffinch.evaluate.trees import score_trees
from chaffinch.files import display_name, writing_text
from chaffinch.lab.input_columns import words_to_parse
from chaffinch.model.parsing import SpanChance
from chaffinch.model.pcfg import PcfgModel
from chaffinch.model.span_parser import SpanParserModel
from chaffinch.recipes.parsers import DEFAULT_PARSER, PARSERS
from chaffinch.text.document import Document, Tree
from chaffinch.trust.explanation import Explanation


def holds_trees(_path: Path, format: Format) -> bool:
    """A file of bracketed trees."""
    return "tree" in format.carries


def train(asked: Training) -> None:
    """Train a parser on files of trees and write it to one file."""
    parts = {"train": [tree for path in asked.data for tree in _trees(path, asked.from_format)]}
    if asked.dev is not None:
        parts["dev"] = _trees(asked.dev, asked.from_format)
    config = TASK.configured(asked.recipe, asked.settings)
    parser = Parser(config, seed=asked.seed, threads=asked.threads)
    with progress_bar() as listener, clock() as took:
        parser.fit(parts["train"], on_epoch=listener)
    scores = {name: _scores(parser, trees) for name, trees in parts.items()}
    facts = {"trees": len(parts["train"]), "labels": len(parser.labels_)}
    keep_trained(asked, parser, took, scores, facts)


def predict(parser: Parser, asked: Prediction) -> None:
    """Write one tree per line; --kbest: K lines of score, tab and tree for each sentence, then an empty line.

    --marginals: a line of start, end, label and probability for each likely phrase, then an empty line.
    """
    parser.threads = asked.threads
    if not (asked.json or asked.marginals or asked.kbest is not None):
        refuse_other_format(asked.output, "tree", "a .mrg or .txt file")
    sentences = words_to_parse(asked.data, asked.from_format)
    if asked.marginals:
        _write_chances(sentences, parser.predict_marginals(sentences), asked)
        return
    with writing_text(asked.output) as out:
        if asked.kbest is None and asked.nth is None:
            for words, tree in zip(sentences, parser.predict(sentences), strict=True):
                found = bracketed(tree)
                line = found if not asked.json else _record(words, [(None, tree)])
                out.write(line + "\n")
            return
        wanted = asked.kbest or asked.nth or 1
        for words, parses in zip(sentences, parser.predict_kbest(sentences, wanted), strict=True):
            shown = parses if asked.kbest is not None else parses[-1:]
            if asked.json:
                out.write(_record(words, shown) + "\n")
            elif asked.kbest is None:
                out.write(bracketed(shown[0][1]) + "\n")
            else:
                out.writelines(f"{score:.6f}\t{bracketed(tree)}\n" for score, tree in shown)
                out.write("\n")


def _write_chances(
    sentences: Sequence[Any], found: Sequence[Sequence[SpanChance]], asked: Prediction
) -> None:
    with writing_text(asked.output) as out:
        for words, chances in zip(sentences, found, strict=True):
            if asked.json:
                row = {"w": _plain(words), "spans": [asdict(one) for one in chances]}
                out.write(json_text.dumps(row, ensure_ascii=False) + "\n")
            else:
                out.writelines(f"{one.start}\t{one.end}\t{one.label}\t{one.p:.4f}\n" for one in chances)
                out.write("\n")


def inspect(parser: Parser, top: int, label: str | None) -> Contents:
    """The likeliest rules of each label of a grammar, the strongest pairs of parent and child of a span parser."""
    model: Any = parser.model_
    rows: dict[str, list[tuple[str, float]]] = {}
    if isinstance(model, PcfgModel):
        names = model.symbols.symbols
        for (a, b, c), weight in zip(model.structure.rules.tolist(), model.weights.tolist(), strict=True):
            rows.setdefault(names[a], []).append((f"{names[b]}  {names[c]}", weight))
        title = "likeliest rules (log-probability)"
    else:
        assert isinstance(model, SpanParserModel)
        names = model.symbols.symbols
        for side, table in (("left", model.fine.left), ("right", model.fine.right)):
            for child, parent in zip(*table.nonzero(), strict=True):
                entry = (f"{names[child] or 'a word'} on the {side}", float(table[child, parent]))
                rows.setdefault(names[parent] or "a word", []).append(entry)
        title = "strongest children of each label"
    kept = {
        name: sorted(entries, key=lambda entry: -entry[1])[:top]
        for name, entries in sorted(rows.items())
        if label is None or name == label
    }
    return Contents(parser.labels_, title, kept)


def explain(parser: Parser, asked: Explaining) -> list[Explanation]:
    """Why each sentence got its tree."""
    parser.threads = asked.threads
    if asked.data is not None:
        return [parser.explain(words) for words in asked.chosen(words_to_parse(asked.data))]
    cut = as_sentences([Document(text=asked.words or "")], asked.source)
    return [parser.explain(document.words()) for document in asked.chosen(cut)]


TASK = Task(
    plural="trees",
    recipes=PARSERS,
    default=DEFAULT_PARSER,
    holds=holds_trees,
    estimator=Parser,
    train=train,
    predict=predict,
    inspect=inspect,
    explain=explain,
    takes=("kbest", "nth", "marginals"),
)


def _trees(path: Path, format: str | None) -> list[Tree]:
    found = [d.tree for d in read(path, format) if d.tree is not None]
    if not found:
        raise DataError(f"{display_name(path)}: has no tree")
    return found


def _scores(parser: Parser, trees: list[Tree]) -> dict[str, float]:
    found = score_trees(trees, parser.predict([_leaves(tree) for tree in trees]))
    return {
        "bracket.f1": found.bracket.f1,
        "exact_match": found.exact_match,
        "tag_accuracy": found.tag_accuracy,
    }


def _leaves(tree: Tree) -> list[str]:
    plain = stripped(tree)
    return [] if plain is None else [node.word for node in nodes(plain) if node.word is not None]


def _record(words: Any, parses: Sequence[tuple[float | None, Tree]]) -> str:
    row = {
        "w": _plain(words),
        "trees": [bracketed(tree) for _, tree in parses],
        "scores": [score for score, _ in parses if score is not None],
    }
    return json_text.dumps(row, ensure_ascii=False)


def _plain(words: Any) -> list[str]:
    """Words without the parts of speech that may be given with them."""
    return [word[0] if isinstance(word, tuple) else word for word in words]
