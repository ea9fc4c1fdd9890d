"""A tenth of a corpus held out, where nobody gave held-out sentences or texts."""

import numpy as np

from chaffinch.errors import DataError
from chaffinch.lab.parts import Part, Texts, taken
from chaffinch.text.table import TokenTable

EVERY = 10


def part_split_off(part: Part) -> tuple[Part, Part]:
    """As ``split_off``, of sentences or of texts."""
    if not isinstance(part, Texts):
        return split_off(part)
    N = len(part.texts)
    if N < EVERY:
        raise DataError(f"{N} texts are too few to hold a tenth out: give held-out ones, --dev")
    tenth = range(EVERY - 1, N, EVERY)
    return taken(part, [n for n in range(N) if n not in tenth]), taken(part, tenth)


def split_off(table: TokenTable) -> tuple[TokenTable, TokenTable]:
    """All sentences but every tenth, and every tenth.

    >>> table = TokenTable.from_lists({"w": [[str(n)] for n in range(20)]})
    >>> rest, tenth = split_off(table)
    >>> rest.n_sentences, tenth.lists("w")
    (18, [['9'], ['19']])
    """
    tenth = np.arange(table.n_sentences) % EVERY == EVERY - 1
    if not tenth.any():
        raise DataError(
            f"{table.n_sentences} sentences are too few to hold a tenth out: give held-out ones, --dev"
        )
    return table.of_sentences(~tenth), table.of_sentences(tenth)
