"""The semi-Markov tagger: spans are the parts, so that features see whole phrases."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chaffinch.errors import ConfigError
from chaffinch.knobs import knob
from chaffinch.learners.maximum_likelihood import MaximumLikelihood
from chaffinch.learners.perceptron import Perceptron
from chaffinch.learners.problem import Problem
from chaffinch.model.segments import SegmentModel, SpanEncoder, labels_of, structure_of
from chaffinch.modelfile import ModelFile
from chaffinch.progress import Progress
from chaffinch.recipes.encoding import phrase_files
from chaffinch.recipes.recipe import Recipe, TaggingTask, Trained
from chaffinch.scorers import Layout, Linear
from chaffinch.structures.segments import Segment, Segmentation
from chaffinch.text.document import LABEL
from chaffinch.text.gazetteers import Gazetteers
from chaffinch.text.schemes import OUTSIDE, detect_column, spans

LEARNERS = ("likelihood", "perceptron")


@dataclass(frozen=True, kw_only=True)
class SemiCrf:
    """A conditional random field over segments: p(y|x) = exp(s(x, y)) / Z(x), y a cut into labelled spans.

    Sarawagi and Cohen 2004, "Semi-Markov conditional random fields for information extraction".
    """

    learner: str = knob(
        "likelihood", "conditional likelihood by L-BFGS, or the averaged perceptron", choices=LEARNERS
    )
    l2: float = knob(2.0, "likelihood: L2 penalty", low=0.0)
    steps: int = knob(40, "likelihood: most steps", low=1)
    epochs: int = knob(10, "perceptron: passes over the training data", low=1)
    longest: int = knob(8, "longest span in tokens; longer ones are learnt in pieces", low=1)
    min_count: int = knob(2, "leave rarer features out", low=1)
    gazetteers: str | None = knob(None, "files of phrases, separated by commas, or a folder of .txt files")


def train(task: TaggingTask, config: SemiCrf) -> Trained:
    """Encode spans, learn, keep the weights."""
    column = task.table.columns[LABEL]
    scheme = detect_column(column, task.table.ptr)
    if scheme is None:
        raise ConfigError(
            "recipe semi-crf labels spans, and these labels are not those of a tag scheme; use crf"
        )
    if task.features is not None:
        raise ConfigError("recipe semi-crf has features of its own; leave the features out")
    gold = [spans(tags, scheme) for tags in task.table.lists(LABEL)]
    types = (OUTSIDE, *sorted({span.label for found in gold for span in found}))
    L = min(config.longest, max((s.end - s.start for found in gold for s in found), default=1))
    gazetteers = None if config.gazetteers is None else Gazetteers.read(phrase_files(config.gazetteers))
    columns = task.columns[:2]
    rows = SpanEncoder.found(task.table, columns, L, gazetteers)
    keys, counts = np.unique(rows.keys, return_counts=True)
    encoder = SpanEncoder(columns, L, keys[counts >= config.min_count], gazetteers)
    Y = len(types)
    place = {name: y for y, name in enumerate(types)}
    lengths = np.diff(task.table.ptr).tolist()
    answers = [
        _segmented([(place[s.label], s.start, s.end) for s in found], T, L)
        for found, T in zip(gold, lengths, strict=True)
    ]
    layout = Layout.of({"segment": (len(encoder.keys), Y), "pair": (Y, Y), "start": (Y,), "end": (Y,)})
    examples = [(x, y) for x, y in zip(encoder.examples(task.table, rows), answers, strict=True) if y]
    structure = structure_of(Y, L)
    history: list[Progress] = []

    def noted(progress: Progress) -> bool:
        history.append(progress)
        return task.on_epoch(progress)

    learner: MaximumLikelihood | Perceptron = MaximumLikelihood(l2=config.l2, steps=config.steps)
    if config.learner == "perceptron":
        learner = Perceptron(epochs=config.epochs, seed=task.seed)
    scorer = learner.fit(Problem(structure, Linear(layout), examples), noted)
    return Trained(
        SegmentModel(encoder, scorer, structure, types, scheme, labels_of(types, scheme, column.types)),
        history,
    )


def load(file: ModelFile) -> SegmentModel:
    """The model of a file."""
    return SegmentModel.loaded(file)


def _segmented(found: Sequence[tuple[int, int, int]], T: int, L: int) -> Segmentation:
    """Spans, in pieces where they are too long, and a segment of length 1 for every token outside."""
    segments: list[Segment] = []
    at = 0
    for label, start, end in [*sorted(found, key=lambda s: s[1]), (0, T, T)]:
        segments += (Segment(t, t + 1, 0) for t in range(at, start))
        segments += (Segment(t, min(t + L, end), label) for t in range(start, end, L))
        at = end
    return tuple(segments)


RECIPE = Recipe("semi-crf", "conditional random field over whole spans", SemiCrf, train, load)
