"""The environment of a measurement: the machine, the versions, the commit."""

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def machine() -> dict[str, Any]:
    """Processor, cores we may use, memory and system; nothing that names the machine or its owner."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
    }


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """The versions of Python and of packages; None for one that is not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for package in sorted({"chaffinch", "numpy", *packages}):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def commit() -> tuple[str, bool | None]:
    """The commit of this working copy and whether it has changes; ("unknown", None) outside of one."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        return head, bool(_git("status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return "unknown", None


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _cpu_model() -> str:
    """The processor's name if the system reports it; otherwise, as often on Arm, implementer and part."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    if "model name" in fields:
        return fields["model name"]
    parts = [f"{key} {fields[key]}" for key in ("CPU implementer", "CPU part") if key in fields]
    return ", ".join(parts) or platform.machine()
