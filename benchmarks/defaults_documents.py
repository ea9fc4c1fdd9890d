"""Classifiers with no setting given: beside the best of our own grid and a tuned rival, on corpora of several kinds.

    python -m benchmarks.defaults_documents [--within [--draws N [--first K] [--records FILE]]] [NAME ...]

The grid's best and the rival are chosen by five-fold cross-validation on the training split, or on the dev split if
there is one; the test split is read once for each of the three. Corpora without a split of their own are cut by a seed,
and all are with ``--within``, which reads training splits alone. "Behind on dev" is the lead of the grid's best over
the default on the dev split that it was chosen on, with its standard error. ``--draws`` repeats ``--within`` on
random cuts, see :mod:`benchmarks.document_draws`.
"""

import argparse
import csv
import gzip
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.corpora import corpus

KINDS = ("tf-idf", "words", "more-words", "words+characters", "characters", "sentences", "questions", "mail")
GRID = {
    "ridge": (0.1, 0.3, 1.0, 3.0),
    "crammer-singer": (0.1, 0.3, 1.0, 3.0),
    "svm": (0.1, 0.3, 1.0),
    "logistic": (1.0, 3.0, 10.0),
}
LONG = 300  # characters: if texts are longer on average, kinds for short texts are skipped, and vice versa
BINS = 15
MOST = 6000  # documents of a corpus that is cut in three


@dataclass(frozen=True)
class Corpus:
    """Texts to learn from, to choose on (none: cross-validation) and to test on, each with its labels."""

    train: tuple[list[str], list[str]]
    test: tuple[list[str], list[str]]
    dev: tuple[list[str], list[str]] | None = None


