"""A small server that answers the page's requests with toy models, for tests that need odd answers or none.

Its tagger knows words by heart and learns the words of corrections; its classifier counts words. Both are honest: what
the page shows is what they computed. ``python tests/page/stub.py`` serves it for a look.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import chaffinch

PAGE = Path(chaffinch.__file__).parent / "serve" / "page"
TYPES = {".html": "text/html", ".css": "text/css", ".svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

NAMES = {
    "Ada": "PER", "Lovelace": "PER", "Bohr": "PER", "Paris": "LOC", "Oslo": "LOC", "York": "LOC", "New": "LOC",
    "Acme": "ORG", "Corp": "ORG", "دمشق": "LOC", "ليلى": "PER", "ירושלים": "LOC",
}  # fmt: skip
LINES = [
    "Ada Lovelace went to Paris in spring .",
    "Niels Bohr met her in New York .",
    "Acme Corp opened an office in Oslo .",
    "The train from Bergen to Oslo was late .",
    "Nobody at Acme knew why .",
    "سافرت ليلى إلى دمشق أمس .",
    "A 🐦 sang 👩‍🔬 Ada in Paris 🎉 .",
]  # fmt: skip
OPINIONS = [
    "a fine, warm soup",
    "cold and dull",
    "fine but dull",
    "warm bread, warm people",
    "not my cup of tea",
]
FEELING = {"fine": 2.0, "warm": 1.5, "cold": -1.5, "dull": -2.0, "not": -0.7}


class Refusal(Exception):
    """An answer with an error: status and sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def spans_of(tags: list[str], offsets: list[list[int]], sure: list[float]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for i, tag in enumerate(tags):
        if tag.startswith("I-") and found:
            found[-1]["end"] = offsets[i][1]
            found[-1]["score"] = min(found[-1]["score"], sure[i])
        elif tag != "O":
            found.append({"start": offsets[i][0], "end": offsets[i][1], "label": tag[2:], "score": sure[i]})
    return found


class Toy:
    """Toy models, their versions, rows and journal."""

    def __init__(self) -> None:
        self.lexicons = [dict(NAMES)]
        self.active = 0
        self.corrections: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str, Any]] = []
        self.lines = [line.replace(" .", f" {n} ." if n else " .") for n in range(18) for line in LINES]

    # -- answers

    def tagged(self, model: str, words: list[str], lexicon: dict[str, str] | None = None) -> list[str]:
        if model == "parts":
            return ["NUM" if w.isdigit() else "PUNCT" if not w.isalnum() else "WORD" for w in words]
        known = self.lexicons[self.active] if lexicon is None else lexicon
        if model == "cautious":
            known = {word: label for word, label in known.items() if label == "LOC"}
        tags, before = [], "O"
        for word in words:
            label = known.get(word)
            tag = "O" if label is None else f"{'I' if before.endswith(label) else 'B'}-{label}"
            tags.append(tag)
            before = tag
        return tags

    def result(self, model: str, text: str, pinned: bool = True) -> dict[str, Any]:
        offsets = [[m.start(), m.end()] for m in re.finditer(r"\S+", text)]
        words = [text[a:b] for a, b in offsets]
        tags = self.tagged(model, words)
        sure = [0.35 + 0.64 * ((len(word) * 7 + 3 * i) % 10) / 9 for i, word in enumerate(words)]
        found = {
            "text": text, "tokens": offsets, "tags": tags, "spans": spans_of(tags, offsets, sure),
            "certainty": min(sure, default=1.0), "token_certainty": sure, "pinned": False,
        }  # fmt: skip
        if model == "parts":
            found["spans"] = []
        for one in self.corrections:
            if pinned and one["state"] != "undone" and one["tokens"] == words and one["model"] == model:
                found |= {"tags": one["tags"], "certainty": None, "token_certainty": None, "pinned": True}
        return found

    def document(self, text: str) -> dict[str, Any]:
        score = sum(FEELING.get(word, 0.0) for word in re.findall(r"\w+", text))
        p = 1 / (1 + 2.718281828**-score)
        label = "good" if p >= 0.5 else "bad"
        return {
            "text": text,
            "label": label,
            "certainty": max(p, 1 - p),
            "probabilities": {"bad": 1 - p, "good": p},
        }

    def answer(self, model: str, text: str, pinned: bool = True) -> dict[str, Any]:
        if model == "feeling":
            return self.document(text)
        if model == "trees":
            leaves = " ".join(f"(N {word})" for word in text.split())
            return {"text": text, "tree": f"(S (NP {leaves}) (VP (V sings)))", "certainty": None}
        return self.result(model, text, pinned)

    # -- routes

    def models(self, _: dict[str, Any]) -> dict[str, Any]:
        def of(
            name: str, kind: str, labels: list[str], scheme: str | None, learns: bool = False
        ) -> dict[str, Any]:
            versions = [
                {"version": f"{name}-{n}", "made": "2026-03-01T10:00:00Z", "note": "as loaded" if n == 0 else "learnt",
                 "corrections": n, "active": n == (self.active if learns else 0)}
                for n in range(len(self.lexicons) if learns else 1)
            ]  # fmt: skip
            return {"name": name, "kind": kind, "recipe": "toy", "labels": labels, "scheme": scheme, "many": False,
                    "probabilities": True, "learns": learns, "version": f"{name}-{self.active if learns else 0}",
                    "versions": versions, "data": files[kind == "documents" :],
                    "rules": ["once(ORG)", "before(PER, LOC)"] if name == "names" else []}  # fmt: skip

        files = ["letters", "opinions"]
        tags = ["O", *(f"{letter}-{label}" for label in ("LOC", "ORG", "PER") for letter in "BI")]
        return {
            "version": "1",
            "models": [
                of("names", "tags", tags, "BIO", True), of("cautious", "tags", tags, "BIO"),
                of("parts", "tags", ["NUM", "PUNCT", "WORD"], None), of("feeling", "documents", ["bad", "good"], None),
                of("trees", "trees", [], None), of("links", "links", [], None),
            ],
            "data": [{"name": "letters", "rows": len(self.lines)}, {"name": "opinions", "rows": len(OPINIONS)}],
        }  # fmt: skip

    def predict(self, body: dict[str, Any]) -> dict[str, Any]:
        model = body["model"]
        if model == "links":
            n = min(len(body["source"]), len(body["target"]))
            pair = {"source": body["source"], "target": body["target"], "links": [[i, i] for i in range(n)]}
            return {"model": model, "version": "links-0", "results": [pair]}
        texts = body.get("texts") or [body["text"]]
        return {"model": model, "version": "1", "results": [self.answer(model, text) for text in texts]}

    def explain(self, body: dict[str, Any]) -> dict[str, Any]:
        text = body.get("text") or " ".join(body.get("tokens", []))
        if body.get("row") is not None:
            text = (self.lines if body["data"] == "letters" else OPINIONS)[body["row"]]
        if body["model"] == "feeling":
            answer = self.document(text)
            groups = [
                {"word": word, "at": i, "kind": "word", "value": FEELING[word],
                 "terms": [{"name": f"word={word}", "value": FEELING[word]}]}
                for i, word in enumerate(text.split()) if word in FEELING
            ]  # fmt: skip
            return {"version": "1", "answer": answer["label"], "instead": "bad", "others": 0.0, "groups": groups,
                    "margin": sum(group["value"] for group in groups), "marginals": answer["probabilities"],
                    "kbest": [], "turns": None}  # fmt: skip
        result = self.result(body["model"], text)
        t = body["position"]
        answer = result["tags"][t]
        rival = body.get("instead") or ("O" if answer != "O" else "B-PER")
        words = text.split()
        groups = [
            {"word": words[i], "at": i, "kind": kind, "value": value, "terms": [{"name": f"{kind}[{i - t}]={words[i]}",
             "value": value}]}
            for i in range(max(0, t - 1), min(len(words), t + 2))
            for kind, value in (("word", 2.0 - abs(i - t) * 2.5), ("suffix", 0.75), ("shape", -0.25))
        ]  # fmt: skip
        total = sum(group["value"] for group in groups) + 0.5
        other = [*result["tags"]]
        other[t] = rival
        return {
            "version": "1", "answer": answer, "instead": rival, "margin": total, "groups": groups, "others": 0.5,
            "marginals": {answer: 0.9, rival: 0.08, "I-ORG": 0.02},
            "kbest": [{"label": answer, "tags": result["tags"], "p": 0.7}, {"label": rival, "tags": other, "p": 0.2}],
            "turns": f"Without word[0]={words[t]} the answer would be {rival}.",
        }  # fmt: skip

    def gold(self, words: list[str]) -> list[str]:
        return self.tagged("names", words, NAMES | {"Bergen": "LOC", "Niels": "PER"})

    def rows(self, query: dict[str, Any]) -> dict[str, Any]:
        model, data = query["model"], query.get("data", "letters")
        texts = self.lines if data == "letters" else OPINIONS
        if (model == "feeling") != (data == "opinions"):
            raise Refusal(400, f"The file {data} has rows of another kind than the model {model} reads.")
        made = []
        for n, text in enumerate(texts):
            row = {"row": n, **self.answer(model, text, False)}
            if row.get("tags"):
                row["gold"] = {"tags": self.gold(text.split())}
            mine = [
                c for c in self.corrections if c["row"] == n and c["state"] != "undone" and c["data"] == data
            ]
            if mine:
                row["correction"] = {
                    key: mine[-1][key] for key in ("seq", "tags", "label") if mine[-1].get(key)
                }
            if n % 7 == 3:
                row["suspect"] = "A cross-validated model gives Bergen the label LOC."
            made.append(row)
        if query.get("search"):
            made = [row for row in made if query["search"].lower() in row["text"].lower()]
        if query.get("suspect"):
            made = [row for row in made if "suspect" in row]
        if query.get("corrected"):
            made = [row for row in made if "correction" in row]
        if query.get("label"):
            spelt = {query["label"], f"B-{query['label']}"}
            made = [row for row in made if not spelt.isdisjoint(row.get("tags", [row.get("label")]))]
        if query.get("sort") == "doubt":
            made.sort(key=lambda row: row["certainty"] if row["certainty"] is not None else 1.0)
        if query.get("sort") == "next":
            made = [
                {**row, "why": "the model is uncertain about it"} for row in made if "correction" not in row
            ]
            made[0] |= {"ruled": {"tags": ["B-ORG", *made[0]["tags"][1:]], "rules": ["once(ORG)"]}}
        first, count = int(query.get("from", 0)), int(query.get("count", 50))
        return {"version": "1", "total": len(made), "rows": made[first : first + count]}

    def correct(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("row") is not None:
            if "tokens" in body or "text" in body:
                raise Refusal(400, "expected a row of a data file, or a text; got both")
            text = (self.lines if body["data"] == "letters" else OPINIONS)[body["row"]]
            body = body | ({"tokens": text.split()} if "tags" in body else {"text": text})
        made = {
            "seq": len(self.corrections) + 1, "made": "2026-03-01T10:00:00Z", "state": "waiting",
            "row": body.get("row"), "data": body.get("data"), "model": body["model"], "tags": body.get("tags"),
            "tokens": body.get("tokens"),
            "label": body.get("label"), "text": body.get("text") or " ".join(body.get("tokens", [])),
        }  # fmt: skip
        self.corrections.append(made)
        return {"seq": made["seq"], "version": "1"}

    def journal(self, query: dict[str, Any]) -> dict[str, Any]:
        return {"version": "1", "corrections": [c for c in self.corrections if c["model"] == query["model"]]}

    def forget(self, seq: int) -> dict[str, Any]:
        self.corrections[seq - 1]["state"] = "undone"
        return {"seq": seq, "version": "1"}

    def difference(self, before: dict[str, str], after: dict[str, str]) -> list[dict[str, Any]]:
        changed = []
        for n, text in enumerate(self.lines):
            words = text.split()
            old, new, gold = (self.tagged("names", words, known) for known in (before, after, NAMES))
            gold = self.gold(words)
            if old != new:
                verdict = "fixed" if new == gold else "broken" if old == gold else "moved"
                changed.append({"row": n, "text": text, "before": old, "after": new, "verdict": verdict})
        return changed

    def learn(self, body: dict[str, Any]) -> dict[str, Any]:
        waiting = [one for one in self.corrections if one["state"] == "waiting"]
        if not waiting:
            raise Refusal(409, "No correction waits to be learnt: correct a row first.")
        before = self.lexicons[self.active]
        after = dict(before)
        for one in waiting:
            for word, tag in zip(one["tokens"], one["tags"], strict=True):
                after.pop(word, None)
                if tag != "O":
                    after[word] = tag[2:]
            one["state"] = "learnt"
        self.lexicons.append(after)
        self.active = len(self.lexicons) - 1
        taught = {one["row"] for one in waiting}
        changed = [one for one in self.difference(before, after) if one["row"] not in taught]
        return {"version": f"names-{self.active}", "seconds": 0.21, "learnt": len(waiting), "changed": changed,
                "noise": "Learning the same corrections again would change no row."}  # fmt: skip

    def versions(self, body: dict[str, Any]) -> dict[str, Any]:
        before = self.lexicons[self.active]
        self.active = int(body["version"].rsplit("-", 1)[1])
        return {"version": body["version"], "changed": self.difference(before, self.lexicons[self.active])}

    def report(self, query: dict[str, Any]) -> dict[str, Any]:
        if query["model"] != "names":
            raise Refusal(404, "There is no report on this model: its labels are not in the file.")
        labels = ["LOC", "O", "ORG", "PER"]
        counts = [[54, 18, 0, 0], [0, 702, 0, 0], [0, 0, 54, 0], [0, 18, 0, 90]]
        bins = [
            (0.3, 0.5, 0.41, 0.45, 30),
            (0.5, 0.7, 0.6, 0.58, 80),
            (0.7, 0.9, 0.81, 0.84, 150),
            (0.9, 1, 0.96, 0.97, 600),
        ]
        return {
            "version": "names-0", "f1": 0.914, "accuracy": 0.96, "ece": 0.016,
            "confusion": {"labels": labels, "counts": counts},
            "calibration": [dict(zip(("from", "to", "mean", "right", "count"), one, strict=True)) for one in bins],
            "curve": [{"pass": n + 1, "objective": 900 / (n + 1) + 40, "dev": 0.92 - 0.3 / (n + 1)} for n in range(12)],
        }  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Routes of the toy."""

    server: "Stub"
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, urlsplit(self.path).query
        if path == "/" or path.startswith("/page/"):
            return self.file("index.html" if path == "/" else path.removeprefix("/page/"))
        asked = {key: values[-1] for key, values in parse_qs(query).items()}
        toy = self.server.toy
        routes: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "/models": toy.models, "/rows": toy.rows, "/corrections": toy.journal, "/report": toy.report,
        }  # fmt: skip
        if path == "/export":
            body = "".join(f"{line}\n" for line in toy.lines).encode()
            named = {"Content-Disposition": f'attachment; filename="corrected.{asked["format"]}"'}
            return self.send(200, body, "text/plain", named)
        return self.respond(routes.get(path), asked)

    def do_POST(self) -> None:
        toy = self.server.toy
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        routes: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "/predict": toy.predict, "/explain": toy.explain, "/corrections": toy.correct, "/learn": toy.learn,
            "/versions": toy.versions,
        }  # fmt: skip
        self.respond(routes.get(self.path), body)

    def do_DELETE(self) -> None:
        seq = int(self.path.rsplit("/", 1)[1])
        self.respond(lambda _: self.server.toy.forget(seq), {})

    def respond(
        self, route: Callable[[dict[str, Any]], dict[str, Any]] | None, given: dict[str, Any]
    ) -> None:
        self.server.toy.requests.append((self.command, urlsplit(self.path).path, given))
        try:
            if self.server.token and self.headers["X-Chaffinch-Token"] != self.server.token:
                raise Refusal(401, "The token is missing or wrong: open the address that the server printed.")
            if route is None:
                raise Refusal(404, f"There is no {self.path} here.")
            status, answer = 200, route(given)
        except Refusal as refusal:
            status, answer = refusal.status, {"error": str(refusal)}
        self.send(status, json.dumps(answer).encode(), "application/json", {})

    def file(self, name: str) -> None:
        path = PAGE / name
        if not path.is_file():
            return self.send(404, b"{}", "application/json", {})
        return self.send(200, path.read_bytes(), TYPES.get(path.suffix, "text/javascript"), {})

    def send(self, status: int, body: bytes, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        sent = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body)),
                "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"}  # fmt: skip
        for name, value in (sent | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Stub(ThreadingHTTPServer):
    """The toy behind a port of its own."""

    daemon_threads = True

    def __init__(self, token: str = "", port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.toy, self.token = Toy(), token

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


@contextmanager
def serving(token: str = "") -> Iterator[Stub]:
    """A stub that answers until the block ends."""
    with Stub(token) as stub:
        thread = threading.Thread(target=stub.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield stub
        stub.shutdown()


if __name__ == "__main__":
    stub = Stub(port=8123)
    print(stub.url)
    stub.serve_forever()
