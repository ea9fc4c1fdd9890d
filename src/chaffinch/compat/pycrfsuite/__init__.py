"""python-crfsuite's module: the same classes over chain models of this package.

    from chaffinch.compat import pycrfsuite

``Trainer`` minimises CRFsuite's objective over CRFsuite's features and writes a model file of ours, which
``chaffinch.load`` reads too; ``Tagger`` reads such files and CRFsuite's own.

>>> import tempfile, pathlib
>>> path = str(pathlib.Path(tempfile.mkdtemp()) / "model.chaff")
>>> trainer = Trainer(verbose=False)
>>> for _ in range(5):
...     trainer.append([{"w": "hot"}, {"w": "tea"}], ["A", "N"])
>>> trainer.train(path)
>>> with Tagger().open(path) as tagger:
...     tagger.tag([{"w": "tea"}])
['N']
"""

from chaffinch.compat.pycrfsuite.items import ItemSequence
from chaffinch.compat.pycrfsuite.tagger import Tagger
from chaffinch.compat.pycrfsuite.trainer import BaseTrainer, CRFSuiteError, Trainer

# The version of CRFsuite that this module behaves like.
CRFSUITE_VERSION = "0.12.2"

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]
