"""A trainer that prints one line per iteration."""

import sys
from typing import Any

from chaffinch.compat.pycrfsuite import Trainer


class LinePerIterationTrainer(Trainer):
    """Prints the numbers of each iteration on one line, and the scores of the labels at the end."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """One line."""
        del log
        line = f"Iter {info['num']:<3} time={info['time']:<5.2f} loss={info['loss']:<8.2f}"
        if "active_features" in info:
            line += f" active={info['active_features']:<5}"
        if "avg_f1" in info:
            line += (
                f" precision={info['avg_precision']:.3f}  recall={info['avg_recall']:.3f}  F1={info['avg_f1']:.3f}"
                f"  Acc(item/seq)={info['item_accuracy_float']:.3f} {info['instance_accuracy_float']:.3f}"
            )
        if "feature_norm" in info:
            line += f" feature_norm={info['feature_norm']:<8.2f}"
        sys.stdout.write(line.rstrip() + "\n")

    def on_optimization_end(self, log: str) -> None:
        """The scores of the labels on held-out sequences, if any."""
        last = self.logparser.last_iteration
        if last is not None and last["scores"]:
            width = max(map(len, [*last["scores"], "Label"]))
            sys.stdout.write(f"{'Label':<{width}}  Precision  Recall     F1  Support\n")
            for label, score in sorted(last["scores"].items()):
                rates = (score.precision or 0.0, score.recall or 0.0, score.f1 or 0.0)
                shown = "{:9.3f}  {:6.3f}  {:5.3f}".format(*rates)
                sys.stdout.write(f"{label:<{width}}  {shown}  {score.ref:7}\n")
        super().on_optimization_end(log)
