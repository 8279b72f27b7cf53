"""All speed figures, one JSON line each; ``python benchmarks/speed/run.py [one_gpu clusters studies]``.

Figures are CPU time, so other work on the machine is in them only as far as it disturbs caches; on a
quiet machine they are wall time. Exit code 1 if a target is missed.
"""

from __future__ import annotations

import importlib
import sys


def main(names: list[str]) -> int:
    """Run the named files, or all."""
    missed = 0
    for name in names or ["one_gpu", "clusters", "studies"]:
        for figure in importlib.import_module(name).figures():
            print(figure.line(), flush=True)
            missed += figure.met is False
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
