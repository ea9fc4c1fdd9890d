"""Text of files, labels and names, made safe for a terminal."""

import re

# Characters that move the cursor, change colours or the direction of reading; line ends and tabs are kept.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""The text with its control characters escaped.

    >>> print(visible("red \x1b[31m"))
    red \x1b[31m
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
