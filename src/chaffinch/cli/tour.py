"""chaffinch tour: a walk through the toolkit on the embedded samples."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from chaffinch import samples
from chaffinch.cli.console import out
from chaffinch.cli.samples import picture
from chaffinch.corpus import detect, read_table
from chaffinch.corpus.conversion import convert
from chaffinch.doctor.examination import examine
from chaffinch.doctor.label_errors import CHECK
from chaffinch.estimators import Aligner, Classifier, Parser, Tagger, load
from chaffinch.evaluate import LabelPair, TagPair, TagScorer, intervals, score_alignments, score_tags
from chaffinch.evaluate.evaluation import title_of
from chaffinch.files import writing_text
from chaffinch.lab import Axis, Source, ablate, bench, dataset, presets, run_and_watch
from chaffinch.lab.handwriting import LINEAR, QUADRATIC, read_by
from chaffinch.lab.learning_page import learning_page
from chaffinch.lab.model_difference import BOTH_WRONG, BROKEN, FIXED, compare_models, verdict
from chaffinch.lab.plots import HEAD, charts, table_rows
from chaffinch.model.associations import Associations, ibm1_links
from chaffinch.recipes.aligners import MarginAligner
from chaffinch.recipes.span_parser import SpanParser
from chaffinch.report import alignment_grid
from chaffinch.report.html import svg_file
from chaffinch.report.trees import tree_picture
from chaffinch.text.document import LABEL, WORD, Document, Links
from chaffinch.text.table import TokenTable
from chaffinch.trust.explanation import explanation_page

PAIRS, TEST_PAIRS = 150, 60


def show_alignment(folder: Path) -> None:
    """Compare error rates, show a pair with its links, and draw the pair in a file of the folder."""
    train = _linked(samples.load("pairs", "train")[:PAIRS])
    test = _linked(samples.load("pairs", "test")[:TEST_PAIRS])
    pairs = [(words, list(links.target)) for words, links in test]
    sure, possible = [links.sure for _, links in test], [links.possible for _, links in test]
    began = time.perf_counter()
    X = [(words, list(links.target)) for words, links in train]
    aligner = Aligner(MarginAligner(epochs=5)).fit(
        X, [links.sure for _, links in train], possible=[links.possible for _, links in train], text=pairs
    )
    seconds = time.perf_counter() - began
    text = Associations.learnt([*X, *pairs], str.lower)
    both = [ibm1_links(text, pair) for pair in pairs]
    ways = {
        "IBM model 1": [there for there, _ in both],
        "IBM model 1, both ways": [there & back for there, back in both],
        f"matching, trained in {seconds:.1f} s": aligner.predict(pairs),
    }
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("links by", "error rate", "precision", "recall"):
        shown.add_column(heading, justify="left" if heading == "links by" else "right")
    for name, found in ways.items():
        scores = score_alignments(sure, possible, found)
        values = (scores.aer, scores.precision, scores.recall)
        shown.add_row(name, *(f"{100 * value:.2f} %" for value in values))
    out.print(shown)
    n = max(range(len(pairs)), key=lambda k: len(found[k]))
    document = Document.from_words(list(pairs[n][0]))
    document.links = Links(tuple(pairs[n][1]), found[n])
    out.print(picture(document, out.width))
    drawn = folder / "alignment.svg"
    with writing_text(drawn) as stream:
        stream.write(
            svg_file(alignment_grid("A pair and its links", *pairs[n], found[n], sure[n], possible[n]))
        )
    out.print(f"The pair is drawn in {drawn.name}.")


def _linked(documents: list[Document]) -> list[tuple[list[str], Links]]:
    return [(d.words(), d.links) for d in documents if d.links is not None]


REVIEW = "the museum was charming . the cafe was bland ."
SENTENCE = "1 large can chopped tomatoes , drained".split()
PAGE = "why.html"


def show_explaining(folder: Path) -> None:
    """Show a review and a token with the contributions to their labels, and write both as a page."""
    reviews = samples.load("reviews", "train")
    classifier = Classifier().fit([d.text for d in reviews], [d.labels[0] for d in reviews])
    first = classifier.explain(REVIEW)
    out.print(Text.assemble("How many stars does this review give? ", (REVIEW, "italic"), "\n"))
    out.print(first.text(5), soft_wrap=True)
    table = TokenTable.from_documents(samples.load("ingredients", "train"))
    words = TokenTable(table.ptr, {name: table.columns[name] for name in (WORD, "y")})
    second = Tagger("crf").fit(words).explain(SENTENCE, token=2)
    out.print(
        Text.assemble(
            "\nWhy does ", ("can", "italic"), " get its label? ", (" ".join(SENTENCE), "italic"), "\n"
        )
    )
    out.print(second.text(5), soft_wrap=True)
    with writing_text(folder / PAGE) as stream:
        stream.write(explanation_page([first, second], "two answers of the tour", None).render())
    out.print(f"\nThe contributions to a decision add up to its margin. {PAGE} shows them as bars.")


SENTENCES = ("the old poet ate the pizza with a fork .", "the old poet ate the pizza with olives .")
TREES = 600


def show_parsing(folder: Path) -> None:
    """Compare two parsers, show two trees, and draw the second in a file of the folder."""
    train = [d.tree for d in samples.load("trees", "train")[:TREES] if d.tree is not None]
    test = [d.tree for d in samples.load("trees", "test") if d.tree is not None]
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("recipe", "trained in", "bracket F1"):
        shown.add_column(heading, justify="left" if heading == "recipe" else "right")
    for name, recipe in (("pcfg", "pcfg"), ("parser", SpanParser(epochs=3))):
        began = time.perf_counter()
        parser = Parser(recipe).fit(train)
        seconds = time.perf_counter() - began
        shown.add_row(name, f"{seconds:.2f} s", f"{100 * parser.score(test):.2f} %")
    out.print(shown)
    out.print("\nThe words decide whether the last phrase attaches to the verb or to the pizza.\n")
    for sentence in SENTENCES:
        (tree,) = parser.predict([sentence.split()])
        document = Document.from_words(sentence.split())
        document.tree = tree
        out.print(picture(document, out.width))
    drawn = folder / "parse-tree.svg"
    with writing_text(drawn) as stream:
        stream.write(svg_file(tree_picture(SENTENCES[1], tree)))
    out.print(f"The second tree is drawn in {drawn.name}.")


EPOCHS, RATES, SEEDS = 4, ("0.01", "0.1"), 2


def show_laboratory(folder: Path) -> None:
    """Run a baseline experiment with its learning curve, an ablation with its chart, and a preset twice."""
    laid = bench(Source.parsed("reviews"), settings={"epochs": EPOCHS, "lemmatize": False})
    outcome = run_and_watch(laid.experiment, laid.splits)
    out.print(f"The baseline, {laid.experiment.recipe}, on the reviews:\n")
    for n, accuracy in enumerate(outcome.epochs, 1):
        out.print(f"epoch {n}: " + ", ".join(f"{name} {100 * a:.2f} %" for name, a in accuracy.items()))
    with writing_text(folder / "learning-curve.html") as stream:
        stream.write(
            learning_page("the baseline", outcome.estimator.history_, accuracy=outcome.epochs).render()
        )
    found = ablate(
        laid.experiment, [Axis("rate", RATES)], laid.splits, laid.kind, seeds=range(SEEDS), split="test"
    )
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for i, name in enumerate(HEAD):
        shown.add_column(name, justify="left" if i == 0 else "right")
    for row in table_rows(found.rows):
        shown.add_row(*row)
    out.print(f"\nAn ablation of the learning rate, {SEEDS} seeds, {found.score} in per cent:\n")
    out.print(shown)
    drawn = []
    for ending, chart in charts(found).items():
        drawn.append(f"ablation-reviews-rate{ending}.svg")
        with writing_text(folder / drawn[-1]) as stream:
            stream.write(svg_file(chart))
    preset = folder / "baseline.json"
    presets.write(presets.Preset.of(outcome, laid.splits, "baseline"), preset)
    before = presets.read(preset)
    again = run_and_watch(before.experiment, before.experiment.splits(dataset(before.experiment.source)))
    repeated = presets.Preset.of(again, laid.splits, before.name)
    differences = before.differences(repeated)
    out.print(
        "\nThe preset baseline.json, run again: "
        + (
            "; ".join(differences)
            or f"the same scores, the same model to the byte ({repeated.model_bytes:,} bytes)"
        )
    )
    out.print(f"The files: learning-curve.html, {', '.join(drawn)}, {preset.name}.")


SHOWN = 4


def show_retraining(folder: Path) -> None:
    """Find likely label errors, correct them, retrain, compare."""
    given, mended = folder / "slips", folder / "mended"
    for path, careful in ((given, False), (mended, True)):
        samples.export("ingredients", path, careful=careful, force=True)
    doubted = examine([given / "train.conll"], checks=[CHECK]).of(CHECK)
    slips = _slips()
    real = sum(finding.line in slips for finding in doubted)
    out.print(
        f"The sample has {len(slips)} simulated annotation errors. chaffinch doctor suspects {len(doubted)} labels by "
        f"cross-validation, and {real} of them are such errors:\n"
    )
    for finding in doubted[:SHOWN]:
        out.print(f"  line {finding.line}: {finding.what}", soft_wrap=True)
    models = {}
    for name, path in (("old", given), ("new", mended)):
        models[name] = folder / f"{name}.chaff"
        lines = samples.load("ingredients", careful=name == "new")
        Tagger("hmm").fit([d.words() for d in lines], [d.columns["y"] for d in lines]).save(models[name])
        out.print(f"\n{name}: an HMM trained on {path.name}/train.conll", end="")
    out.print("\n\nchaffinch compare old.chaff new.chaff mended/test.conll:\n")
    difference = compare_models(models["old"], models["new"], mended / "test.conll")
    shown = Table("score", "old", "new", "95 % interval of the change", box=None, pad_edge=False)
    assert difference.evaluation is not None
    for key in difference.evaluation.headline:
        c = (difference.evaluation.comparison or {})[key]
        shown.add_row(title_of(key), f"{c.other:.4f}", f"{c.ours:.4f}", f"{c.low:+.4f} to {c.high:+.4f}")
    out.print(shown)
    counts = (f"{len(difference.of_kind(kind))} {kind}" for kind in (FIXED, BROKEN, BOTH_WRONG))
    out.print(f"\n{difference.rows} lines: {', '.join(counts)}. {verdict(difference.evaluation).sentence}")


def _slips() -> set[int]:
    """The lines of the training file with a wrong label."""
    found, line = set[int](), 1
    both = (samples.load("ingredients", careful=careful) for careful in (False, True))
    for written, meant in zip(*both, strict=True):
        pairs = zip(written.columns["y"], meant.columns["y"], strict=True)
        found |= {line + t for t, (a, b) in enumerate(pairs) if a != b}
        line += len(written.tokens) + 1
    return found


EXAMPLES = """
chaffinch tour
chaffinch tour --yes --folder my-tour
"""


@dataclass
class Walk:
    """The folder of the tour's files, and the models that earlier chapters trained."""

    folder: Path
    models: dict[str, Path] = field(default_factory=dict)


