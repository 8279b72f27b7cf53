"""Findings in node files: each kind is found, and sound files have none."""

from __future__ import annotations

from itertools import permutations

import pytest

from migopt.errors import InputError
from migopt.gpus import gpu_keys, load_gpu
from migopt.mig.formats.mig_parted import read_mig_parted
from migopt.mig.formats.write_listing import write_lgi
from migopt.mig.lint import better_partition, lint_configs, lint_node
from migopt.mig.node import parse_node
from migopt.mig.state import GpuState, parse_have
from migopt.model import GpuModel, Profile
from migopt.placement import maximal_partitions, multisets, valid_partitions

A100 = load_gpu("A100-40GB")
HEAD = "format: migopt-node\nversion: 1\ngpus:\n"


def rules(rows: str) -> list[str]:
    """Return the rules of the findings of a node document."""
    return [finding.rule for finding in lint_node(parse_node(HEAD + rows))]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ('{gpu: A100-40GB, have: "7g.40gb@0"}', []),
        ('{gpu: A100-40GB, have: "4g.20gb@0:busy,3g.20gb@4"}', []),
        ("{gpu: A100-40GB}", ["no_slices"]),
        ("{gpu: A100-40GB, mig: false}", []),
        ('{gpu: A100-40GB, mig: false, have: "7g.40gb@0"}', ["mig_off_with_slices"]),
        ('{gpu: A100-40GB, have: "7g.80gb@0"}', ["unknown_profile"]),
        ('{gpu: A100-40GB, have: "3g.20gb@0,4g.20gb@0"}', ["impossible"]),
        ('{gpu: A100-40GB, have: "4g.20gb@4"}', ["impossible"]),
        ('{gpu: A100-40GB, driver: "470", have: "4g.20gb@0,3g.20gb@4"}', ["impossible"]),
        ('{gpu: A100-40GB, have: "3g.20gb@0,3g.20gb@4"}', ["waste"]),
        ('{gpu: A100-40GB, driver: "470", have: "3g.20gb@0,3g.20gb@4"}', []),
        ('{gpu: A100-40GB, have: "7g.40gb@0,7g.40gb@0"}', ["duplicate"]),
        ('{gpu: A100-40GB, have: "7g.40gb@0:orphan"}', ["orphan", "no_slices"]),
        ('{gpu: A100-40GB, have: "7g.40gb@0", target: "3g.21gb"}', ["unknown_profile"]),
        ('{gpu: A100-40GB, have: "7g.40gb@0", target: "3g.20gb:3"}', ["impossible"]),
    ],
)
def test_rows(row: str, found: list[str]) -> None:
    """Every rule is told where it is broken, and only there."""
    assert rules(f"  - {row}\n") == found


def test_duplicate_rows() -> None:
    """Two rows of one GPU are found once."""
    row = '  - {gpu: A30-24GB, label: "0", have: "4g.24gb@0"}\n'
    assert rules(row + row) == ["duplicate"]


def test_unreadable_is_no_finding() -> None:
    """What cannot be read is an error."""
    with pytest.raises(InputError, match="is not a placement"):
        rules('  - {gpu: A30-24GB, have: "4g"}\n')


def no_smaller(one: Profile, other: Profile) -> bool:
    """Return whether a slice can stand in for another."""
    ordinary = {"plain", "double_memory"}
    kinds = {one.kind, other.kind}
    return (
        (one.kind == other.kind or kinds <= ordinary)
        and one.compute_slices >= other.compute_slices
        and one.memory_units >= other.memory_units
    )


def better_exists(model: GpuModel, names: tuple[str, ...]) -> bool:
    """Return whether some other partition has a no smaller slice for each, and more in all."""
    mine = [model.profile(name) for name in names]
    for other in multisets(model, valid_partitions(model)):
        theirs = [model.profile(name) for name in other]
        size = [
            (sum(p.compute_slices for p in x), sum(p.memory_units for p in x))
            for x in (mine, theirs)
        ]
        if size[0] != size[1] and any(
            all(no_smaller(a, b) for a, b in zip(order, mine, strict=True))
            for order in permutations(theirs, len(mine))
        ):
            return True
    return False


def test_waste_against_trying_everything() -> None:
    """Waste is told exactly when a partition exists that is strictly better, slice by slice."""
    model = load_gpu("A30-24GB")
    for names in multisets(model, valid_partitions(model)):
        assert (better_partition(model, names) is not None) == better_exists(model, names), names


@pytest.mark.parametrize("key", gpu_keys())
def test_the_best_partitions_waste_nothing(key: str) -> None:
    """A better partition is itself valid, and nothing improves on what cannot be improved."""
    model = load_gpu(key)
    valid = set(multisets(model, valid_partitions(model)))
    for names in multisets(model, maximal_partitions(model))[:20]:
        better = better_partition(model, names)
        if better is not None:
            assert better in valid
            assert better != names
    assert better_partition(model, (model.full_profile.name,)) is None


PARTED = """\
version: v1
mig-configs:
  all:
    - devices: all
      mig-enabled: true
      mig-devices: {"1g.5gb": 7}
  bad:
    - devices: [0]
      mig-enabled: true
      mig-devices: {"3g.20gb": 3}
    - devices: [0]
      mig-enabled: true
      mig-devices: {"9g.5gb": 1}
    - devices: [9]
      mig-enabled: true
      mig-devices: {"7g.40gb": 1}
    - devices: [1]
      mig-enabled: true
      mig-devices: {}
"""


def test_mig_parted_files() -> None:
    """Configurations are judged on the GPUs of the node, or on those of the tables."""
    found = [(f.rule, f.where.split(" ")[0]) for f in lint_configs(read_mig_parted(PARTED), [A100])]
    assert ("impossible", "mig-configs.bad[0]") in found
    assert ("unknown_profile", "mig-configs.bad[1]") in found
    assert ("duplicate", "mig-configs.bad[1]") in found
    assert ("never_applies", "mig-configs.bad[2]") in found
    assert ("no_slices", "mig-configs.bad[3]") in found
    alone = {(f.rule, f.where.split(" ")[0]) for f in lint_configs(read_mig_parted(PARTED))}
    assert ("impossible", "mig-configs.bad[0]") in alone
    assert ("unknown_profile", "mig-configs.bad[1]") in alone


def test_listings() -> None:
    """A listing is linted too: no slices, overlapping slices, unknown ids, waste."""

    def of(text: str) -> list[str]:
        return [f.rule for f in lint_node(parse_node(text), A100)]

    product = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n"
    assert of(product + "No GPU instances found: Not Found\n") == ["no_slices"]
    listed = write_lgi([GpuState(A100, parse_have("3g.20gb@0,3g.20gb@4", A100))])
    assert of(listed) == ["waste"]
    assert of(product + listed) == ["orphan", "orphan", "no_slices", "waste"]
    assert of(listed.replace("4:4", "0:4")) == ["duplicate"]
    assert of(listed.replace("4:4", "2:4")) == ["impossible"]
    assert "unknown_profile" in of(listed.replace(" 9 ", "99 ", 1))
