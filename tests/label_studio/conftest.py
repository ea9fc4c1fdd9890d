"""The real Label Studio, in an environment and a process of its own."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from installed_tool import InstalledTool, free_port

HOME = Path(__file__).parents[2] / "build" / "label-studio"
PROGRAM = Path(os.environ.get("LABEL_STUDIO") or HOME / "venv" / "bin" / "label-studio")
TOKEN = "0123456789abcdef0123456789abcdef01234567"  # of a user whom only this test's database has
SETTINGS = {
    "COLLECT_ANALYTICS": "false",
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
    "LATEST_VERSION_CHECK": "false",
    "ML_BLOCK_LOCAL_IP": "false",
    "SSRF_PROTECTION_ENABLED": "false",
    "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
}


def started(folder: Path) -> InstalledTool:
    """Label Studio with its database in a folder."""
    port = free_port()
    user = ["--username", "a@example.org", "--password", "of-no-use-elsewhere", "--user-token", TOKEN]
    address = ["--internal-host", "127.0.0.1", "-p", str(port), "--no-browser"]
    command = [PROGRAM, "start", *address, *user, "-db", folder / "db.sqlite3"]
    settings = {**SETTINGS, "LABEL_STUDIO_BASE_DATA_DIR": str(folder)}
    running = InstalledTool(command, port, folder, settings, "/health")
    running.token = TOKEN
    return running


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InstalledTool]:
    """Label Studio, started. An empty database takes a minute to make, so it is kept beside the environment."""
    if not PROGRAM.is_file():
        pytest.skip("needs Label Studio: run `make test-label-studio`, or name its program in LABEL_STUDIO")
    kept, folder = HOME / "empty.sqlite3", tmp_path_factory.mktemp("studio")
    if not kept.is_file():
        started(folder).stop()
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / "db.sqlite3", kept)
    shutil.copy(kept, folder / "db.sqlite3")
    running = started(folder)
    yield running
    running.stop()
