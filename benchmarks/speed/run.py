"""All speed figures, one JSON line each; ``python benchmarks/speed/run.py [one_gpu clusters studies]``.

Figures are CPU time, so other work on the machine is in them only as far as it disturbs caches; on a
quiet machine they are wall time. The first line names commit and machine. Exit code 1 if a target is
missed.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path


def machine() -> str:
    """Return one JSON line: last commit of the simulator's sources, processor, cores, memory, versions."""
    import numba

    commit = subprocess.run(
        ["git", "log", "-1", "--format=%h", "--", "src/migopt/sim", "src/migopt/compiled.py"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    known = {
        "commit": commit or "unknown",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 1024**3, 1),
        "python": platform.python_version(),
        "numba": numba.__version__,
    }
    return json.dumps(known)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main(names: list[str]) -> int:
    """Run the named files, or all."""
    print(machine(), flush=True)
    missed = 0
    for name in names or ["one_gpu", "clusters", "studies"]:
        for figure in importlib.import_module(name).figures():
            print(figure.line(), flush=True)
            missed += figure.met is False
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