def command(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before each chapter.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option(help="Keep the files in this folder; by default they are deleted when the tour ends."),
    ] = None,
) -> None:
    """Walk through the toolkit on the embedded samples; asks before each chapter."""
    with tempfile.TemporaryDirectory(prefix="chaffinch-tour-") as temporary:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        walk = Walk(folder or Path(temporary))
        began = time.perf_counter()
        for number, (title, chapter) in enumerate(CHAPTERS, 1):
            out.print(Rule(Text(f"{number}. {title}", "bold"), align="left"))
            if not yes and not typer.confirm(f"Show chapter {number}, {title}?", default=True):
                continue
            chapter(walk)
        out.print(Rule(f"the tour took {time.perf_counter() - began:.1f} s", align="left"))
        if folder is not None:
            out.print(f"Its files are in {folder}.")


def _samples(_: Walk) -> None:
    out.print(
        "The package has small synthetic corpora, which are the same on every machine for the same seed.\n"
    )
    listed = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("sample", "what it is", "train / dev / test"):
        listed.add_column(heading)
    for name, sample in samples.SAMPLES.items():
        sizes = " / ".join(f"{sample.sizes[split]:,}" for split in sample.splits)
        listed.add_row(name, sample.about, sizes)
    out.print(listed)
    for name in ("ingredients", "posts", "pairs", "letters"):
        document = samples.preview(name, 1)[0]
        out.print(Panel(picture(document, out.width - 4), title=name, title_align="left", border_style="dim"))