def table(path: str, text: str, label: str) -> tuple[list[str], list[str]]:
    csv.field_size_limit(1 << 30)
    name = corpus(path)
    opened = gzip.open if str(name).endswith("gz") else open
    with opened(name, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return [row[text] for row in rows], [row[label] for row in rows]


def tagged(path: str, separator: str = "\t") -> Iterator[tuple[list[str], list[str]]]:
    words: list[str] = []
    tags: list[str] = []
    for line in [*corpus(path).read_text(encoding="utf-8").split("\n"), ""]:
        if line.strip():
            words.append(line.split(separator)[0])
            tags.append(line.rsplit(separator, 1)[1])
        elif words:
            yield words, tags
            words, tags = [], []


def most_frequent_type(path: str, separator: str = "\t") -> tuple[list[str], list[str]]:
    """Sentences with the type that most of their names have, or none."""
    texts, labels = [], []
    for words, tags in tagged(path, separator):
        types = Counter(tag[2:] for tag in tags if tag.startswith("B-"))
        texts.append(" ".join(words))
        labels.append(types.most_common(1)[0][0] if types else "none")
    return texts, labels


def cut(texts: list[str], labels: list[str], *sizes: int, seed: int = 1) -> list[tuple[list[str], list[str]]]:
    order = list(range(len(texts)))
    random.Random(seed).shuffle(order)
    parts, start = [], 0
    for size in sizes:
        which = order[start : start + size]
        parts.append(([texts[n] for n in which], [labels[n] for n in which]))
        start += size
    return parts


def subjects(path: str) -> tuple[list[str], list[str]]:
    texts, labels = table(path, "text", "label")
    found = [re.search(r"^Subject: (.*)$", text, re.M) for text in texts]
    return [m.group(1) if m else "" for m in found], labels


def names() -> Corpus:
    texts, labels = [], []
    for kind in ("female", "male"):
        listed = corpus(f"gazetteers/names_{kind}.txt").read_text(encoding="utf-8").split("\n")
        own = [line.strip() for line in listed if line.strip() and not line.startswith("#")]
        texts += own
        labels += [kind] * len(own)
    train, test = cut(texts, labels, 4000, 3000)
    return Corpus(train, test)


def sample(name: str) -> Corpus:
    from chaffinch import samples

    parts = [samples.load(name, split) for split in ("train", "test")]
    train, test = (([d.text for d in part], [d.labels[0] for d in part]) for part in parts)
    return Corpus(train, test)


def fewer(whole: Corpus, size: int) -> Corpus:
    return Corpus(cut(*whole.train, size)[0], whole.test)


def within(whole: Corpus) -> Corpus:
    """The training part, cut in three."""
    size = min(len(whole.train[0]), MOST)
    train, dev, test = cut(*whole.train, 6 * size // 10, 2 * size // 10, 2 * size // 10)
    return Corpus(train, test, dev)


def sst5() -> Corpus:
    train, dev, test = (table(f"sst5/{part}.csv", "text", "label") for part in ("train", "dev", "test"))
    return Corpus(train, test, dev)


def trec(label: str) -> Corpus:
    return Corpus(table("trec_qc/train.csv", "text", label), table("trec_qc/test.csv", "text", label))


def news(read: Callable[[str], tuple[list[str], list[str]]]) -> Corpus:
    return Corpus(read("newsgroups20/train.csv.gz"), read("newsgroups20/test.csv.gz"))


def genres(part: str) -> tuple[list[str], list[str]]:
    """Sentences of the treebank and the genre of their document, which begins the name of the sentence."""
    texts, labels = [], []
    with gzip.open(corpus(f"ud_english_ewt/en_ewt-ud-{part}.conllu.gz"), "rt", encoding="utf-8") as stream:
        for line in stream:
            if line.startswith("# sent_id = "):
                labels.append(line[12:].split("-")[0])
            elif line.startswith("# text = "):
                texts.append(line[9:].strip())
    return texts, labels


def websites(part: str) -> tuple[list[str], list[str]]:
    """Ingredient lines as they were written, and the website that they are from."""
    with gzip.open(corpus("ingredients/meta.tsv.gz"), "rt", encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    own = [row for row in rows[1:] if row[0] == part]
    return [row[4] for row in own], [row[2] for row in own]


WHOLE: dict[str, Callable[[], Corpus]] = {
    "sst5": sst5,
    "trec": lambda: trec("coarse"),
    "trec fine": lambda: trec("fine"),
    "20news": lambda: news(lambda path: table(path, "text", "label")),
    "reviews": lambda: sample("reviews"),
    "topics": lambda: sample("topics"),
    "questions": lambda: sample("questions"),
    "20news subjects": lambda: news(subjects),
    "tweets": lambda: Corpus(
        most_frequent_type("sutd_hmm_2020/SG/train", " "),
        most_frequent_type("sutd_hmm_2020/SG/dev.out", " "),
    ),
    "posts": lambda: Corpus(most_frequent_type("wnut17/train.tsv"), most_frequent_type("wnut17/dev.tsv")),
    "names": names,
    "genres": lambda: Corpus(genres("train"), genres("test")),
    "websites": lambda: Corpus(websites("train"), websites("test")),
}
# The corpora of the tables: those of which all training documents are used, then the others with their number.
ENTIRE = ("sst5", "trec", "trec fine", "20news", "reviews", "topics", "questions", "posts", "names")
FEWER = {
    "20news subjects, 4000": ("20news subjects", 4000),
    "tweets, 5000": ("tweets", 5000),
    "genres, 3000": ("genres", 3000),
    "websites, 3000": ("websites", 3000),
    "trec, 60": ("trec", 60),
    "trec, 300": ("trec", 300),
    "trec fine, 800": ("trec fine", 800),
    "sst5, 500": ("sst5", 500),
}


def _fewer(name: str, size: int) -> Callable[[], Corpus]:
    return lambda: fewer(WHOLE[name](), size)


CORPORA: dict[str, Callable[[], Corpus]] = {name: WHOLE[name] for name in ENTIRE} | {
    name: _fewer(*of) for name, of in FEWER.items()
}


def default(data: Corpus) -> tuple[Any, float, float, float]:
    """The classifier with no setting, and CPU seconds, each the fastest of five in a warm process.

    The times are of the whole fit, of one training with the chosen settings, and of the same without calibration.
    """
    from chaffinch import Classifier

    def timed(make: Callable[[], Any]) -> tuple[float, Any]:
        found = []
        for _ in range(5):
            start = time.process_time()
            model = make().fit(*data.train)
            found.append(time.process_time() - start)
        return min(found), model

    took, made = timed(Classifier)
    features = made.choice_["features"] if made.choice_ else None
    one, _ = timed(lambda: Classifier(made.config_, features=features))
    bare, _ = timed(lambda: Classifier(made.config_, features=features, calibrate=False))
    return made, took, one, bare


def best_of_grid(data: Corpus) -> tuple[str, Any]:
    """The grid's best on the dev split, or in five folds of the training split."""
    from chaffinch import Classifier, DataError
    from chaffinch.recipes.classifiers import CLASSIFIERS

    best: tuple[float, str, Any] = (-1.0, "", None)
    for kind in kinds_for(data.train[0]):
        for recipe, penalties in GRID.items():
            for C in penalties:
                config = CLASSIFIERS.by_name(recipe).configured({"C": C})
                made = Classifier(config, features=kind, calibrate=False)
                try:
                    score = judged(made, data)
                except DataError:  # these texts have no such features
                    continue
                if score > best[0]:
                    best = (score, f"{kind} {recipe} {C:g}", made)
    return best[1], best[2].fit(*data.train)


def kinds_for(texts: list[str]) -> list[str]:
    """The kinds of features of the grid for texts of this length."""
    mean = sum(map(len, texts)) / len(texts)
    return [
        k
        for k in KINDS
        if (k not in ("sentences", "questions") or mean < 3 * LONG) and (k != "mail" or mean > LONG)
    ]


def judged(model: Any, data: Corpus) -> float:
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

    if data.dev is not None:
        return float(model.fit(*data.train).score(*data.dev))
    y = np.array(data.train[1])
    fewest = min(Counter(data.train[1]).values())
    folds = (StratifiedKFold if fewest >= 5 else KFold)(5, shuffle=True, random_state=0)
    return float(cross_val_score(model, np.array(data.train[0], dtype=object), y, cv=folds).mean())


def rival(data: Corpus) -> tuple[str, Any]:
    """scikit-learn's linear SVM and logistic regression on tf-idf of words and pairs, C tuned as the grid is."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    best: tuple[float, str, Any] = (-1.0, "", None)
    for name, make, penalties in (
        ("LinearSVC", lambda C: LinearSVC(C=C), (0.1, 0.3, 1.0, 3.0)),
        ("LogisticRegression", lambda C: LogisticRegression(C=C, max_iter=300), (3.0, 10.0, 30.0)),
    ):
        for C in penalties:
            words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
            model = make_pipeline(words, make(C))
            score = judged(model, data)
            if score > best[0]:
                best = (score, f"{name} {C:g}", model)
    return best[1], best[2].fit(*data.train)


def calibration_error(p: Any, right: Any) -> float:
    """The expected calibration error of the top label in bins of equal mass."""
    order = np.argsort(p, kind="stable")
    bins = [b for b in np.array_split(order, BINS) if len(b)]
    return float(sum(abs(p[b].mean() - right[b].mean()) * len(b) for b in bins) / len(p))


def behind(data: Corpus, made: Any, best: Any) -> str:
    """How far the default is behind the grid's best on dev, with the standard error of the paired difference."""
    if data.dev is None:
        return ""
    texts, y = data.dev[0], np.array(data.dev[1])
    d = (best.predict(texts) == y).astype(float) - (made.predict(texts) == y)
    return f"{100 * d.mean():.2f} ± {100 * d.std() / np.sqrt(len(d)):.2f}"


def chosen_settings(model: Any) -> str:
    """Features, recipe and penalty of the default."""
    chosen = model.choice_ or {"features": "", "recipe": "ridge", "settings": {}}
    return f"{chosen['features']} {chosen['recipe']} {chosen['settings'].get('C', '')}"


def print_table(wanted: list[str], inside: bool) -> None:
    print(
        "| corpus | default | chose | grid | best of grid | behind on dev | rival | | CPU s | trainings | ECE |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in wanted:
        data = within(CORPORA[name]()) if inside else CORPORA[name]()
        made, took, one, bare = default(data)
        p = made.predict_proba(data.test[0])
        right = made.classes_[p.argmax(axis=1)] == np.array(data.test[1])
        grid, best = best_of_grid(data)
        theirs, other = rival(data)
        print(
            f"| {name} | {100 * right.mean():.2f} | {chosen_settings(made)} | {100 * best.score(*data.test):.2f} | "
            f"{grid} | {behind(data, made, best)} | "
            f"{100 * other.score(*data.test):.2f} | {theirs} | {took:.2f} | {took / one:.1f} ({took / bare:.1f}) | "
            f"{calibration_error(p.max(axis=1), right):.3f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="corpora; default: all")
    parser.add_argument("--within", action="store_true", help="cut the training split in three")
    parser.add_argument("--draws", type=int, help="number of random cuts of the training split")
    parser.add_argument("--first", type=int, default=1, help="the seed of the first cut")
    parser.add_argument("--records", help="file to which a line of JSON is appended for each cut")
    asked = parser.parse_args()
    names = asked.names or list(CORPORA)
    if unknown := [name for name in names if name not in CORPORA]:
        parser.error(f"there is no corpus {unknown[0]!r}; there are {', '.join(CORPORA)}")
    if asked.draws is None:
        print_table(names, asked.within)
    elif not asked.within or asked.draws < 2:
        parser.error("--draws needs --within and at least 2 draws")
    else:
        from benchmarks.document_draws import print_draws

        print_draws(names, range(asked.first, asked.first + asked.draws), asked.records)


if __name__ == "__main__":
    main()
