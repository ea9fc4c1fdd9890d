"""The files of the page, read once: a fixed list, so that no other path of the disk can be reached."""

from functools import cache
from pathlib import Path

from chaffinch.serve.endpoint import Raw

PAGE = "index.html"
FOLDER = Path(__file__).parent / "page"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".json": "application/json",
}


@cache
def page_files() -> dict[str, Raw]:
    """By name, with / between folders."""
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file() and path.suffix in KINDS:
            cached = {"cache-control": "no-cache"}
            found[path.relative_to(FOLDER).as_posix()] = Raw(path.read_bytes(), KINDS[path.suffix], cached)
    return found
