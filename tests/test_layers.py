"""Imports point only downward: the sources are parsed and every edge is held against the level table.

The table is the one of docs/layout.md. An edge to the same level is as wrong as one that points up.
"""

from __future__ import annotations

import ast
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import REPOSITORY

PACKAGE = REPOSITORY / "src" / "migopt"

#: Part of migopt (a folder or a file directly in it) to its level.
LEVELS = {
    "errors": 0,
    "interrupt": 0,
    "compiled": 2,
    "units": 0,
    "model": 1,
    "gpus": 2,
    "placement": 2,
    "metrics": 2,
    "results": 2,
    "records": 2,
    "io": 3,
    "sim": 3,
    "bounds": 3,
    "check": 3,
    "exact": 4,
    "mig": 4,
    "answer": 5,
    "schedulers": 5,
    "rl": 6,
    "registry": 6,
    "certificates": 7,
    "api": 8,
    "testing": 9,
    "bench": 9,
    "report": 9,
    "cli": 10,
    "__main__": 11,
}

#: Edges that the levels would allow and that are forbidden all the same.
WALLS = {
    "exact": {"io", "sim", "check"},
    "mig": {"io", "sim", "check"},
    "report": {"sim", "exact", "schedulers", "registry", "certificates", "api", "bounds", "check", "rl"},
}

#: From the first to any of the second there is not even a path over other parts.
UNREACHABLE = {
    "check": {"sim", "exact", "schedulers", "io", "bounds"},
    "sim": {"check"},
    "exact": {"check"},
    "schedulers": {"check"},
    "report": {"sim", "exact", "schedulers", "registry", "api", "check"},
}

HEAVY = {
    "gymnasium",
    "highspy",
    "jinja2",
    "matplotlib",
    "networkx",
    "numba",
    "numpy",
    "ortools",
    "pydantic",
    "pyomo",
    "rich",
    "scipy",
    "torch",
}


