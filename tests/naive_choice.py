"""Document learners restated plainly, over dense arrays in double precision."""

import numpy as np


def losses(kind: str, s: np.ndarray, q: np.ndarray) -> tuple[float, np.ndarray]:
    """The loss of one document and the direction d = -gradient, over its scores."""
    if kind == "softmax":
        p = np.exp(s - s.max())
        p /= p.sum()
        return float(np.log(np.exp(s - s.max()).sum()) + s.max() - q @ s), q - p
    if kind == "sigmoid":
        return float((np.logaddexp(0, s) - q * s).sum()), q - 1 / (1 + np.exp(-s))
    g = int(q.argmax())
    cost = 1.0 if kind == "hinge" else 0.0
    others = np.where(np.arange(len(s)) == g, -np.inf, s)
    worst = int(others.argmax())
    loss = others[worst] + cost - s[g]
    d = np.zeros(len(s))
    if loss > 0 or (cost == 0 and loss == 0):
        d[g], d[worst] = 1, -1
    return max(float(loss), 0.0), d


def shrunk(a: np.ndarray, by: np.ndarray | float) -> np.ndarray:
    return np.sign(a) * np.maximum(np.abs(a) - by, 0)


def sgd(kind, X, q, c, order, rates, *, batch=1, l1=0.0, l2=0.0, adaptive=False, average=False):
    """w [F, Y] after one step per batch, every weight penalised in every step."""
    w = np.zeros((X.shape[1], q.shape[1]))
    G, total, steps = np.zeros_like(w), np.zeros_like(w), 0
    for i, start in enumerate(range(0, len(order), batch)):
        here = order[start : start + batch]
        g = sum(float(c[n]) * np.outer(X[n], losses(kind, X[n] @ w, q[n])[1]) for n in here) / len(here)
        e = rates[i]
        if adaptive:
            h = np.sqrt(G + 1e-10)
            w = shrunk(np.exp(-e * l2 / h) * w, e * l1 / h)
            G += g**2
            w += e * g / np.sqrt(G + 1e-10)
        else:
            w = shrunk((1 - e * l2) * w, e * l1) + e * g
        total += w
        steps += 1
    return total / steps if average else w


def objective(kind, w, X, q, c, l2):
    """sum_n c_n loss_n + l2 |w|^2 / 2."""
    return sum(float(c[n]) * losses(kind, X[n] @ w, q[n])[0] for n in range(len(X))) + 0.5 * l2 * (w**2).sum()
