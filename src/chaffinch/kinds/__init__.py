"""Kinds of data: one object each, in a table that every verb of the command line loops over."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from chaffinch.errors import ConfigError, DataError
from chaffinch.kinds.corpora import Corpus
from chaffinch.kinds.documents import DOCUMENTS
from chaffinch.kinds.kind import Kind
from chaffinch.kinds.links import LINKS
from chaffinch.kinds.lists import LISTS
from chaffinch.kinds.tags import TAGS
from chaffinch.kinds.trees import TREES
from chaffinch.text.document import Document

KINDS: tuple[Kind, ...] = (TAGS, DOCUMENTS, LINKS, TREES, LISTS)

__all__ = [
    "DOCUMENTS",
    "KINDS",
    "LINKS",
    "LISTS",
    "TAGS",
    "TREES",
    "Kind",
    "corpus_of",
    "kind_of_corpus",
    "kind_of_file",
    "kind_of_model",
]


def kind_of_file(path: str | Path, recipe: str | None = None, format: str | None = None) -> Kind:
    """The kind of a file, in the named or the detected format; tags if no other kind fits.

    A recipe of another kind is refused, and the file's recipes are listed.
    """
    found = next((kind for kind in reversed(KINDS) if kind.holds(Path(path), format)), TAGS)
    if recipe is not None and recipe not in {r.name for r in found.recipes}:
        owners = [kind.plural for kind in KINDS if recipe in {r.name for r in kind.recipes}]
        if owners:
            there = ", ".join(r.name for r in found.recipes)
            raise ConfigError(
                f"recipe {recipe} is for {' and '.join(owners)}, and {path} holds {found.plural}; "
                f"the recipes for {found.plural} are {there}"
            )
    return found


def kind_of_model(estimator: Any) -> Kind:
    """The kind of a loaded model, by its class or a base class of it."""
    own = [kind for kind in KINDS if type(estimator) is kind.estimator]
    return next(kind for kind in (*own, *KINDS) if isinstance(estimator, kind.estimator))


def kind_of_corpus(corpus: Corpus) -> Kind:
    """The kind of a corpus, by its class or a base class of it."""
    own = [kind for kind in KINDS if type(corpus) is kind.corpus]
    return next(kind for kind in (*own, *KINDS) if isinstance(corpus, kind.corpus))


def corpus_of(documents: Iterable[Document], where: str) -> Corpus:
    """Documents as a training corpus, by their annotations."""
    given = list(documents)
    if not given:
        raise DataError(f"{where}: expected at least one document, found none")
    for kind in KINDS:
        found = kind.of_documents(given, where)
        if found is not None:
            return found
    raise DataError(
        f"{where}: has nothing to learn: no tags, labels, trees or links; is another column the label?"
    )