def part_of(path: Path, package: Path) -> str:
    """Return the folder or file directly in the package that holds ``path``."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def imports(path: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Return (line, part) of every import of the package's own parts, at any depth of the code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            # relative: from the folder of the file, ``level - 1`` folders up
            folder = path.relative_to(package.parent).parts[: -node.level]
            names = [".".join((*folder, *filter(None, (node.module or "").split("."))))]
            if len(names[0].split(".")) == 1:
                names = [f"{names[0]}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == package.name:
                names = [f"{package.name}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and _is_own_module(node.value, package):
            # the name of a module that is imported later: importlib, tables of lazy names
            names = [str(node.value)]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first == package.name and rest:
                yield node.lineno, rest.partition(".")[0]


def _is_own_module(value: object, package: Path) -> bool:
    if not isinstance(value, str) or not re.fullmatch(rf"{package.name}(\.\w+)+", value):
        return False
    part = package / value.split(".")[1]
    return part.is_dir() or part.with_suffix(".py").is_file() or part.name in LEVELS


def edges(package: Path) -> Iterator[tuple[Path, int, str, str]]:
    """Return (file, line, from, to) for every import between two parts of the package."""
    for path in sorted(package.rglob("*.py")):
        if path == package / "__init__.py":
            continue
        source = part_of(path, package)
        for line, target in imports(path, package):
            if target != source and not target.startswith("__version__"):
                yield path, line, source, target


def faults(package: Path) -> list[str]:
    """Return every edge that points up or sideways, or through a wall."""
    found = []
    for path, line, source, target in edges(package):
        place = f"{path.relative_to(package)}:{line}"
        if source not in LEVELS or target not in LEVELS:
            missing = source if source not in LEVELS else target
            found.append(f"{place}: {missing} is in no level")
        elif LEVELS[target] >= LEVELS[source] or target in WALLS.get(source, ()):
            found.append(
                f"{place}: {source} (level {LEVELS[source]}) imports {target} (level {LEVELS[target]})"
            )
    return found


def reachable(start: str, package: Path) -> set[str]:
    """Return every part that ``start`` imports, over any number of steps."""
    direct: dict[str, set[str]] = {}
    for _, _, source, target in edges(package):
        direct.setdefault(source, set()).add(target)
    seen: set[str] = set()
    todo = [start]
    while todo:
        for target in direct.get(todo.pop(), set()) - seen:
            seen.add(target)
            todo.append(target)
    return seen


def test_imports_point_downward() -> None:
    """No import in the sources points up, sideways or through a wall."""
    assert faults(PACKAGE) == []


@pytest.mark.parametrize("start", sorted(UNREACHABLE))
def test_walls_hold_over_any_number_of_steps(start: str) -> None:
    """The checker reaches no producer, no producer reaches the checker, the report reaches no solver."""
    assert (PACKAGE / start).exists() or (PACKAGE / f"{start}.py").exists()
    assert reachable(start, PACKAGE) & UNREACHABLE[start] == set()


def test_every_part_has_a_level() -> None:
    """Each folder and file of the package is in the table, so that nothing escapes it."""
    parts = {
        part_of(path, PACKAGE) for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"
    }
    assert parts - set(LEVELS) == set()


@pytest.mark.parametrize(
    ("path", "code", "fault"),
    [
        ("model/a.py", "from migopt.gpus import load_gpu", "model (level 1) imports gpus"),
        ("gpus/a.py", "import migopt.placement.graph", "gpus (level 2) imports placement"),
        ("io/a.py", "def f():\n    from migopt import sim", "io (level 3) imports sim"),
        ("bounds/a.py", "from ..check import check", "bounds (level 3) imports check"),
        ("bounds/deep/a.py", "from ... import check", "bounds (level 3) imports check"),
        ("exact/a.py", "from migopt.sim import simulate", "exact (level 4) imports sim"),
        ("report/a.py", "import importlib\nimportlib.import_module('migopt.api')", "imports api"),
        ("model/a.py", "LAZY = {'simulate': 'migopt.sim'}", "model (level 1) imports sim"),
        ("novel/a.py", "from migopt.model import Job", "novel is in no level"),
    ],
)
def test_a_wrong_edge_is_found(tmp_path: Path, path: str, code: str, fault: str) -> None:
    """Every way to write an import that points the wrong way is seen, also inside functions."""
    file = tmp_path / "migopt" / path
    file.parent.mkdir(parents=True)
    file.write_text(code)
    (found,) = faults(tmp_path / "migopt")
    assert fault in found


def test_a_right_edge_is_no_fault(tmp_path: Path) -> None:
    """Downward imports and imports within one part pass."""
    file = tmp_path / "migopt" / "exact" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import os\nfrom migopt.bounds import energy\nfrom . import b\nfrom .b import c\n"
    )
    assert faults(tmp_path / "migopt") == []


def test_docs_print_this_table() -> None:
    """The level table of the documentation lists each part at the level tested here."""
    rows = {}
    for line in (REPOSITORY / "docs" / "layout.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0].isdigit():
            rows |= {name.strip("` "): int(cells[0]) for name in cells[1].split(",")}
    assert rows == {name: level for name, level in LEVELS.items() if name != "__main__"}


# ---------------------------------------------------------------- what loading costs


def loaded_modules(*command: str) -> set[str]:
    """Run Python with ``-X importtime`` and return the top-level names that it imported."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command], capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize(
    "command",
    [("-c", "import migopt"), ("-m", "migopt", "--help"), ("-m", "migopt", "--version")],
    ids=" ".join,
)
def test_no_engine_is_loaded_before_it_is_needed(command: tuple[str, ...]) -> None:
    """Importing migopt or asking for help imports no heavy library."""
    loaded = loaded_modules(*command)
    assert "migopt" in loaded
    assert loaded & HEAVY == set()


def cost_ms(*command: str) -> float:
    """Return what one Python process takes, in ms: wall time, or processor time if that is less.

    On an idle machine the two are alike; on a busy one the wall time is that of the other work.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * min(wall, processor)


@pytest.mark.parametrize(
    ("command", "limit_ms"), [(("-c", "import migopt"), 50), (("-m", "migopt", "--help"), 150)]
)
def test_start_up_time(command: tuple[str, ...], limit_ms: float) -> None:
    """``import migopt`` costs less than 50 ms and ``migopt --help`` less than 150 ms over bare Python."""
    pairs = [(cost_ms("-c", "pass"), cost_ms(*command)) for _ in range(7)]
    assert statistics.median(with_it - bare for bare, with_it in pairs) < limit_ms


def test_lazy_names_all_resolve() -> None:
    """Every public name of migopt can be got, and an unknown one is an AttributeError."""
    import migopt

    for name in migopt.__all__:
        assert getattr(migopt, name) is not None
    assert set(migopt.__all__) <= set(dir(migopt))
    with pytest.raises(AttributeError, match="no attribute 'solvee'"):
        migopt.solvee  # noqa: B018
