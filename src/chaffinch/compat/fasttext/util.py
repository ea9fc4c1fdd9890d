"""The functions of ``fasttext.util`` for classifiers."""

from collections.abc import Sequence


def test(
    predictions: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str]],
    k: int = 1,  # noqa: PT028
) -> tuple[float, float]:
    """Precision and recall of the first k predictions of each example.

    >>> test([["a"], ["b"]], [["a"], ["a", "c"]])
    (0.5, 0.3333333333333333)
    """
    right = sum(len(set(given[:k]) & set(gold)) for given, gold in zip(predictions, labels, strict=True))
    given = sum(len(one[:k]) for one in predictions)
    gold = sum(map(len, labels))
    return right / given if given else 0.0, right / gold if gold else 0.0
