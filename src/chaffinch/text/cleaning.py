"""Cleaning of mail and Markdown: markup is removed, text for readers is kept."""

import re

CLEANINGS = ("none", "mail", "markdown", "all")

# Mail: headers that name machines and routes; who wrote what to whom; quote marks; signatures; ASCII armour.
_ROUTING = re.compile(
    r"^(?:path|xref|message-id|references|in-reply-to|nntp-posting-host|x-[\w-]+|lines|date|received|mime-version|"
    r"content-[\w-]+|expires|distribution|followup-to|article-i\.d\.|originator|return-path|status|newsgroups)"
    r":.*(?:\n[ \t]+.*)*\n?",
    re.IGNORECASE | re.MULTILINE,
)
_HEADER_NAME = re.compile(
    r"^(?:from|to|cc|subject|organization|reply-to|sender|keywords|summary): *", re.I | re.M
)
_ATTRIBUTION = re.compile(r"^.{0,200}\b(?:writes|wrote|said|writes in article .{0,80}) ?:\s*$", re.MULTILINE)
_IN_ARTICLE = re.compile(r"^In (?:article )?<[^>\n]*>,?.*$", re.MULTILINE | re.IGNORECASE)
_QUOTE = re.compile(r"^(?:[ \t]*[>|:}]+)+[ \t]?", re.MULTILINE)
_SIGNATURE = re.compile(r"^-- ?\n(?:.*\n){0,11}.*\n?\Z", re.MULTILINE)
_ARMOUR = re.compile(r"^(?:M[!-`]{59,61}|[A-Za-z0-9+/]{60,}={0,2})\n", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*([-=_*#~+.])\1{3,}[ \t]*$", re.MULTILINE)
_ADDRESS = re.compile(r"<?[\w.+%=-]+@[\w-]+(?:\.[\w-]+)+>?")

# Markdown: code, links, pictures, emphasis, headings, lists, tables, HTML.
_FENCE = re.compile(r"^(```|~~~)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,300}>")
_LINK = re.compile(r"!?\[([^\]\n]*)\](?:\([^()\s]*(?:\s+\"[^\"\n]*\")?\)|\[[^\]\n]*\])")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*\S+.*$", re.MULTILINE)
_URL = re.compile(r"<?\b(?:https?|ftp)://[^\s<>]+>?")
_HEADING = re.compile(r"^ {0,3}(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|\d{1,3}[.)][ \t]+)", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<!\w)(\*{1,3}|_{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?!\w)")


def cleaned(text: str, kind: str) -> str:
    """Text without the markup of mail, of Markdown, or of both; ``none`` changes nothing.

    >>> cleaned("Subject: tea\\nLines: 2\\n\\n> Green *or* black?\\n[Both](http://x.org).", "all").split()
    ['tea', 'Green', 'or', 'black?', 'Both.']
    """
    if kind in ("mail", "all"):
        text = without_mail_marks(text)
    if kind in ("markdown", "all"):
        text = without_markdown(text)
    return text


def without_mail_marks(text: str) -> str:
    """Mail without its markup: the words of subject and sender, the quoted text without its quote marks, the body."""
    head, gap, body = text.partition("\n\n")
    if _looks_like_headers(head):
        text = _HEADER_NAME.sub("", _ROUTING.sub("", head + "\n")) + gap + body
    for pattern in (_IN_ARTICLE, _ATTRIBUTION, _SIGNATURE, _QUOTE, _ARMOUR, _RULE, _ADDRESS):
        text = pattern.sub(" ", text)
    return text


def without_markdown(text: str) -> str:
    """Markdown without its markup: link texts without their targets, words without their emphasis, no tags."""
    text = _FENCE.sub(r"\2", text)
    for pattern in (_COMMENT, _DEFINITION):
        text = pattern.sub(" ", text)
    text = _URL.sub(" ", _LINK.sub(r"\1", text))
    for pattern in (_TAG, _HEADING, _RULE):
        text = pattern.sub(" ", text)
    return _EMPHASIS.sub(r"\2", _CODE.sub(r"\2", text))


def _looks_like_headers(head: str) -> bool:
    lines = head.split("\n")
    return all(re.match(r"[A-Za-z][\w.-]*:(?: |$)|[ \t]", line) for line in lines if line)
