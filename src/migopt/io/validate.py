"""Whether an instance makes sense: one check for files, the builder, generators and importers.

The places named in errors are those of an instance file, also for an instance made in Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, get_args

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import gpu_keys, load_gpu
from migopt.io import limits
from migopt.io._free import is_text
from migopt.io._place import path_of, placed
from migopt.io.limits import Limit, shown, why_not_whole
from migopt.model import OFF_PROFILE, Catalogue, GpuModel, Instance, Job
from migopt.model.instance import PreemptionMode, RepartitionScope
from migopt.units import ceil_div

_JOB_NUMBERS = {
    "id": limits.JOB_ID,
    "release_ms": limits.TIME_MS,
    "due_ms": limits.TIME_MS,
    "work": limits.WORK,
    "weight": limits.WEIGHT,
    "memory_bytes": limits.MEMORY_BYTES,
}
_JOB_LABELS = ("kind", "elasticity", "name")


def validate_instance(instance: Instance, *, jobs: Sequence[Job] | None = None) -> None:
    """Raise InputError, with the place, for the first thing that makes an instance unusable.

    Checked are numbers and their limits, names, partitions and power curves, that every job fits
    somewhere, and that energy and tardiness of a plain schedule stay within 64 bits. A job may be
    due before its release: it is late whatever is done.

    Parameters
    ----------
    instance : Instance
        The problem.
    jobs : sequence of Job, optional
        Its jobs in the order of the file, for the places in errors; by id otherwise.
    """
    jobs = instance.jobs if jobs is None else jobs
    _check_gpus(instance)
    for model in instance.gpu_models:
        _check_catalogue(instance, model)
    _check_settings(instance)
    _check_power(instance)
    fits = _Fits(instance)
    _check_jobs(instance, jobs, fits)
    _check_totals(instance, jobs, fits)


def geometry(model: GpuModel) -> tuple[object, ...]:
    """Return what of a GPU model decides about schedules: sizes and profiles, no notes or sources."""
    profiles = tuple(
        (p.name, p.compute_slices, p.memory_units, p.starts, p.memory_bytes) for p in model.profiles
    )
    return model.key, model.memory_units, model.compute_slices, profiles


def _require(reason: str | None, *place: str | int) -> None:
    if reason is not None:
        raise InputError(reason, where=path_of(place))


def _whole(value: object, limit: Limit, *place: str | int) -> None:
    _require(why_not_whole(value, limit), *place)


def _label(value: str, longest: int, *place: str | int) -> None:
    if not is_text(value):
        raise InputError(f"must be text, not {shown(value)}", where=path_of(place))
    if len(value) > longest:
        message = f"must have at most {longest} characters, not {len(value)}"
        raise InputError(message, where=path_of(place))


def _check_gpus(instance: Instance) -> None:
    _require(None if instance.gpus else "must not be empty", "gpus")
    _whole(len(instance.gpus), limits.GPU_COUNT, "gpus")
    first: dict[str, GpuModel] = {}
    for index, model in enumerate(instance.gpus):
        if first.setdefault(model.key, model) is not model and first[model.key] != model:
            raise InputError(f"there are two different models {model.key}", where=f"gpus[{index}]")


def _check_catalogue(instance: Instance, model: GpuModel) -> None:
    place = ("catalogue", model.key)
    catalogue: Catalogue | None = instance.catalogues.get(model.key)
    if catalogue is None:
        raise InputError("is missing", where=path_of(place))
    _require(None if catalogue.partitions else "must not be empty", *place)
    seen: dict[object, int] = {}
    for index, partition in enumerate(catalogue):
        where = path_of((*place, index))
        if not partition.placements:
            raise InputError("the partition is empty", where=where)
        if OFF_PROFILE in partition.profiles:
            raise InputError("off is in no catalogue; set mig_off to true instead", where=where)
        with placed(where):
            conflict = model.first_conflict(partition)
        _require(None if conflict is None else conflict.message, *place, index)
        if seen.setdefault(partition, index) != index:
            raise InputError(f"{partition} is listed twice", where=where)


def _check_settings(instance: Instance) -> None:
    for field in ("catalogues", "power"):
        for key in getattr(instance, field):
            if key not in {model.key for model in instance.gpu_models}:
                known = [model.key for model in instance.gpu_models]
                where = path_of(("catalogue" if field == "catalogues" else field, key))
                raise UnknownNameError("GPU of this instance", key, known, where=where)
    preemption, repartition = instance.preemption, instance.repartition
    _one_of(preemption.mode, get_args(PreemptionMode), "preemption", "mode")
    _whole(preemption.resume_overhead_ms, limits.TIME_MS, "preemption", "resume_overhead_ms")
    _one_of(repartition.scope, get_args(RepartitionScope), "repartition", "scope")
    _whole(repartition.tau_ms, limits.TIME_MS, "repartition", "tau_ms")
    _whole(instance.horizon_ms, limits.HORIZON_MS, "horizon_ms")
    _one_of(instance.kind, ("schedule",), "kind")
    _label(instance.name, limits.LABEL_LENGTH, "name")
    if type(instance.mig_off) is not bool:
        raise InputError(f"must be true or false, not {shown(instance.mig_off)}", where="mig_off")
    a = instance.weight_a
    if not isinstance(a, Fraction):
        raise InputError(f"must be a Fraction, not {shown(a)}", where="weight_a")
    _whole(a.numerator, limits.FRACTION_PART, "weight_a")
    _whole(a.denominator, limits.FRACTION_PART, "weight_a")


def _one_of(value: str, allowed: Sequence[str], *place: str) -> None:
    if value not in allowed:
        raise UnknownNameError(place[-1], str(value), allowed, where=path_of(place))


def _check_power(instance: Instance) -> None:
    for model in instance.gpu_models:
        place = ("power", model.key)
        curve = instance.power.get(model.key)
        if curve is None:
            if instance.weight_a > 0:
                message = "is missing: weight_a is above 0, so energy needs a power curve"
                raise InputError(message, where=path_of(place))
            continue
        _label(curve.source, limits.SOURCE_LENGTH, *place, "source")
        levels = model.compute_slices + 1
        if len(curve.busy_mw) != levels:
            message = f"must have {levels} values, for 0 to {model.compute_slices} busy slices"
            raise InputError(
                f"{message}, not {len(curve.busy_mw)}", where=path_of((*place, "busy_mw"))
            )
        for level, power in enumerate(curve.busy_mw):
            _whole(power, limits.POWER_MW, *place, "busy_mw", level)
        if curve.off_busy_mw is not None:
            _whole(curve.off_busy_mw, limits.POWER_MW, *place, "off_busy_mw")
        elif instance.mig_off and instance.weight_a > 0:
            message = "is missing: mig_off is true and weight_a above 0"
            raise InputError(message, where=path_of((*place, "off_busy_mw")))


class Rates:
    """Checks rate tables, each object once."""

    def __init__(self, models: Mapping[str, GpuModel]) -> None:
        self._models = dict(models)
        self._seen: dict[int, object] = {}

    def check(self, table: Mapping[str, Mapping[str, int]], place: tuple[str | int, ...]) -> None:
        """Raise InputError for a GPU or profile that does not exist, or a rate out of limits."""
        if id(table) in self._seen:
            return
        for key, rates in table.items():
            model = self._model(key, (*place, key))
            for profile, rate in rates.items():
                if profile != OFF_PROFILE and not model.has_profile(profile):
                    names = [*(p.name for p in model.profiles), OFF_PROFILE]
                    where = path_of((*place, key, profile))
                    raise UnknownNameError(f"profile of {key}", profile, names, where=where)
                if type(rate) is not int or not limits.RATE.low <= rate <= limits.RATE.high:
                    _whole(rate, limits.RATE, *place, key, profile)
        # The table is kept, so that its id is not given to another one.
        self._seen[id(table)] = table

    def _model(self, key: str, place: tuple[str | int, ...]) -> GpuModel:
        # Rates of cards the instance does not have are data for another day, but must be real.
        if key not in self._models:
            if key not in gpu_keys():
                known = {*self._models, *gpu_keys()}
                raise UnknownNameError("GPU", key, known, where=path_of(place))
            self._models[key] = load_gpu(key)
        return self._models[key]


def _check_jobs(instance: Instance, jobs: Sequence[Job], fits: _Fits) -> None:
    rates = Rates({model.key: model for model in instance.gpu_models})
    first: dict[int, int] = {}
    for index, job in enumerate(jobs):
        for name, limit in _JOB_NUMBERS.items():
            value = getattr(job, name)
            if type(value) is not int or not limit.low <= value <= limit.high:
                _whole(value, limit, "jobs", index, name)
        for name in _JOB_LABELS:
            if getattr(job, name):
                _label(getattr(job, name), limits.LABEL_LENGTH, "jobs", index, name)
        if type(job.preemptible) is not bool:
            message = f"must be true or false, not {shown(job.preemptible)}"
            raise InputError(message, where=f"jobs[{index}].preemptible")
        if first.setdefault(job.id, index) != index:
            message = f"{job.id} is also the id of jobs[{first[job.id]}]"
            raise InputError(message, where=f"jobs[{index}].id")
        rates.check(job.rates, ("jobs", index, "rates"))
        if fits.slowest(job) is None:
            raise _misfit(instance, job, index)


class _Fits:
    """The slowest way to run a job, looked up once per rate table and memory need."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._known: dict[tuple[int, int], tuple[int, str] | None] = {}

    def slowest(self, job: Job) -> tuple[int, str] | None:
        """Return the least positive rate and its GPU model; None when the job fits nowhere."""
        key = (id(job.rates), job.memory_bytes)
        if key not in self._known:
            options = [(rate, model.key) for model, _, rate in self._instance.options(job)]
            self._known[key] = min(options, default=None)
        return self._known[key]


