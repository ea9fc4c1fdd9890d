"""What label templates saw, in words: ``y[-1]=NAME|pos[0]=NN`` for the key of a context.

    key = o B^k + sum_j c_j B^(j-1),    B = Y + 3

o is the observation, c_j the label at the j-th of the template's k offsets, or one of three symbols.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chaffinch.features.templates import parse
from chaffinch.model.template_encoder import TemplateEncoder

SYMBOLS = ("<s>", "</s>", "?")  # before the start, behind the end, not yet decided


def context_names(
    encoder: TemplateEncoder,
    labels: Sequence[str],
    template: NDArray[np.int32],
    key: NDArray[np.uint64],
) -> list[str]:
    """A name for each context, given by its template and key."""
    return [
        _name(encoder, (*labels, *SYMBOLS), l, number)
        for l, number in zip(template.tolist(), key.tolist(), strict=True)
    ]


def _name(encoder: TemplateEncoder, codes: Sequence[str], l: int, key: int) -> str:
    described = encoder.features.label_templates[l]
    seen = []
    for offset in described.offsets:
        key, code = divmod(key, len(codes))
        seen.append(f"y[{offset}]={codes[code]}")
    if parse(described.text)[0].observed:
        seen.append(encoder.features.observation_name(l, key))
    return "|".join(seen)
