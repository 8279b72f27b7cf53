"""From the models of an instance file to an Instance and back; names are resolved here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import load_gpu
from migopt.io import schema
from migopt.io._free import check_free_form
from migopt.io._place import path_of, placed
from migopt.io.validate import Rates, geometry, validate_instance
from migopt.model import (
    Catalogue,
    FrozenMap,
    GpuModel,
    Instance,
    Job,
    Partition,
    Placement,
    PowerCurve,
    Preemption,
    Repartition,
)
from migopt.placement import build_catalogue

#: Name of a catalogue that is listed rather than named.
CUSTOM = "custom"


def instance_of(file: schema.InstanceFile) -> Instance:
    """Return the Instance that a file describes; raises InputError with the place in the file."""
    gpus = _gpus(file.gpus)
    models = {model.key: model for model in gpus}
    tables = _RateTables(file.rates, models)
    jobs = [_job(entry, tables, index) for index, entry in enumerate(file.jobs)]
    instance = Instance(
        name=file.name,
        gpus=gpus,
        jobs=tuple(jobs),
        catalogues=FrozenMap(_catalogues(file.catalogue, models)),
        power=FrozenMap({key: _power(entry) for key, entry in file.power.items()}),
        preemption=Preemption(file.preemption.mode, file.preemption.resume_overhead_ms),
        repartition=Repartition(file.repartition.scope, file.repartition.tau_ms),
        weight_a=_fraction(file.weight_a),
        horizon_ms=file.horizon_ms,
        mig_off=file.mig_off,
        kind=file.kind,
        origin=file.origin,
    )
    validate_instance(instance, jobs=jobs)
    return instance


def _gpus(entries: Sequence[schema.GpuEntry]) -> tuple[GpuModel, ...]:
    gpus: list[GpuModel] = []
    for index, entry in enumerate(entries):
        with placed(f"gpus[{index}].model"):
            model = load_gpu(entry.model)
        gpus += [model] * entry.count
    return tuple(gpus)


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise InputError(f"{text} divides by zero", where="weight_a") from None


def _power(entry: schema.PowerEntry) -> PowerCurve:
    return PowerCurve(tuple(entry.busy_mw), entry.off_busy_mw, entry.source)


def _catalogues(
    field: str | dict[str, str | list[list[str]]], models: Mapping[str, GpuModel]
) -> dict[str, Catalogue]:
    if isinstance(field, str):
        with placed("catalogue"):
            return {key: build_catalogue(field, model) for key, model in models.items()}
    found = {}
    for key, entry in field.items():
        where = path_of(("catalogue", key))
        if key not in models:
            raise UnknownNameError("GPU of this instance", key, models, where=where)
        if isinstance(entry, str):
            with placed(where):
                found[key] = build_catalogue(entry, models[key])
        else:
            partitions = tuple(Partition(tuple(map(Placement.parse, part))) for part in entry)
            found[key] = Catalogue(CUSTOM, key, partitions)
    return found


class _RateTables:
    """The rate tables of a file, each distinct one made once and shared by its jobs."""

    def __init__(
        self, named: Mapping[str, Mapping[str, Mapping[str, int]]], models: Mapping[str, GpuModel]
    ) -> None:
        self._same: dict[Any, FrozenMap] = {}
        rates = Rates(models)
        self.named = {}
        for name, table in named.items():
            self.named[name] = self.shared(table)
            rates.check(self.named[name], ("rates", name))

    def shared(self, table: Mapping[str, Mapping[str, int]]) -> FrozenMap:
        """Return the one object that stands for all tables equal to this one."""
        content = tuple((gpu, tuple(rates.items())) for gpu, rates in table.items())
        known = self._same.get(content)
        if known is None:
            known = FrozenMap({gpu: FrozenMap(rates) for gpu, rates in table.items()})
            self._same[content] = known
        return known

    def of(self, field: str | Mapping[str, Mapping[str, int]], index: int) -> FrozenMap:
        """Return the table of job number ``index``, named or listed."""
        if not isinstance(field, str):
            return self.shared(field)
        try:
            return self.named[field]
        except KeyError:
            where = f"jobs[{index}].rates"
            raise UnknownNameError("rate table", field, self.named, where=where) from None


def _job(entry: schema.JobEntry, tables: _RateTables, index: int) -> Job:
    return Job(
        id=entry.id,
        release_ms=entry.release_ms,
        due_ms=entry.due_ms,
        work=entry.work,
        rates=tables.of(entry.rates, index),
        weight=entry.weight,
        memory_bytes=entry.memory_bytes,
        preemptible=entry.preemptible,
        kind=entry.kind,
        elasticity=entry.elasticity,
        name=entry.name,
    )


# ---------------------------------------------------------------- back to a file


def document_of(instance: Instance) -> dict[str, Any]:
    """Return the content of the file that describes ``instance``.

    Raises InputError for an instance that no file can describe: one that is not valid, or whose
    GPU model is not the table of its key.
    """
    validate_instance(instance)
    check_free_form(dict(instance.origin), ("origin",))
    for index, model in enumerate(instance.gpus):
        with placed(f"gpus[{index}]"):
            table = load_gpu(model.key)
        if table is not model and geometry(table) != geometry(model):
            message = f"is not {model.key} as migopt's table has it, and files name GPUs by key"
            raise InputError(message, where=f"gpus[{index}]")
    names = _table_names(instance.jobs)
    return {
        "format": schema.INSTANCE_FORMAT,
        "version": schema.VERSION,
        "kind": instance.kind,
        "name": instance.name,
        "gpus": _runs(instance.gpus),
        "catalogue": _catalogue_field(instance),
        "mig_off": instance.mig_off,
        "preemption": {
            "mode": instance.preemption.mode,
            "resume_overhead_ms": instance.preemption.resume_overhead_ms,
        },
        "repartition": {
            "scope": instance.repartition.scope,
            "tau_ms": instance.repartition.tau_ms,
        },
        "power": {key: _power_entry(curve) for key, curve in instance.power.items()},
        "weight_a": str(instance.weight_a),
        "horizon_ms": instance.horizon_ms,
        "rates": {
            name: {gpu: dict(rates) for gpu, rates in table.items()}
            for table, name in names.items()
        },
        "jobs": [_job_entry(job, names[job.rates]) for job in instance.jobs],
        "origin": dict(instance.origin),
    }


def _runs(gpus: Sequence[GpuModel]) -> list[dict[str, Any]]:
    """Return the GPUs with neighbours of one model counted."""
    runs: list[dict[str, Any]] = []
    for model in gpus:
        if runs and runs[-1]["model"] == model.key:
            runs[-1]["count"] += 1
        else:
            runs.append({"model": model.key, "count": 1})
    return runs


def _catalogue_field(instance: Instance) -> Any:
    fields: dict[str, Any] = {}
    for model in instance.gpu_models:
        catalogue = instance.catalogues[model.key]
        listed = [[str(placement) for placement in part] for part in catalogue]
        fields[model.key] = catalogue.name if _is_named(catalogue, model) else listed
    names = list(fields.values())
    if isinstance(names[0], str) and len(set(map(str, names))) == 1:
        return names[0]
    return fields


def _is_named(catalogue: Catalogue, model: GpuModel) -> bool:
    """Return whether the catalogue's name stands for just these partitions."""
    try:
        return build_catalogue(catalogue.name, model).partitions == catalogue.partitions
    except InputError:
        return False


