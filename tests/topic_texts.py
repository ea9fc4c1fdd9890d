"""Short texts of three topics, most of whose words tell nothing."""

import numpy as np

WORDS = {"tea": "green leaf cup pot", "car": "wheel road fast brake", "sea": "wave ship salt deep"}


def documents(n: int = 600, seed: int = 0) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        label = list(WORDS)[int(rng.integers(3))]
        own = WORDS[label].split()
        text = [
            own[int(rng.integers(4))] if rng.random() < 0.4 else f"w{rng.zipf(1.3) % 200}" for _ in range(9)
        ]
        texts.append(" ".join(text))
        labels.append(label)
    return texts, labels
