"""What ``chaffinch train`` does with trained models: files, learning curves, tables of scores or JSON."""

import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from chaffinch.active.self_training import SelfTraining
from chaffinch.cli.console import err, out, print_json, progress_bar
from chaffinch.errors import ConfigError, warn_about_data
from chaffinch.files import writing_text
from chaffinch.kinds import Kind
from chaffinch.kinds.caching import estimate
from chaffinch.kinds.corpora import tenth_held_out
from chaffinch.kinds.requests import TrainRequest
from chaffinch.knobs import knobs
from chaffinch.lab.learning_page import learning_page
from chaffinch.lab.recipe_comparison import RecipeComparison, compare_recipes
from chaffinch.lab.size_search import parsed_size, smallest
from chaffinch.progress import Progress, gap_share, objective

FEW_DECISIONS = 50  # on fewer held-out decisions a calibration error says little
FAR = 0.9  # a gap above this share of the objective raises a warning
Scores = dict[str, dict[str, float]]
"""Split of the data -> score -> value."""


@dataclass
class Clock:
    """The wall time and CPU time of a block, in seconds."""

    wall_s: float = 0.0
    cpu_s: float = 0.0


@contextmanager
def clock() -> Iterator[Clock]:
    """Measure a block."""
    found = Clock()
    wall, cpu = time.perf_counter(), time.process_time()
    yield found
    found.wall_s, found.cpu_s = time.perf_counter() - wall, time.process_time() - cpu


def flat(scores: Scores) -> dict[str, float]:
    """Scores by split and name, as a model file keeps them."""
    return {f"{split}.{key}": value for split, found in scores.items() for key, value in found.items()}


def tell_estimate(kind: Kind, asked: TrainRequest, told: Mapping[str, str]) -> None:
    """Print on stderr the time and memory that training on large files will need, before it begins."""
    passes = asked.settings.get("passes", asked.settings.get("epochs"))
    found = estimate(
        kind,
        asked.data,
        told,
        recipe=asked.recipe,
        features=asked.features,
        dev=asked.dev,
        passes=passes if isinstance(passes, int) else None,
        threads=asked.threads,
    )
    if found is not None:
        err.print(found.told(asked.cache))


def keep_trained(
    asked: TrainRequest,
    estimator: Any,
    took: Clock,
    scores: Scores,
    facts: dict[str, int],
    calibration: dict[str, Any],
    accuracy: Sequence[dict[str, float]] = (),
    further: Mapping[str, Any] | None = None,
) -> None:
    """Write the model, draw its learning curve if requested, and print the scores.

    facts:       the size of the training data, such as {"sentences": 8936}
    calibration: the calibration scores; empty if the model was not calibrated
    accuracy:    after each pass, on the training data and the held-out data
    further:     further fields of the JSON object
    """
    recipe = estimator.recipes.by_config(estimator.config_).name
    estimator.save(asked.model, scores=flat(scores))
    if (share := gap_share(estimator.history_)) is not None and share > FAR:
        warn_about_data(
            f"training did not converge: the objective may still fall by {100 * share:.0f} % after "
            f"{len(estimator.history_)} passes; use a smaller C or more passes"
        )
    if asked.report is not None:
        with writing_text(asked.report) as stream:
            stream.write(learning_page(recipe, estimator.history_, calibration, accuracy).render())
    size = asked.model.stat().st_size
    if asked.json:
        record: dict[str, Any] = {
            "recipe": recipe,
            "wall_s": round(took.wall_s, 4),
            "cpu_s": round(took.cpu_s, 4),
            "epochs": len(estimator.history_),
            **facts,
            **({"objective": found} if (found := objective(estimator.history_)) else {}),
            **({"converged": estimator.converged_} if found else {}),
            **scores,
            **({"calibration": calibration} if calibration else {}),
            **({"choice": estimator.choice_} if estimator.choice_ else {}),
            **({"shards": estimator.shards_} if estimator.shards_ else {}),
            **(further or {}),
            "model": str(asked.model),
            "model_bytes": size,
            "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            "seed": asked.seed,
        }
        print_json(record)
        return
    if estimator.choice_:
        out.print(estimator.choice_["told"], markup=False, highlight=False)
    if scores:
        out.print(_table(scores))
    counted = ", ".join(_count(n, name.replace("_", " ")) for name, n in facts.items())
    out.print(
        f"{recipe}: {counted}, trained in {took.wall_s:.2f} s{_gap(estimator)}{_best(estimator.history_)}; "
        f"{asked.model} has {size / 1024:,.0f} KB"
    )
    if estimator.shards_:
        out.print(told_shards(estimator.shards_), markup=False, highlight=False)
    if calibration:
        out.print(told_calibration(calibration), markup=False, highlight=False)
    sys.stdout.flush()


