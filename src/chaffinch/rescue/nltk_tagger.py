"""Models of NLTK's averaged perceptron tagger: a folder of three JSON files, or a tagger in memory.

NAME.weights.json   {feature: {tag: weight}}
NAME.tagdict.json   {word: tag}
NAME.classes.json   [tag, ...]
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chaffinch.errors import ModelFileError
from chaffinch.model.dictionary import LabelDictionary
from chaffinch.model.foreign_chain import OrderedRows
from chaffinch.model.nltk_perceptron import BEFORE, NltkPerceptron
from chaffinch.recipes.rescued import RescuedTagger
from chaffinch.rescue.chains import check_labels, labels_in_order
from chaffinch.rescue.foreign import ForeignFile, ForeignFormat, ForeignObject, Rescued
from chaffinch.text.document import WORD

PARTS = ("weights", "tagdict", "classes")


def read(file: ForeignFile) -> Rescued:
    """The tagger of a folder, or of the folder that contains one of the three files."""
    place = file.path
    if place is None:
        raise file.refusal("NLTK's tagger is three JSON files: give their folder")
    stem = None
    folder = place
    if not place.is_dir():
        folder, (stem, _, _) = place.parent, place.name.rpartition(".json")[0].rpartition(".")
    weights, tagdict, classes = (_json(_part(file, folder, part, stem)) for part in PARTS)
    return tagger(file, weights, tagdict, classes)


def of_object(original: Any) -> Rescued:
    """The tagger of an ``nltk.tag.PerceptronTagger``."""
    file = ForeignFile("nltk.tag.PerceptronTagger", b"")
    classes = sorted(original.model.classes or original.classes)
    return tagger(file, original.model.weights, original.tagdict, classes)


def tagger(file: ForeignFile, weights: Any, tagdict: Any, classes: Any) -> Rescued:
    """The tagger of the contents of the three files, which are checked."""
    if (
        not isinstance(classes, Sequence)
        or isinstance(classes, str)
        or not all(isinstance(c, str) for c in classes)
    ):
        raise file.refusal("expected a list of tags, found something else")
    if not isinstance(tagdict, Mapping) or not all(isinstance(v, str) for v in (*tagdict, *tagdict.values())):
        raise file.refusal("expected a tag for each word of the tag dictionary, found something else")
    if not isinstance(weights, Mapping) or not all(isinstance(w, Mapping) for w in weights.values()):
        raise file.refusal("expected {feature: {tag: weight}}, found something else")
    listed = {word: tag for word, tag in tagdict.items() if tag}  # NLTK ignores empty tags of the dictionary
    labels = sorted({*classes, *listed.values()})
    check_labels(file, 0, labels)
    if not classes:
        raise file.refusal("expected at least one tag, found none")
    if wrong := next((y for y in labels if " " in y or not y or y in BEFORE), None):
        raise file.refusal(f"expected tags without spaces, found {wrong!r}")
    place, chosen = {y: n for n, y in enumerate(labels)}, set(classes)
    rows, columns, values = [], [], []
    for f, given in enumerate(weights.values()):
        for tag, weight in given.items():
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not np.isfinite(weight):
                raise file.refusal(
                    f"expected a finite weight of tag {str(tag)[:20]!r}, found {str(weight)[:20]}"
                )
            if tag in chosen:  # weights of other tags are never used
                rows.append(f)
                columns.append(place[tag])
                values.append(float(weight))
    model = NltkPerceptron(
        labels_in_order(labels),
        tuple(weights),
        OrderedRows.of(np.array(rows, np.int64), np.array(columns, np.int64), np.array(values), len(weights)),
        np.array([y in chosen for y in labels], bool),
        LabelDictionary(tuple(listed), tuple(place[tag] for tag in listed.values())),
    )
    told = f"an NLTK perceptron tagger: {len(labels)} labels, {len(weights):,} features, {len(listed):,} words listed"
    attributes = {"columns_": (WORD,), "confidence_": None}
    return Rescued(told, None, model, RescuedTagger(tool="NLTK's perceptron tagger"), attributes)


def _part(file: ForeignFile, folder: Path, part: str, stem: str | None) -> Path:
    found = [folder / f"{stem}.{part}.json"] if stem is not None else sorted(folder.glob(f"*.{part}.json"))
    if len(found) != 1 or not found[0].is_file():
        raise file.refusal(f"expected one file *.{part}.json beside the others, found none or several")
    return found[0]


def _json(path: Path) -> Any:
    content = path.read_bytes()
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as e:
        raise ModelFileError(f"{path}: expected JSON: {e}") from None


def _holds(start: bytes) -> bool:
    opening = start.lstrip()[:1] == b"{"
    return opening and any(
        b'"' + name in start for name in (b"i suffix ", b"i-1 tag ", b"i pref1 ", b"i+1 word ")
    )


def _holds_folder(path: Path) -> bool:
    return all(any(path.glob(f"*.{part}.json")) for part in PARTS)


FORMAT = ForeignFormat("nltk", _holds, read, _holds_folder)
OBJECT = ForeignObject("nltk", "PerceptronTagger", of_object)
