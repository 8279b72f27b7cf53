"""From a suite file to its runs: instances x seeds x entries x budgets, each with its key."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from migopt.bench.spec import InstanceSpec, RunSpec, budget_label, check_key_part, run_key
from migopt.bench.suite import EntryTable, InstanceTable, SuiteFile, read_suite, seed_list
from migopt.errors import InputError, UnknownNameError
from migopt.registry import bundled_folder, validate

_SUFFIXES = (".json.gz", ".json")


@dataclass(frozen=True, slots=True)
class Competitor:
    """An entry of a suite: its name in tables, what is resolved, and where it runs.

    Attributes
    ----------
    name, spec : str
    classes : tuple of str, optional
        Only on instances of these classes.
    seeds : int, optional
        Only on the first so many seeds of a group.
    """

    name: str
    spec: str
    classes: tuple[str, ...] | None
    seeds: int | None

    def competes(self, instance: InstanceSpec, place: int) -> bool:
        """Return whether it runs on an instance at the seed in this place (from 0) of its group."""
        if self.classes is not None and instance.instance_class not in self.classes:
            return False
        return self.seeds is None or place < self.seeds


@dataclass(frozen=True, slots=True)
class Suite:
    """A validated suite and all its runs, grouped by instance.

    Attributes
    ----------
    name, title : str
        Stem of the file, and a line for people.
    path : Path
        The suite file.
    runs : tuple of RunSpec
        In order: all entries of one instance and seed, then the next seed, then the next instance.
    threads : int
        Threads that each run may use.
    """

    name: str
    title: str
    path: Path
    runs: tuple[RunSpec, ...]
    threads: int


def load_suite(path: Path, *, seeds: int | None = None, only: str | None = None) -> Suite:
    """Read a suite file and list its runs.

    Parameters
    ----------
    path : Path
        The TOML file; paths inside it are relative to its folder.
    seeds : int, optional
        Use the seeds 1 to n instead of the file's, for generated and imported instances and for
        groups of files that list seeds.
    only : str, optional
        Keep the runs whose key matches this pattern (``*`` and ``?``), or contains it as it is.

    Raises
    ------
    InputError
        The file is not acceptable, an entry or instance is unknown, or ``only`` keeps nothing.
    """
    source = str(path)
    table = read_suite(path)
    competitors = list(_competitors(table, path))
    instances = list(_instances(table, path, seeds))
    _refuse_twins(instances, source)
    known = {spec.instance_class for spec, _ in instances}
    for index, competitor in enumerate(competitors):
        for name in competitor.classes or ():
            if name not in known:
                raise UnknownNameError(
                    "class", name, known, where=f"entries[{index}].classes", source=source
                )
    runs = [
        run for run in _runs(path.stem, table, instances, competitors) if _matches(run.key, only)
    ]
    if not runs:
        raise InputError(
            f"no run key matches {only!r}" if only else "the suite has no runs", source=source
        )
    return Suite(path.stem, table.title, path, tuple(runs), table.budget.threads)


def _matches(key: str, only: str | None) -> bool:
    if only is None:
        return True
    return fnmatch.fnmatchcase(key, only) if set(only) & set("*?[") else only in key


def _runs(
    suite: str,
    table: SuiteFile,
    instances: list[tuple[InstanceSpec, list[int]]],
    competitors: list[Competitor],
) -> Iterator[RunSpec]:
    budget, keep = table.budget, table.keep_schedules
    for instance, seeds in instances:
        for place, seed in enumerate(seeds):
            kept = keep == "all" or (keep == "first_seed" and seed == seeds[0])
            unchecked = table.check_schedules == "first_seed" and seed != seeds[0]
            for competitor in competitors:
                if not competitor.competes(instance, place):
                    continue
                for limit in budget.time_limits_s:
                    label = budget_label(limit, budget.gap, budget.threads)
                    key = run_key(instance.name, seed, competitor.name, label)
                    yield RunSpec(
                        key=key,
                        suite=suite,
                        instance=instance,
                        seed=seed,
                        entry=competitor.name,
                        spec=competitor.spec,
                        time_limit_s=limit,
                        gap=budget.gap,
                        threads=budget.threads,
                        keep_schedule=kept,
                        figures_only=unchecked and "+" in competitor.spec,
                    )


# --- entries ---------------------------------------------------------------------------------


def _competitors(table: SuiteFile, path: Path) -> Iterator[Competitor]:
    seen: dict[str, int] = {}
    for index, item in enumerate(table.entries):
        entry = EntryTable(spec=item) if isinstance(item, str) else item
        where, source = f"entries[{index}]", str(path)
        spec = _absolute(entry.spec, path.parent)
        try:
            validate(spec)
        except UnknownNameError as error:
            raise UnknownNameError(
                "solver or rule", error.name, error.known, where=where, source=source
            ) from None
        except InputError as error:
            raise InputError(error.message, where=where, source=source) from None
        name = check_key_part(entry.name or _short(entry.spec), where, source)
        if name in seen:
            raise InputError(
                f"{name} is entries[{seen[name]}] already; give one of them a name",
                where=where,
                source=source,
            )
        seen[name] = index
        classes = None if entry.classes is None else tuple(entry.classes)
        yield Competitor(name, spec, classes, entry.seeds)


def _absolute(spec: str, folder: Path) -> str:
    """Return the spec with the paths of rule and solver files made absolute."""
    parts = []
    for part in spec.split("+"):
        name, colon, rest = part.partition(":")
        if name.endswith(".py"):
            name = str((folder / name).resolve())
        parts.append(name + colon + rest)
    return "+".join(parts)


def _short(spec: str) -> str:
    """Return the spec with files named by their stem."""
    parts = []
    for part in spec.split("+"):
        name, colon, rest = part.partition(":")
        parts.append((Path(name).stem if name.endswith(".py") else name) + colon + rest)
    return "+".join(parts)


# --- instances -------------------------------------------------------------------------------


def _instances(
    table: SuiteFile, path: Path, seeds: int | None
) -> Iterator[tuple[InstanceSpec, list[int]]]:
    for index, group in enumerate(table.instances):
        where = f"instances[{index}]"
        listed = seed_list(group.seeds if group.seeds is not None else table.seeds)
        if seeds is not None:
            listed = seed_list(seeds)
        if group.files is None and group.bundled is None:
            yield _made(group, path, where), listed
            continue
        # A file is one instance whatever the seed; only a group that asks for more gets more.
        for spec in _from_files(group, path, where):
            yield spec, listed if group.seeds is not None else listed[:1]


def _made(group: InstanceTable, path: Path, where: str) -> InstanceSpec:
    """Return the spec of a generator or an import, its parameters checked but nothing built."""
    source = str(path)
    trace, content = "", ""
    if group.generator is not None:
        from migopt.io.generators import check_parameters

        how, what = "generator", group.generator
    else:
        from migopt.io.traces import check_parameters

        assert group.import_format is not None
        assert group.file is not None
        how, what = "import", group.import_format
        file = (path.parent / Path(group.file).expanduser()).resolve()
        trace, content = str(file), _digest(file) if file.is_file() else ""
    try:
        check_parameters(what, group.parameters)
    except UnknownNameError as error:
        place = how if error.name == what else "parameters"
        raise InputError(error.message, where=f"{where}.{place}", source=source) from None
    except InputError as error:
        place = ".".join(filter(None, (f"{where}.parameters", error.where)))
        raise InputError(error.message, where=place, source=source) from None
    name = check_key_part(group.name or what, f"{where}.name", source)
    return InstanceSpec(name, group.instance_class, how, what, trace, group.parameters, content)


def _from_files(group: InstanceTable, path: Path, where: str) -> Iterator[InstanceSpec]:
    key = "bundled" if group.bundled is not None else "files"
    folder = bundled_folder("instances") if key == "bundled" else path.parent
    patterns = getattr(group, key)
    for number, pattern in enumerate([patterns] if isinstance(patterns, str) else patterns):
        place = f"{where}.{key}" if isinstance(patterns, str) else f"{where}.{key}[{number}]"
        for file in _glob(folder, pattern, place, str(path)):
            stem = next(file.name.removesuffix(end) for end in _SUFFIXES if file.name.endswith(end))
            name = check_key_part(f"{group.name}-{stem}" if group.name else stem, place, str(path))
            yield InstanceSpec(name, group.instance_class, "file", "", str(file), {}, _digest(file))


def _glob(folder: Path, pattern: str, where: str, source: str) -> list[Path]:
    if Path(pattern).is_absolute():
        folder, pattern = (
            Path(Path(pattern).anchor),
            str(Path(pattern).relative_to(Path(pattern).anchor)),
        )
    try:
        found = sorted(folder.glob(pattern))
    except ValueError as error:
        raise InputError(f"not a pattern: {error}", where=where, source=source) from None
    files = [file.resolve() for file in found if file.is_file() and file.name.endswith(_SUFFIXES)]
    if not files:
        raise InputError(
            f"no instance file (.json, .json.gz) matches {pattern!r} in {folder}",
            where=where,
            source=source,
        )
    return files


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _refuse_twins(instances: list[tuple[InstanceSpec, list[int]]], source: str) -> None:
    seen: dict[str, InstanceSpec] = {}
    for spec, _ in instances:
        other = seen.setdefault(spec.name, spec)
        if other is not spec:
            both = " and ".join(item.path or f"{item.how} {item.source}" for item in (other, spec))
            raise InputError(
                f"two instances are called {spec.name}: {both}; set name in one group",
                source=source,
            )
