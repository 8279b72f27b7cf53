"""Suite files (TOML): instances x entries x seeds x budgets, validated before anything runs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from migopt.errors import InputError, UnknownNameError, nearest_hint

Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Positive = Annotated[float, Field(gt=0, le=30 * 86_400, allow_inf_nan=False)]
KeepSchedules = Literal["all", "first_seed", "none"]
CheckSchedules = Literal["all", "first_seed"]
_SOURCES = ("files", "bundled", "generator", "import")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)


class BudgetTable(_Table):
    """Limits of every run; several time limits make several runs of each entry."""

    time_limit_s: Positive | list[Positive]
    gap: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0
    threads: Annotated[int, Field(ge=1, le=1024)] = 1

    @property
    def time_limits_s(self) -> list[float]:
        """The time limits as a list."""
        return self.time_limit_s if isinstance(self.time_limit_s, list) else [self.time_limit_s]


class EntryTable(_Table):
    """One competitor: a solver's name or file, or a policy string, and where it competes.

    ``seeds``: on the first so many seeds of every group only, for entries that cost much.
    """

    spec: Annotated[str, Field(min_length=1)]
    name: str | None = None
    classes: list[str] | None = None
    seeds: Annotated[int, Field(ge=1, le=100_000)] | None = None


class InstanceTable(_Table):
    """One group of instances: files, bundled files, a generator or an import."""

    instance_class: Annotated[str, Field(alias="class", min_length=1)]
    name: str | None = None
    files: str | list[str] | None = None
    bundled: str | list[str] | None = None
    generator: str | None = None
    import_format: Annotated[str | None, Field(alias="import")] = None
    file: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    seeds: Annotated[int, Field(ge=1, le=100_000)] | list[Seed] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> InstanceTable:
        given = [name for name in _SOURCES if getattr(self, _attribute(name)) is not None]
        if len(given) != 1:
            said = " and ".join(given) if given else "none of them"
            raise ValueError(f"needs exactly one of {', '.join(_SOURCES)}; has {said}")
        source = given[0]
        if source == "import" and self.file is None:
            raise ValueError("an import needs file, the trace to read")
        if source != "import" and self.file is not None:
            raise ValueError(f"file goes with import, not with {source} (did you mean files?)")
        if source in ("files", "bundled") and self.parameters:
            raise ValueError(f"parameters go with generator or import, not with {source}")
        if "seed" in self.parameters:
            raise ValueError("seed is not a parameter here; set seeds")
        return self


class SuiteFile(_Table):
    """A suite file as written."""

    title: str = ""
    seeds: Annotated[int, Field(ge=1, le=100_000)] | list[Seed] = Field(default_factory=lambda: [1])
    budget: BudgetTable
    entries: Annotated[list[str | EntryTable], Field(min_length=1)]
    instances: Annotated[list[InstanceTable], Field(min_length=1)]
    keep_schedules: KeepSchedules = "all"
    check_schedules: CheckSchedules = "all"


def _attribute(source: str) -> str:
    return "import_format" if source == "import" else source


_TABLES: dict[str, type[_Table]] = {
    "budget": BudgetTable,
    "entries": EntryTable,
    "instances": InstanceTable,
}


def seed_list(seeds: int | list[int]) -> list[int]:
    """Return ``n`` as the seeds 1 to n, a list as it is."""
    return list(range(1, seeds + 1)) if isinstance(seeds, int) else list(seeds)


def suite_names(folder: Path | None) -> list[str]:
    """Return the names of the bundled suites."""
    return sorted(path.stem for path in folder.glob("*.toml")) if folder else []


def find_suite(name: str, folder: Path | None) -> Path:
    """Return the path of a suite given by path or by a bundled suite's name.

    Raises
    ------
    UnknownNameError
        There is neither such a file nor such a bundled suite.
    """
    path = Path(name)
    if path.suffix == ".toml" or "/" in name:
        if not path.is_file():
            raise InputError(
                f"no such suite file{nearest_hint(path.stem, suite_names(folder))}", source=name
            )
        return path
    if name not in suite_names(folder):
        raise UnknownNameError("suite", name, suite_names(folder))
    assert folder is not None
    return folder / f"{name}.toml"


def read_suite(path: Path) -> SuiteFile:
    """Read and validate a suite file.

    Raises
    ------
    InputError
        With the key's path inside the file and, for an unknown key, the nearest valid one.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", source=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML: {error}", source=str(path)) from None
    try:
        return SuiteFile.model_validate(data)
    except ValidationError as error:
        raise _first_error(error, str(path)) from None


def _first_error(error: ValidationError, source: str) -> InputError:
    # Of a union's branches (string or table) the one that got furthest is the one that was meant;
    # a misspelt key says more than the absence of the right one.
    detail = max(
        error.errors(include_url=False),
        key=lambda item: (len(_keys(item["loc"])), item["type"] == "extra_forbidden"),
    )
    where = _place(detail["loc"])
    if detail["type"] == "extra_forbidden":
        table = (
            _TABLES.get(str(detail["loc"][0]), SuiteFile) if len(detail["loc"]) > 1 else SuiteFile
        )
        known = [info.alias or name for name, info in table.model_fields.items()]
        return UnknownNameError("key", str(detail["loc"][-1]), known, where=where, source=source)
    message = (
        "missing" if detail["type"] == "missing" else detail["msg"].removeprefix("Value error, ")
    )
    return InputError(message, where=where, source=source)


def _keys(loc: tuple[int | str, ...]) -> list[int | str]:
    """Return the path without pydantic's names for the branches of a union."""
    tables, types = ("list[", "constrained-", "EntryTable"), ("str", "int", "float")
    return [
        part
        for part in loc
        if isinstance(part, int) or not (part.startswith(tables) or part in types)
    ]


def _place(loc: tuple[int | str, ...]) -> str:
    parts = [f"[{key}]" if isinstance(key, int) else f".{key}" for key in _keys(loc)]
    return "".join(parts).removeprefix(".")
