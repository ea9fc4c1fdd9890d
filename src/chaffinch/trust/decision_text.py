"""A decision's evidence as lines of text."""

import re
from collections.abc import Sequence

from chaffinch.trust.explain import Contribution, Evidence

WIDE = 100
_BREAKS = re.compile(r"^[^']*[ ,][^']*$")  # names that would run into the next one
LISTED = 6  # maximum number of features named in the sentence about the removal


def decision_text(one: Evidence, words: Sequence[str], top: int) -> str:
    """The answer, its rival, and the contributions for and against; words: the tokens of the sentence."""
    lines = [_headline(one)]
    shown, rest = one.strongest(top)
    every = [*shown, *([rest] if rest else [])]
    numbers = [f"{c.difference:+.3f}" for c in every]
    width = max(map(len, numbers), default=0)
    names = [contribution_name(c, one, words) for c in every]
    broad = min(48, max(map(len, names), default=0))
    for c, number, name in zip(every, numbers, names, strict=True):
        lines.append(f"  {number:>{width}}  {name:<{broad}}  {_made_of(c, one)}".rstrip())
    if also := also_changed(one, words):
        lines.append(f"  {also}")
    if one.without is not None:
        lines.append(f"  {_without(one, words)}")
    if one.note:
        lines.append(f"  {one.note}")
    return "\n".join(lines)


def _headline(one: Evidence) -> str:
    place = "" if one.place is None else f"{one.place + 1} "
    step = "" if one.step is None else f", decision {one.step + 1}"
    sure = "" if one.probability is None else f", p {one.probability:.3f}"
    what = f"{place}{one.subject}: {one.answer}"
    if one.rival is None or one.rival_score is None:
        return f"{what}, score {one.score:.3f}{sure}{step}"
    unsure = "" if one.rival_probability is None else f" and {one.rival_probability:.3f}"
    scores = f"{one.margin:+.3f} = {one.score:.3f} - {_signed(one.rival_score)}"
    head = f"{what}, not {one.rival}"
    numbers = f"{scores}{sure}{unsure}{step}"
    return f"{head}: {numbers}" if len(head) < WIDE else f"{what},\nnot {one.rival}:\n{numbers}"


def _signed(number: float) -> str:
    return f"({number:.3f})" if number < 0 else f"{number:.3f}"


def contribution_name(c: Contribution, one: Evidence, words: Sequence[str]) -> str:
    """The name, and the word at which it occurs if that is not the decided word.

    >>> one = Evidence("b", "X", 1.0, (), place=1)
    >>> [contribution_name(Contribution(name, 1.0, place=0), one, ["a", "b"]) for name in ("caps[0]=no", "a")]
    ['caps[0]=no @ 1 a', 'a @ 1']
    """
    if c.place is None or one.place in (None, c.place):
        return c.name
    if c.name == words[c.place]:
        return f"{c.name} @ {c.place + 1}"
    return f"{c.name} @ {c.place + 1} {words[c.place]}"


def _made_of(c: Contribution, one: Evidence) -> str:
    times = "" if c.value == 1 else f"{c.value:.3g} x "
    if one.rival is None:
        return f"{times}{c.weight:+.3f}" if times else ""
    return f"{times}({c.weight:+.3f} - {_signed(c.rival)})"


def also_changed(one: Evidence, words: Sequence[str]) -> str:
    """The other labels that change under the rival; empty if only one label changes.

    >>> one = Evidence("a", "X", 1.0, (), "Y", 0.5, place=0, whole=(("X", "X", "Z"), ("Y", "X", "W")))
    >>> also_changed(one, ("a", "b", "c"))
    'Then c would be W, too.'
    """
    if one.whole is None or one.place is None:
        return ""
    pairs = zip(words, *one.whole, strict=True)
    found = [f"{w} would be {b}" for t, (w, a, b) in enumerate(pairs) if a != b and t != one.place]
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return f"Then {', '.join(found[:LISTED])}{more}, too." if found else ""


def _without(one: Evidence, words: Sequence[str]) -> str:
    assert one.without is not None
    gone = one.without.features
    return removal_sentence([contribution_name(c, one, words) for c in gone], one.without.answer)


def removal_sentence(names: Sequence[str], answer: str) -> str:
    """The features whose removal would change the answer, as a sentence.

    >>> removal_sentence(["awful", "not good"], "+")
    "Without awful, 'not good' it would be +."
    >>> removal_sentence([",", "characters 'ab'"], "+")
    "Without ',', characters 'ab' it would be +."
    """
    listed = ", ".join(f"'{name}'" if _BREAKS.search(name) else name for name in names[:LISTED])
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"Without {listed}{more} it would be {answer}."
