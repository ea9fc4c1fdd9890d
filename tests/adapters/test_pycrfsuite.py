"""What users of python-crfsuite have is read and trained as python-crfsuite does."""

from typing import Any

import numpy as np
import pycrfsuite
from hypothesis import given, settings
from hypothesis import strategies as st

from chaffinch._core import AttributeIndex

names = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=4)
numbers = st.floats(-100, 100, width=32) | st.integers(-5, 5) | st.booleans()
leaves = names | numbers | names.map(str.encode) | st.lists(names, max_size=3) | st.sets(names, max_size=3)
dicts = st.recursive(
    st.dictionaries(names, leaves, max_size=4),
    lambda inner: st.dictionaries(names, leaves | inner, max_size=3),
    max_leaves=8,
)
tokens = dicts | st.lists(names | names.map(str.encode), max_size=4) | st.sets(names, max_size=4)


@given(st.lists(tokens, max_size=4))
@settings(max_examples=300, deadline=None)
def test_tokens_are_flattened_as_python_crfsuite_flattens_them(x: list[Any]) -> None:
    index = AttributeIndex()
    _, ptr, ids, values = index.read([x], True, True)
    values = np.ones(len(ids), np.float32) if values is None else values
    called = index.names(ids)
    for t, theirs in enumerate(pycrfsuite.ItemSequence(x).items()):
        here = slice(ptr[t], ptr[t + 1])
        ours = dict(zip(called[here], values[here].tolist(), strict=True))
        assert set(ours) == set(theirs)
        for name, value in theirs.items():
            if ours[name] != np.float32(
                value
            ):  # ItemSequence shows the last of equal names, CRFsuite adds them
                assert flattened(x[t]).count(name) > 1


def flattened(token: Any, before: str = "") -> list[str]:
    """The names of all features of a token, those that occur twice listed twice."""
    found = []
    for key in token:
        text = before + (key.decode() if isinstance(key, bytes) else key)
        value = token[key] if isinstance(token, dict) else None
        if isinstance(value, dict | list | set):
            found += flattened(value, text + ":")
        elif isinstance(value, str | bytes):
            found.append(text + ":" + (value.decode() if isinstance(value, bytes) else value))
        else:
            found.append(text)
    return found