def told_calibration(calibration: Mapping[str, Any]) -> str:
    """How far probabilities can be trusted, in one line; so few decisions that nothing follows from them are named."""
    unit, decisions = calibration["unit"], calibration["decisions"]
    source = _count(calibration["folds"], "folds") if calibration["folds"] else "the dev data"
    if not decisions:
        return (
            f"probabilities of {unit} could not be checked: there was no decision on held-out data ({source}); "
            "label more data before you rely on them"
        )
    doubt = ", too few to rely on" if decisions < FEW_DECISIONS else ""
    return (
        f"probabilities of {unit} calibrated on {source} ({_count(decisions, 'decisions')}{doubt}): "
        f"expected calibration error {calibration['error']:.3f} (was {calibration['raw_error']:.3f}), "
        f"Brier score {calibration['brier']:.3f}"
    )


def _count(n: int, plural: str) -> str:
    """A number of things: "2 labels", "1 label"."""
    return f"{n:,} {plural.removesuffix('s') if n == 1 else plural}"


def told_shards(shards: Mapping[str, Any]) -> str:
    """How a model was trained in shards, in one line."""
    count = shards.get("count")
    found = f"trained in {count} {'shard' if count == 1 else 'shards'} by {shards.get('method')}"
    return found if shards.get("exact") else f"{found}: approximate, it depends on the number of shards"


