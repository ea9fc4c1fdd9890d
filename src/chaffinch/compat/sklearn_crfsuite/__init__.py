"""sklearn-crfsuite's module: its ``CRF``, metrics and scorers over chain models of this package.

    from chaffinch.compat import sklearn_crfsuite

>>> X, y = [[{"w": "hot"}, {"w": "tea"}], [{"w": "tea"}]], [["A", "N"], ["N"]]
>>> crf = CRF(c2=0.1).fit(X, y)
>>> crf.predict_single([{"w": "hot"}, {"w": "tea"}]), crf.classes_
(['A', 'N'], ['A', 'N'])
"""

from chaffinch.compat.sklearn_crfsuite import metrics, scorers
from chaffinch.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF", "metrics", "scorers"]
