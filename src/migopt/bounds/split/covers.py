"""Which instances the splitting bound covers, and which cases of them a proof has to look at."""

from __future__ import annotations

from migopt.bounds.busy_vectors import Case, busy_vectors
from migopt.model import Instance


def why_not(instance: Instance) -> str | None:
    """Return why the splitting bound does not cover the instance, or None."""
    if instance.kind != "schedule":
        return f"problem kind {instance.kind}: the splitting bound covers schedules"
    if not instance.jobs:
        return None
    for model in instance.gpu_models:
        curve = instance.power.get(model.key)
        if curve is None:
            if instance.weight_a > 0:
                return f"energy has weight, but {model.key} has no power curve"
            continue
        if min(curve.busy_mw) < curve.idle_mw:
            return f"{model.key} needs less power busy than idle"
        if instance.mig_off and instance.weight_a > 0:
            if curve.off_busy_mw is None:
                return f"the power of {model.key} with MIG off is not given"
            if curve.off_busy_mw < curve.idle_mw:
                return f"{model.key} with MIG off needs less power busy than idle"
    if not cases(instance):
        return "no schedule: some jobs run with MIG on only, others with MIG off only"
    return None


def cases(instance: Instance) -> list[Case]:
    """Return the cases whose least bound counts; a case in which some job cannot run is left out."""
    if not instance.mig_off:
        return ["mig"]
    if len(instance.gpus) > 1:
        return ["both"]
    found: list[Case] = []
    both: tuple[Case, ...] = ("mig", "off")
    for case in both:
        vectors = busy_vectors(instance, instance.gpus[0], case)
        if all(any(vectors.rates(instance, job)) for job in instance.jobs):
            found.append(case)
    return found


def only_partition(instance: Instance, partition: int) -> Instance:
    """Return the instance with one partition (1-based) of its first GPU's catalogue left."""
    catalogue = instance.catalogue(0)
    only = type(catalogue)(catalogue.name, catalogue.gpu_key, (catalogue[partition],))
    narrowed = type(instance.catalogues)({**instance.catalogues, instance.gpus[0].key: only})
    return instance.replace(catalogues=narrowed)


def partitions_apart(instance: Instance) -> list[int]:
    """Return the partitions (1-based) of which a schedule with MIG on keeps one; empty if it may change.

    Left out are those in which some job cannot run, and those whose slices another one offers too.
    """
    if instance.repartition.scope != "never" or len(instance.gpus) != 1 or not instance.jobs:
        return []
    vectors = busy_vectors(instance, instance.gpus[0], "mig")
    rates = [vectors.rates(instance, job) for job in instance.jobs]
    inside: dict[int, frozenset[int]] = {}
    for number in range(1, len(instance.catalogue(0)) + 1):
        chosen = frozenset(vectors.of_partition(number))
        groups = {k for b in chosen for k, n in enumerate(vectors.counts[b]) if n}
        if all(any(row[k] for k in groups) for row in rates) and chosen not in inside.values():
            inside[number] = chosen
    return [
        number
        for number, own in inside.items()
        if not any(own < other for other in inside.values())
    ]
