"""What a record says about where it was made: versions, machine size, commit, command."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import migopt

_ENGINES = ("ortools", "highspy", "pyomo", "numpy", "scipy", "numba", "torch")


def describe_environment(command: list[str]) -> dict[str, Any]:
    """Return command, versions, machine and commit as JSON data."""
    return {
        "command": shlex.join(command),
        "versions": versions(),
        "machine": machine(),
        "commit": commit(Path(migopt.__file__).resolve()),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python, migopt and the engines that are installed."""
    found = {"python": platform.python_version(), "migopt": migopt.__version__}
    for name in _ENGINES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Return usable cores, memory in GiB, processor and operating system."""
    return {
        "cores": usable_cores(),
        "memory_gib": memory_gib(),
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_gib() -> float | None:
    """Return the machine's memory in GiB, None where the system does not say."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (OSError, ValueError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")


def commit(file: Path) -> str:
    """Return the commit of the checkout that tracks ``file``, with ``+changes`` when it is dirty.

    Empty for an installed package, also one that lies inside somebody else's repository.
    """
    try:
        _git(file.parent, "ls-files", "--error-unmatch", file.name)
        head = _git(file.parent, "rev-parse", "--short=12", "HEAD")
        dirty = _git(file.parent, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return ""
    return head + ("+changes" if dirty else "")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=10,
    )
    return done.stdout.strip()


def utc_now() -> str:
    """Return the present time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