def _files(walk: Walk) -> None:
    for name in ("ingredients", "posts"):
        samples.export(name, walk.folder / name, force=True)
    path = walk.folder / "ingredients" / "train.conll"
    table = read_table(path)
    out.print(
        f"{path.name}: {detect(path).name} with {', '.join(table.columns)}; "
        f"{table.n_sentences:,} sentences, {table.n_tokens:,} tokens"
    )
    source, target = walk.folder / "posts" / "train.conll", walk.folder / "posts.jsonl"
    done = convert(source, target, to_format="jsonl-spans", force=True)
    out.print(f"chaffinch convert {source.name} {target.name}: {done.documents:,} documents")
    first = target.read_text(encoding="utf-8").splitlines()[0]
    out.print(Text(first, style="dim", overflow="ellipsis", no_wrap=True))


def _scores(_: Walk) -> None:
    gold = [d.columns[LABEL] for d in samples.load("posts", "test")]
    words = [d.words() for d in samples.load("posts", "test")]
    seen = _most_frequent_labels()
    guessed = [[seen.get(word, "O") for word in sentence] for sentence in words]
    out.print(
        "A baseline tagger, which gives each word its most frequent label, scored by four conventions:\n"
    )
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("convention", "precision", "recall", "F1", "untyped F1"):
        shown.add_column(heading, justify="left" if heading == "convention" else "right")
    for convention in ("conlleval", "seqeval", "seqeval-strict", "hmm-project"):
        scores = score_tags(gold, guessed, convention=convention).as_dict()
        row = [scores[f"span.micro.{key}"] for key in ("precision", "recall", "f1")] + [scores["untyped.f1"]]
        shown.add_row(convention, *(f"{value:.4f}" for value in row))
    out.print(shown)


