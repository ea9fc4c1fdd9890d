"""CoNLL-2000 as lists of strings in memory, and the 19 chunking templates as a Python user would write them."""

from benchmarks.corpora import corpus

NEEDS = ("conll2000/train.tsv", "conll2000/test.tsv")

Columns = dict[str, list[list[str]]]


def columns(part: str) -> Columns:
    """Words, tags and chunk labels of one part."""
    out: Columns = {"w": [], "pos": [], "y": []}
    for block in corpus(f"conll2000/{part}.tsv").read_text(encoding="utf-8").strip().split("\n\n"):
        fields = [line.split("\t") for line in block.split("\n")]
        for k, name in enumerate(out):
            out[name].append([f[k] for f in fields])
    return out


def string_features(words: list[str], tags: list[str]) -> list[list[str]]:
    """The features of one sentence as strings, one list per token, written out by hand for speed."""
    T = len(words)
    out = []
    for t in range(T):
        w, p = words[t], tags[t]
        token = [f"w[0]={w}", f"p[0]={p}"]
        if t > 0:
            w1, p1 = words[t - 1], tags[t - 1]
            token += (f"w[-1]={w1}", f"w[-1]|w[0]={w1}|{w}", f"p[-1]={p1}", f"p[-1]|p[0]={p1}|{p}")
            if t > 1:
                w2, p2 = words[t - 2], tags[t - 2]
                token += (f"w[-2]={w2}", f"p[-2]={p2}", f"p[-2]|p[-1]={p2}|{p1}", f"p[-2..0]={p2}|{p1}|{p}")
        if t < T - 1:
            v1, q1 = words[t + 1], tags[t + 1]
            token += (f"w[1]={v1}", f"w[0]|w[1]={w}|{v1}", f"p[1]={q1}", f"p[0]|p[1]={p}|{q1}")
            if t > 0:
                token.append(f"p[-1..1]={p1}|{p}|{q1}")
            if t < T - 2:
                v2, q2 = words[t + 2], tags[t + 2]
                token += (f"w[2]={v2}", f"p[2]={q2}", f"p[1]|p[2]={q1}|{q2}", f"p[0..2]={p}|{q1}|{q2}")
        out.append(token)
    return out
