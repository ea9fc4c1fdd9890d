"""Hot reload: a changed model file is loaded and tried in the background before it answers."""

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

from chaffinch.errors import ChaffinchError
from chaffinch.estimators import load
from chaffinch.kinds import kind_of_model
from chaffinch.serve import correcting
from chaffinch.serve.messages import Asked, Input
from chaffinch.serve.served import ServedModel
from chaffinch.serve.server import Server

EVERY = 0.5  # seconds between checks of the files

log = logging.getLogger("chaffinch.serve")
Stamp = tuple[int, int, int]


async def watch(server: Server) -> None:
    """Watch the model files; one that cannot be loaded leaves the model as it is."""
    seen = {name: stamp(served.path) for name, served in server.models.items()}
    gone: set[str] = set()
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(EVERY)
        for name, served in server.models.items():
            now = stamp(served.path)
            if (now is None) != (name in gone):
                gone ^= {name}
                if now is None:
                    log.warning("%s: its file %s is gone; the loaded model stays in use", name, served.path)
            if now is None or now == seen[name]:
                continue
            seen[name] = now
            try:
                model = await loop.run_in_executor(server.background, validated, served)
            except Exception as e:
                log.warning("%s: the changed file is not used: %s", name, e)
                server.metrics.events["reload_failed"] += 1
                continue
            learning = server.learning[name]
            await loop.run_in_executor(
                server.trainer, learning.reload, model, f"reloaded from {served.path.name}"
            )
            server.metrics.events["reload"] += 1
            await correcting.note_version(server, served)
            if learning.learns and served.corrections.pins:
                await correcting.learn_corrections(server, served)


def validated(served: ServedModel) -> Any:
    """The model of the changed file, if it is of the same kind and answers."""
    model = load(served.path)
    if kind_of_model(model) is not served.kind:
        raise ValueError(f"it holds a model for {kind_of_model(model).plural}, not for {served.kind.plural}")
    model.threads = 1
    answer_once(served, model)
    return model


def answer_once(served: ServedModel, model: Any) -> None:
    """Let a model answer once: a model that cannot answer raises, and caches are built before the first request."""
    columns = len(getattr(model, "columns_", ("w",)))
    probes = [row for pool in served.pools.values() for row in pool.rows[:1]]
    for given in (Input(text="One, 2."), Input(tokens=[["a"] * columns] if columns > 1 else ["a"])):
        with suppress(ChaffinchError):  # it takes no input of this form
            probes += served.answering.rows(model, given)
            break
    for probe in probes:
        served.answering.answers(model, [probe], Asked())


def stamp(path: Path) -> Stamp | None:
    """A value that changes if the file is written or replaced; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