def _taggers(walk: Walk) -> None:
    path = walk.folder / "ingredients"
    if not path.exists():
        samples.export("ingredients", path)
    train, test = read_table(path / "train.conll"), read_table(path / "test.conll")
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("recipe", "trained in", "token accuracy", "95 % interval", "sentence accuracy", "model"):
        shown.add_column(heading, justify="left" if heading == "recipe" else "right")
    for recipe in TOURED:
        model = walk.folder / f"{recipe}.chaff"
        began = time.perf_counter()
        tagger = Tagger(recipe).fit(train)
        seconds = time.perf_counter() - began
        tagger.save(model)
        walk.models[recipe] = model
        word, low, high, sentence = _accuracy(tagger, test)
        size = f"{model.stat().st_size / 1024:,.0f} KB"
        interval = f"{100 * low:.2f} to {100 * high:.2f}"
        shown.add_row(
            recipe, f"{seconds:.2f} s", f"{100 * word:.2f} %", interval, f"{100 * sentence:.2f} %", size
        )
    out.print(shown)


def _labellings(walk: Walk) -> None:
    if "hmm" not in walk.models:
        _taggers(walk)
    tagger = load(walk.models["hmm"])
    sentence = "1 large can chopped tomatoes , drained".split()
    out.print(Text.assemble("The three best labellings of ", (" ".join(sentence), "italic"), ":\n"))
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("log p", justify="right")
    for word in sentence:
        shown.add_column(word)
    for score, labels in tagger.predict_kbest([sentence], 3)[0]:
        shown.add_row(f"{score:.2f}", *labels)
    marginals = tagger.predict_marginals([sentence])[0]
    shown.add_row("marginal", *(f"{p.max():.2f}" for p in marginals), style="dim")
    out.print(shown)


