"""Prediction on Arrow batches: a function that data engines map over their partitions."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chaffinch.errors import DataError, missing_extra
from chaffinch.estimators import Classifier, Tagger, load

_models: dict[str, Any] = {}  # of this process, by path


@dataclass(frozen=True)
class ArrowPredictor:
    """A table or record batch with the answers of a model as further columns. It can be sent to other processes.

    model:      the path of a model file, which each process reads once
    column:     the column of texts, or of lists of tokens
    prediction: the name of the column of answers: a label per text; a list of tags per sentence
    confidence: the name of a column with the probability of a text's label; None: no such column
    threads:    of the core; engines run a process per core

    >>> import tempfile, pyarrow
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "m.chaff"
    >>> Tagger("hmm").fit([["a", "b"], ["b", "a"]], [["X", "Y"], ["Y", "X"]]).save(path)
    >>> ArrowPredictor(str(path), "tokens")(pyarrow.table({"tokens": [["b", "a"]]})).column("prediction").to_pylist()
    [['Y', 'X']]
    """

    model: str
    column: str = "text"
    prediction: str = "prediction"
    confidence: str | None = None
    threads: int = field(default=1)

    def __call__(self, batch: Any) -> Any:
        """The batch with the answers; of the same type as it came: Table or RecordBatch."""
        try:
            import pyarrow
        except ImportError:
            raise missing_extra("arrow", "pyarrow") from None
        table = pyarrow.Table.from_batches([batch]) if isinstance(batch, pyarrow.RecordBatch) else batch
        if self.column not in table.column_names:
            raise DataError(f"expected a column {self.column!r}, found {', '.join(table.column_names)}")
        rows = table.column(self.column).to_pylist()
        if any(row is None for row in rows):
            raise DataError(f"row {rows.index(None)} of the batch has no {self.column}")
        answers, sure = self._answers(rows)
        table = table.append_column(self.prediction, pyarrow.array(answers))
        if self.confidence is not None:
            table = table.append_column(self.confidence, pyarrow.array(sure, pyarrow.float64()))
        if not isinstance(batch, pyarrow.RecordBatch):
            return table
        return pyarrow.RecordBatch.from_arrays(
            [column.combine_chunks() for column in table.columns], schema=table.schema
        )

    def _answers(self, rows: list[Any]) -> tuple[list[Any], list[float | None]]:
        model = self._loaded()
        if isinstance(model, Tagger):
            if rows and isinstance(rows[0], str):
                raise DataError(
                    f"the model tags sentences: expected lists of tokens in {self.column!r}, found texts"
                )
            if self.confidence is not None:
                raise DataError("a tagger has no confidence for a whole sentence; leave out confidence")
            return [list(tags) for tags in model.predict(rows)], []
        if not isinstance(model, Classifier):
            raise DataError(f"{self.model}: expected a tagger or a classifier, found {type(model).__name__}")
        p, labels = model.answers(rows)
        return [y if isinstance(y, list) else str(y) for y in labels], np.max(p, axis=1).tolist()

    def _loaded(self) -> Any:
        """The model of this process."""
        if self.model not in _models:
            _models[self.model] = load(self.model)
            _models[self.model].threads = self.threads
        return _models[self.model]
