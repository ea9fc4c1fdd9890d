"""fastText's module for classifiers: the same functions over the classifiers of this package.

    from chaffinch.compat import fasttext

``train_supervised`` trains a linear classifier of ours; ``load_model`` reads our files and fastText's own ``.bin`` and
``.ftz``, with the answers that fastText gives. Word vectors without labels are not trained.

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
>>> _ = path.write_text("__label__good fine tea\\n__label__bad awful tea\\n" * 20)
>>> model = train_supervised(str(path), verbose=0)
>>> model.predict("fine cake")[0]
('__label__good',)
"""

from chaffinch.compat.fasttext import util
from chaffinch.compat.fasttext.lines import BOW, EOS, EOW, tokenize
from chaffinch.compat.fasttext.meter import Meter
from chaffinch.compat.fasttext.model import FastText, load_model
from chaffinch.compat.fasttext.training import train_supervised, train_unsupervised

__all__ = [
    "BOW",
    "EOS",
    "EOW",
    "FastText",
    "Meter",
    "load_model",
    "tokenize",
    "train_supervised",
    "train_unsupervised",
    "util",
]