def _misfit(instance: Instance, job: Job, index: int) -> InputError:
    """Return the error for a job that no slice of any allowed partition can run."""
    names = ", ".join(f"{cat.name} of {key}" for key, cat in instance.catalogues.items())
    small = instance.options(_without_memory(job))
    if small:
        sizes = [
            (model.full_profile if name == OFF_PROFILE else model.profile(name)).memory_bytes or 0
            for model, name, _ in small
        ]
        message = (
            f"job {job.id} fits nowhere in catalogue {names}: "
            f"it needs {job.memory_bytes} bytes, its largest slice has {max(sizes)}"
        )
        return InputError(message, where=f"jobs[{index}].memory_bytes")
    listed = sorted({name for rates in job.rates.values() for name, rate in rates.items() if rate})
    message = f"job {job.id} fits nowhere in catalogue {names}: "
    message += f"it can run only on {', '.join(listed)}" if listed else "no rate is above 0"
    if OFF_PROFILE in listed and not instance.mig_off:
        message += ", and mig_off is false"
    return InputError(message, where=f"jobs[{index}].rates")


def _without_memory(job: Job) -> Job:
    return Job(job.id, job.release_ms, job.due_ms, job.work, job.rates)


def _check_totals(instance: Instance, jobs: Sequence[Job], fits: _Fits) -> None:
    """Refuse an instance whose energy or tardiness may not fit in 64 bits.

    The yardstick is a plain schedule: after the last release each GPU runs one job at a time on
    its slowest slice, and never idles while one waits for its model. On m GPUs that takes at most
    load / m + (1 - 1/m) longest job (Graham, 1969, for list scheduling).
    """
    load: dict[str, int] = {model.key: 0 for model in instance.gpu_models}
    longest = dict(load)
    for index, job in enumerate(jobs):
        rate, key = fits.slowest(job) or (1, instance.gpus[0].key)
        duration = ceil_div(job.work, rate) + instance.preemption.resume_overhead_ms
        load[key] += duration
        longest[key] = max(longest[key], duration)
        if job.release_ms + duration > limits.MAX_TOTAL:
            message = (
                f"job {job.id} takes {duration} ms on its slowest slice: more than 64 bits hold"
            )
            raise InputError(message, where=f"jobs[{index}].work")
    counts = {key: sum(model.key == key for model in instance.gpus) for key in load}
    end = max((job.release_ms for job in jobs), default=0)
    end += max(ceil_div(load[key] + (counts[key] - 1) * longest[key], counts[key]) for key in load)
    tardiness = sum(job.weight * max(0, end - job.due_ms) for job in jobs)
    if end > limits.MAX_TOTAL:
        message = f"the last job may end at {end} ms: more than 64 bits hold"
        raise InputError(message, where="jobs")
    if tardiness > limits.MAX_TOTAL:
        message = f"total weighted tardiness may reach {tardiness} ms: more than 64 bits hold"
        raise InputError(message, where="jobs")
    if instance.idle_energy_uj > limits.MAX_TOTAL:
        message = f"idle energy is {instance.idle_energy_uj} uJ: more than 64 bits hold"
        raise InputError(message, where="horizon_ms")
    rise = {key: _rise(instance.power.get(key)) for key in load}
    energy = instance.idle_energy_uj + sum(load[key] * rise[key] for key in load)
    if energy > limits.MAX_TOTAL:
        message = f"total energy may reach {energy} uJ: more than 64 bits hold"
        raise InputError(message, where="jobs")


def _rise(curve: Any) -> int:
    """Return the most power above idle."""
    return 0 if curve is None else max(*curve.busy_mw, curve.off_busy_mw or 0) - curve.idle_mw