def _documents(_: Walk) -> None:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("sample", "classes", "trained in", "accuracy", "95 % interval"):
        shown.add_column(heading, justify="left" if heading == "sample" else "right")
    for name in ("questions", "reviews", "topics"):
        train, test = samples.load(name, "train"), samples.load(name, "test")
        began = time.perf_counter()
        classifier = Classifier().fit([d.text for d in train], [d.labels[0] for d in train])
        seconds = time.perf_counter() - began
        pair = LabelPair.from_lists(
            [d.labels[0] for d in test], classifier.predict([d.text for d in test]).tolist()
        )
        right = intervals(pair.tally())["accuracy"]
        accuracy = float((pair.y == pair.y_hat).mean())
        interval = f"{100 * right.low:.1f} to {100 * right.high:.1f}"
        classes = str(len(classifier.classes_))
        shown.add_row(name, classes, f"{seconds:.2f} s", f"{100 * accuracy:.1f} %", interval)
    out.print(shown)


def _handwriting(_: Walk) -> None:
    train, test = (TokenTable.from_documents(samples.load("letters", p, n=300)) for p in ("train", "test"))
    out.print(
        "Letter images classified one by one, as chains, and as chains with a quadratic kernel of their pixels:\n"
    )
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("reader", "trained in", "letter accuracy", "word accuracy"):
        shown.add_column(heading, justify="left" if heading == "reader" else "right")
    for found in read_by([LINEAR[0], LINEAR[3], QUADRATIC[-1]], train, test):
        row = (f"{found.train_s:.2f} s", f"{100 * found.letters:.1f} %", f"{100 * found.words:.1f} %")
        shown.add_row(found.reader.name, *row)
    out.print(shown)


# The recipes of the chapter on taggers.
TOURED = ("emission", "hmm", "greedy", "easiest-first", "perceptron", "crf")

CHAPTERS: list[tuple[str, Callable[[Walk], None]]] = [
    ("the embedded samples", _samples),
    ("reading and converting files", _files),
    ("scoring conventions", _scores),
    ("taggers", _taggers),
    ("k-best labellings and marginals", _labellings),
    ("document classification", _documents),
    ("explanations", lambda walk: show_explaining(walk.folder)),
    ("handwriting: margins, chains and kernels", _handwriting),
    ("parsing", lambda walk: show_parsing(walk.folder)),
    ("word alignment", lambda walk: show_alignment(walk.folder)),
    ("the laboratory: an experiment, an ablation, a preset", lambda walk: show_laboratory(walk.folder)),
    ("label errors, retraining and comparison", lambda walk: show_retraining(walk.folder)),
]


def _most_frequent_labels() -> dict[str, str]:
    counts: dict[str, dict[str, int]] = {}
    for document in samples.load("posts", "train"):
        for word, label in zip(document.words(), document.columns[LABEL], strict=True):
            seen = counts.setdefault(word, {})
            seen[label] = seen.get(label, 0) + 1
    return {word: max(sorted(seen), key=seen.__getitem__) for word, seen in counts.items()}


def _accuracy(tagger: Tagger, table: TokenTable) -> tuple[float, float, float, float]:
    """Token accuracy with its interval, and sentence accuracy."""
    pair = TagPair.from_lists(table.lists(LABEL), tagger.predict(table))
    scorer = TagScorer(pair.labels)
    scores = scorer.score(pair.y, pair.y_hat, pair.ptr)
    found = intervals(scorer.tally(pair.y, pair.y_hat, pair.ptr))["token_accuracy"]
    return scores.token_accuracy, found.low, found.high, scores.sentence_accuracy