def show_self_training(kind: Kind, found: SelfTraining) -> None:
    """Print the curve of self-training, the kept row in bold, and the verdict."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("model", "rows added", found.key, "95 %", "gain", "interval"):
        shown.add_column(name, justify="left" if name == "model" else "right", no_wrap=True)
    for judged in found.curve:
        row = [f"round {judged.round}" if judged.round else "supervised", f"{judged.added:,}"]
        row += [f"{100 * judged.score:.2f} %", f"{100 * judged.low:.2f} to {100 * judged.high:.2f}"]
        if judged.round:
            row += [
                f"{100 * judged.gain:+.2f}",
                f"{100 * judged.gain_low:+.2f} to {100 * judged.gain_high:+.2f}",
            ]
        shown.add_row(*row, style="bold" if judged.round == found.kept else None)
    out.print(f"self-training, {found.pool:,} unlabelled and {found.held_out:,} held-out {kind.plural}:")
    out.print(shown)
    out.print(found.verdict())


def compare_and_keep(
    kind: Kind, asked: TrainRequest, settings: dict[str, Any], corpora: dict[str, Any]
) -> None:
    """Train several recipes, print a table, write a page, keep the best; a knob goes to the recipes that have it."""
    names = str(asked.compare)
    further = {k.name for _, config in kind.knobs for k in knobs(config)}
    shared = {k: v for k, v in settings.items() if k in further}
    own = {k: v for k, v in settings.items() if k not in further}
    chosen = [kind.recipes.by_name(name.strip()) for name in names.split(",") if name.strip()]
    if len(chosen) < 2:
        raise ConfigError(f"--compare needs at least two recipes, got {names!r}")
    for name in own:
        if not any(name in {k.name for k in knobs(r.config)} for r in chosen):
            raise ConfigError(f"none of {names} has a knob --{name.replace('_', '-')}")
    configs = [r.configured({k.name: own[k.name] for k in knobs(r.config) if k.name in own}) for r in chosen]
    train, dev = _with_dev(kind, corpora)
    with progress_bar() as listener:
        found = compare_recipes(
            train,
            dev,
            configs,
            features=asked.features,
            settings=shared,
            seed=asked.seed,
            threads=asked.threads,
            stop_on_held_out=True,
            on_epoch=listener,
            on_recipe=lambda name: err.print(f"training {name}") if err.is_terminal else None,
        )
    best = found.best
    found.estimators[best.recipe].save(asked.model, scores={f"dev.{k}": v for k, v in best.scores.items()})
    if asked.report is not None:
        title = f"{kind.units(train):,} {kind.unit} to learn from"
        with writing_text(asked.report) as stream:
            stream.write(found.page(title).render())
    if asked.json:
        recipes = [e.as_dict() for e in found.entries]
        print_json({"best": best.recipe, "model": str(asked.model), "recipes": recipes})
        return
    _show_comparison(found)
    out.print(f"{best.recipe} is kept in {asked.model}")


SCORES = 512  # bytes that held-out scores may add to the header of a file


def keep_smallest(kind: Kind, asked: TrainRequest, settings: dict[str, Any], corpora: dict[str, Any]) -> None:
    """Search for the best model within a number of bytes, print the curve of accuracy against size, write the model."""
    most = parsed_size(str(asked.max_size))
    if asked.recipe is not None and (reason := kind.recipes.by_name(asked.recipe).unshrinkable) is not None:
        raise ConfigError(
            f"--max-size: a model of the recipe {asked.recipe} cannot be made smaller: {reason}"
        )
    train, dev = _with_dev(kind, corpora)
    estimator = kind.made(asked.recipe, settings, asked.features, asked.seed, asked.threads)
    with progress_bar() as listener:
        kind.fit(estimator, train, dev, listener)
    found = smallest(
        estimator,
        most,
        lambda made: kind.scores_of(kind.tally(made, dev)),
        recalibrate=(lambda made: kind.recalibrate(made, dev)) if kind.calibration(estimator) else None,
        spare=SCORES,
    )
    best, model = found.best, asked.model
    found.estimator.save(model, scores={f"dev.{name}": value for name, value in best.scores.items()})
    if asked.report is not None:
        with writing_text(asked.report) as stream:
            stream.write(found.page(f"at most {asked.max_size}").render())
    calibration = kind.calibration(found.estimator)
    if asked.json:
        print_json(
            {"model": str(model), "model_bytes": model.stat().st_size, "best": best.as_dict()}
            | {"curve": [p.as_dict() for p in found.curve]}
            | ({"calibration": calibration} if calibration else {})
        )
        return
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for name in best.head():
        shown.add_column(name, justify="right")
    for point in found.curve:
        shown.add_row(*point.row(), style="bold" if point == best else None)
    out.print(shown)
    out.print(f"{model} has {model.stat().st_size / 1024:,.1f} KB")
    if calibration:
        out.print(told_calibration(calibration), markup=False, highlight=False)


def _with_dev(kind: Kind, corpora: dict[str, Any]) -> tuple[Any, Any]:
    """Training and held-out data: every tenth example is held out if no held-out data is named."""
    if "dev" in corpora:
        return corpora["train"], corpora["dev"]
    return tenth_held_out(corpora["train"], kind.plural)


def _show_comparison(found: RecipeComparison) -> None:
    """Print the table, the best row in bold."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    for i, name in enumerate(found.head()):
        shown.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
    for entry, row in zip(found.entries, found.rows(), strict=True):
        shown.add_row(*row, style="bold" if entry is found.best else None)
    out.print(shown)


def _best(history: Sequence[Progress]) -> str:
    """The kept pass, if held-out data chose one."""
    scored = [p for p in history if "dev" in p.scores]
    if not scored:
        return ""
    best = max(scored, key=lambda p: p.scores["dev"])
    return f"; {best.task} {best.done} of {history[-1].done} is kept, the best on dev"


def _gap(estimator: Any) -> str:
    """The largest possible distance of the weights from the optimum, and whether it is within the tolerance."""
    share = gap_share(estimator.history_)
    if share is None:
        return ""
    shown = f"{100 * share:.0f}" if share >= 0.1 else f"{100 * share:.2g}"
    within = f"within {shown} % of the optimum"
    if estimator.converged_:
        return f", {within}"
    config = estimator.config_
    if getattr(config, "epochs", 0) is None and getattr(config, "gap", None) is None and share <= FAR:
        # Few passes are the default for text: later ones hardly change its accuracy.
        return f", {within} after {len(estimator.history_)} passes, the default; --epochs allows more"
    return f", not converged: {within}"


def _table(scores: Scores) -> Table:
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("scored on")
    names = list(next(iter(scores.values())))
    for name in names:
        shown.add_column(name, justify="right")
    for split, found in scores.items():
        shown.add_row(split, *(f"{100 * found[name]:.2f} %" for name in names))
    return shown