def _power_entry(curve: PowerCurve) -> dict[str, Any]:
    return {
        "busy_mw": list(curve.busy_mw),
        "off_busy_mw": curve.off_busy_mw,
        "source": curve.source,
    }


def _table_names(jobs: Sequence[Job]) -> dict[FrozenMap, str]:
    """Return a name per distinct rate table: the elasticity label, numbered where it is taken."""
    labels: dict[FrozenMap, str] = {}
    for job in jobs:
        labels.setdefault(job.rates, job.elasticity)
    names: dict[FrozenMap, str] = {}
    taken: set[str] = set()
    tries: dict[str, int] = {}
    for table, label in labels.items():
        base = name = label or "rates"
        while name in taken:
            tries[base] = tries.get(base, 1) + 1
            name = f"{base}-{tries[base]}"
        taken.add(name)
        names[table] = name
    return names


def _job_entry(job: Job, table: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": job.id,
        "release_ms": job.release_ms,
        "due_ms": job.due_ms,
        "work": job.work,
        "rates": table,
    }
    # What is as usual is left out: a day of a cluster has many jobs.
    usual: dict[str, Any] = {"weight": 1, "memory_bytes": 0, "preemptible": True}
    usual |= {"kind": "", "elasticity": "", "name": ""}
    return entry | {
        key: value for key, default in usual.items() if (value := getattr(job, key)) != default
    }
