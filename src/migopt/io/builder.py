"""Instances made in Python, in minutes and by elasticity class: for notebooks and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import default_power, load_gpu
from migopt.io._numbers import Number, Time, exact, plain
from migopt.io._place import path_of, placed
from migopt.io.convert import CUSTOM
from migopt.io.elasticity import speeds as class_speeds
from migopt.io.limits import GPU_COUNT, shown, why_not_whole
from migopt.io.validate import validate_instance
from migopt.model import (
    OFF_PROFILE,
    Catalogue,
    FrozenMap,
    GpuModel,
    Instance,
    Job,
    Partition,
    PowerCurve,
    Preemption,
    Repartition,
)
from migopt.model.instance import PreemptionMode, RepartitionScope
from migopt.placement import build_catalogue
from migopt.units import (
    FULL_RATE,
    MS_PER_DAY,
    due_ms_from_minutes,
    ms_from_minutes,
    rate_from_speed,
    round_half_up,
)

PowerSpec = PowerCurve | Literal["published"] | None


class InstanceBuilder:
    """Collects GPUs, rules and jobs, and builds a checked Instance from them.

    Every method returns the builder. A time has its unit in its name, ``_min`` or ``_ms``, and is
    given once. Minutes are rounded to milliseconds half up, due dates up. Decimal fractions mean
    what they say: 0.1 min is 6,000 ms.

    Parameters
    ----------
    name : str
        Name of the instance.
    gpu : str or GpuModel, optional
        First GPU model, as in ``add_gpu``; without it, call ``add_gpu`` before ``job``.
    count, catalogue, power
        As in ``add_gpu``.

    Examples
    --------
    >>> from migopt.io import InstanceBuilder
    >>> builder = InstanceBuilder("demo", gpu="A100-40GB", catalogue="paper-12")
    >>> builder.job(due_min=30, full_gpu_min=10, elasticity="linear").weight_a("1/100000")
    InstanceBuilder('demo': 1 GPU, 1 job)
    >>> builder.build().jobs[0].due_ms
    1800000
    """

    def __init__(
        self,
        name: str = "",
        *,
        gpu: str | GpuModel | None = None,
        count: int = 1,
        catalogue: str | Sequence[str | Partition] = "maximal",
        power: PowerSpec = "published",
    ) -> None:
        self._name = name
        self._gpus: list[GpuModel] = []
        self._relative: dict[str, Fraction] = {}
        self._catalogues: dict[str, Catalogue] = {}
        self._power: dict[str, PowerCurve] = {}
        self._jobs: list[Job] = []
        self._preemption, self._repartition = Preemption(), Repartition()
        self._weight_a = Fraction(0)
        self._horizon_ms = MS_PER_DAY
        self._mig_off = False
        self._origin: dict[str, Any] = {}
        self._rates: dict[Any, FrozenMap] = {}
        if gpu is not None:
            self.add_gpu(gpu, count, catalogue=catalogue, power=power)

    def __repr__(self) -> str:
        def counted(number: int, what: str) -> str:
            return f"{number} {what}" + ("" if number == 1 else "s")

        gpus, jobs = counted(len(self._gpus), "GPU"), counted(len(self._jobs), "job")
        return f"InstanceBuilder({self._name!r}: {gpus}, {jobs})"

    # ------------------------------------------------------------ the machine

    def add_gpu(
        self,
        gpu: str | GpuModel,
        count: int = 1,
        *,
        catalogue: str | Sequence[str | Partition] = "maximal",
        power: PowerSpec = "published",
        speed: Number = 1,
    ) -> InstanceBuilder:
        """Add ``count`` GPUs of a model.

        Parameters
        ----------
        gpu : str or GpuModel
            Key or product name.
        count : int
        catalogue : str or sequence of str or Partition
            A catalogue's name, or its partitions, such as ``"4g.20gb@0,3g.20gb@4"``.
        power : PowerCurve, "published" or None
            The published curve is used where there is one.
        speed : number
            Speed of the whole GPU relative to the one that ``full_gpu_min`` of a job refers to.

        Raises
        ------
        InputError, UnknownNameError
            No such GPU or catalogue, a partition in a bad form, a model with jobs already made.
        """
        model = load_gpu(gpu) if isinstance(gpu, str) else gpu
        if model.key in self._catalogues:
            raise InputError(f"{model.key} is there already; give its count at once", where="gpu")
        if self._jobs:
            raise InputError("add GPUs before jobs, whose rates depend on them", where="gpu")
        reason = why_not_whole(plain(count), GPU_COUNT)
        if reason is not None:
            raise InputError(reason, where="count")
        relative = exact(speed, "speed")
        if relative <= 0:
            raise InputError(f"must be above 0, not {shown(speed)}", where="speed")
        self._relative[model.key] = relative
        with placed("catalogue"):
            self._catalogues[model.key] = _catalogue(catalogue, model)
        curve = default_power(model.key) if power == "published" else power
        if curve is not None and not isinstance(curve, PowerCurve):
            message = f'must be a PowerCurve, "published" or None, not {shown(curve)}'
            raise InputError(message, where="power")
        if curve is not None:
            self._power[model.key] = curve
        self._gpus += [model] * plain(count)
        return self

    def mig_off(self, allowed: bool = True) -> InstanceBuilder:
        """Say whether a GPU may run with MIG off."""
        self._mig_off = allowed
        return self

    # ------------------------------------------------------------ the rules

    def preemption(self, mode: PreemptionMode, *, resume_overhead_ms: int = 0) -> InstanceBuilder:
        """Set the preemption mode: ``free``, ``cost`` (an overhead per resume) or ``none``."""
        self._preemption = Preemption(mode, resume_overhead_ms)
        return self

    def repartition(self, scope: RepartitionScope, *, tau_ms: int = 4000) -> InstanceBuilder:
        """Set what stands still during a repartition, ``gpu`` or ``slices``, and how long; or ``never``."""
        self._repartition = Repartition(scope, tau_ms)
        return self

    def weight_a(self, a: Number) -> InstanceBuilder:
        """Set the energy weight a, such as ``"1/100000"``; 0 means tardiness alone."""
        self._weight_a = exact(a, "weight_a")
        return self

    def horizon(
        self, *, horizon_min: Number | None = None, horizon_ms: int | None = None
    ) -> InstanceBuilder:
        """Set H, over which idle energy is charged (24 h unless set)."""
        self._horizon_ms = Time("", "horizon", horizon_min, horizon_ms).rounded(ms_from_minutes)
        return self

    def origin(self, **facts: Any) -> InstanceBuilder:
        """Note where the instance comes from; it decides nothing."""
        self._origin |= facts
        return self

    # ------------------------------------------------------------ the jobs

    def job(
        self,
        *,
        release_min: Number | None = None,
        release_ms: int | None = None,
        due_min: Number | None = None,
        due_ms: int | None = None,
        full_gpu_min: Number | None = None,
        full_gpu_ms: int | None = None,
        elasticity: str | None = None,
        speeds: Mapping[str, Number] | Mapping[str, Mapping[str, Number]] | None = None,
        weight: int = 1,
        memory_bytes: int = 0,
        preemptible: bool = True,
        kind: str = "",
        name: str = "",
        job_id: int | None = None,
    ) -> InstanceBuilder:
        """Add a job.

        Parameters
        ----------
        release_min, release_ms : number
            Earliest start, one of the two; 0 when neither is given.
        due_min, due_ms : number
            Due date, one of the two.
        full_gpu_min, full_gpu_ms : number
            Duration alone on the full MIG profile of a GPU of ``speed`` 1, one of the two.
        elasticity : str, optional
            Class by name, such as ``linear``, ``capped-2g`` or ``log:2`` (``linear`` when neither
            this nor ``speeds`` is given); with ``speeds`` only a label.
        speeds : mapping, optional
            Speed on each profile relative to the full one, ``{"1g.5gb": 0.2, ...}``, or one such
            mapping per GPU key. A profile left out cannot run the job.
        weight, memory_bytes, preemptible, kind, name
            As in ``Job``.
        job_id : int, optional
            The next free number when not given.

        Raises
        ------
        InputError, UnknownNameError
            A time given twice, not at all or not as a number; an unknown class, profile or GPU.
        """
        where = f"jobs[{len(self._jobs)}]"
        if not self._gpus:
            raise InputError("add a GPU before jobs, whose rates depend on it", where=where)
        label = elasticity or ("linear" if speeds is None else "")
        rates = self._of_class(label, where) if speeds is None else self._given(speeds, where)
        if release_min is None and release_ms is None:
            release_ms = 0
        release = Time(where, "release", release_min, release_ms)
        alone_ms = Time(where, "full_gpu", full_gpu_min, full_gpu_ms).exact_ms()
        job = Job(
            id=self._next_id() if job_id is None else plain(job_id),
            release_ms=release.rounded(ms_from_minutes),
            due_ms=Time(where, "due", due_min, due_ms).rounded(due_ms_from_minutes),
            work=max(1, round_half_up(alone_ms * FULL_RATE)) if alone_ms > 0 else 0,
            rates=rates,
            weight=plain(weight),
            memory_bytes=plain(memory_bytes),
            preemptible=preemptible,
            kind=kind,
            elasticity=label,
            name=name,
        )
        self._jobs.append(job)
        return self

    def build(self) -> Instance:
        """Return the instance; raises InputError, with the place, for the first thing wrong with it."""
        instance = Instance(
            name=self._name,
            gpus=tuple(self._gpus),
            jobs=tuple(self._jobs),
            catalogues=FrozenMap(self._catalogues),
            power=FrozenMap(self._power),
            preemption=self._preemption,
            repartition=self._repartition,
            weight_a=self._weight_a,
            horizon_ms=self._horizon_ms,
            mig_off=self._mig_off,
            origin=dict(self._origin),
        )
        validate_instance(instance, jobs=self._jobs)
        return instance

    def _next_id(self) -> int:
        return max((job.id for job in self._jobs), default=-1) + 1

    def _of_class(self, label: str, where: str) -> FrozenMap:
        """Return the rates of an elasticity class on every GPU model."""
        if label not in self._rates:
            per_model = {
                key: class_speeds(model, label, where=f"{where}.elasticity")
                for key, model in self._models().items()
            }
            self._rates[label] = self._rates_from(per_model)
        return self._rates[label]

    def _given(self, speeds: Mapping[str, Any], where: str) -> FrozenMap:
        """Return the rates for speeds given by profile, or by GPU and profile."""
        models = self._models()
        nested = [isinstance(value, Mapping) for value in speeds.values()]
        if not all(nested) and (any(nested) or len(models) > 1):
            message = f"give one mapping of speeds per GPU model: {', '.join(models)}"
            raise InputError(message, where=f"{where}.speeds")
        per_model = speeds if nested and all(nested) else {next(iter(models)): speeds}
        found: dict[str, dict[str, Fraction]] = {}
        for key, by_profile in per_model.items():
            if key not in models:
                place = f"{where}.{path_of(('speeds', key))}"
                raise UnknownNameError("GPU of this instance", key, models, where=place)
            names = [*(profile.name for profile in models[key].profiles), OFF_PROFILE]
            found[key] = {}
            for profile, speed in by_profile.items():
                place = f"{where}.{path_of(('speeds', profile))}"
                if profile not in names:
                    raise UnknownNameError(f"profile of {key}", profile, names, where=place)
                found[key][profile] = exact(speed, place)
        return self._rates_from(found)

    def _rates_from(self, speeds: Mapping[str, Mapping[str, Fraction]]) -> FrozenMap:
        rates = FrozenMap(
            {
                key: FrozenMap(
                    {
                        profile: rate_from_speed(speed * self._relative[key])
                        for profile, speed in by_profile.items()
                        if speed > 0
                    }
                )
                for key, by_profile in speeds.items()
            }
        )
        return self._rates.setdefault(rates, rates)

    def _models(self) -> dict[str, GpuModel]:
        return {model.key: model for model in self._gpus}


def _catalogue(given: str | Sequence[str | Partition], model: GpuModel) -> Catalogue:
    if isinstance(given, str):
        return build_catalogue(given, model)
    partitions = []
    for index, part in enumerate(given):
        with placed(path_of(("catalogue", model.key, index))):
            partitions.append(part if isinstance(part, Partition) else Partition.parse(part))
    return Catalogue(CUSTOM, model.key, tuple(partitions))
