"""Named catalogues: which partitions, in which order, for which GPU."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import gpu_keys, load_gpu
from migopt.model import GpuModel
from migopt.placement import build_catalogue, catalogue_names, multisets

#: As printed in arXiv 2606.25082, slices in order of start; x is 1g.10gb. Number 4 is printed with
#: three 1g.10gb, which would need 10 of the 8 memory units; its rule gives 4,1,1,x.
PRINTED = ["7", "43", "42x", "411x", "33", "223", "2113", "11113"]
PRINTED += ["222x", "2211x", "21111x", "111111x"]
NAMES = {
    "7": "7g.40gb",
    "4": "4g.20gb",
    "3": "3g.20gb",
    "2": "2g.10gb",
    "1": "1g.5gb",
    "x": "1g.10gb",
}


@pytest.fixture(scope="module")
def a100_table() -> GpuModel:
    """A100-40GB of the table."""
    return load_gpu("A100-40GB")


def test_paper_12_is_what_the_paper_prints(a100_table: GpuModel) -> None:
    """The derived twelve have the printed slices, in order of start, under the printed numbers."""
    twelve = build_catalogue("paper-12", a100_table)
    letters = {name: letter for letter, name in NAMES.items()}
    assert ["".join(letters[name] for name in part.profiles) for part in twelve] == PRINTED
    assert str(twelve[3]) == "4g.20gb@0,2g.10gb@4,1g.10gb@6"
    assert str(twelve[5]) == "3g.20gb@0,3g.20gb@4"


def test_paper_17_holds_every_form_of_the_twelve(a100_table: GpuModel) -> None:
    """17 forms: 2211x and 21111x three each, 3211 two, the others one, the printed form first."""
    twelve, seventeen = (build_catalogue(f"paper-{n}", a100_table) for n in (12, 17))
    assert len(seventeen) == 17
    assert [p for p in seventeen if p in set(twelve)] == list(twelve)
    assert multisets(a100_table, seventeen) == multisets(a100_table, twelve)
    forms = Counter(tuple(sorted(part.profiles)) for part in seventeen)
    assert sorted(forms.values()) == [1] * 9 + [2, 3, 3]


def test_placement_form_of_the_rule_gives_the_same(a100_table: GpuModel) -> None:
    """Exact covers with 1g.10gb only at 6, and a 3g at 0 only before another 3g, are the 17."""

    def keeps(text: str) -> bool:
        doubles = [part for part in text.split(",") if part.startswith("1g.10gb")]
        left_three_alone = "3g.20gb@0" in text and "3g.20gb@4" not in text
        return doubles in ([], ["1g.10gb@6"]) and not left_three_alone

    covers = build_catalogue("exact-cover:plain+double_memory", a100_table)
    expected = {part for part in covers if keeps(str(part))}
    assert set(build_catalogue("paper-17", a100_table)) == expected


def test_eleven_of_the_twelve_are_the_pareto_best(a100_table: GpuModel) -> None:
    """All but 3g+3g use all seven compute slices; 3g+3g is the one the paper keeps beside them."""
    twelve = build_catalogue("paper-12", a100_table)
    used = [sum(a100_table.profile(n).compute_slices for n in part.profiles) for part in twelve]
    assert [i for i, compute in enumerate(used, 1) if compute != 7] == [5]
    covers = build_catalogue("exact-cover:plain+double_memory", a100_table)
    full = [p for p in covers if sum(a100_table.profile(n).compute_slices for n in p.profiles) == 7]
    assert len(multisets(a100_table, full)) == 11


def test_miso_18_is_nineteen_without_four_three(a100_table: GpuModel) -> None:
    """The only maximal plain partition left out is 4g beside 3g."""
    nineteen = build_catalogue("maximal:plain", a100_table)
    eighteen = build_catalogue("miso-18", a100_table)
    assert len(eighteen) == 18
    assert [str(p) for p in nineteen if p not in set(eighteen)] == ["4g.20gb@0,3g.20gb@4"]


def test_miso_18_against_the_published_list(a100_table: GpuModel, shared: Path) -> None:
    """MISO's file holds the same 13 multisets, though other numbers of rows for two of them."""
    rows = json.loads((shared / "data/miso_socc22/partitions_18.json").read_text())["partitions"]
    size = {p.name: p.compute_slices for p in a100_table.profiles}
    mine = Counter(
        tuple(sorted(size[n] for n in part.profiles))
        for part in build_catalogue("miso-18", a100_table)
    )
    theirs = Counter(tuple(sorted(row)) for row in rows)
    assert set(mine) == set(theirs)
    assert {k for k in mine if mine[k] != theirs[k]} == {(1, 1, 1, 2, 2), (1, 1, 1, 1, 1, 2)}


@pytest.mark.parametrize(
    ("name", "partitions", "distinct"),
    [
        ("maximal:plain", 19, 14),
        ("maximal:plain+double_memory", 78, 38),
        ("maximal:plain+me", 67, 24),
        ("maximal", 239, 64),
        ("exact-cover:plain+double_memory", 45, 22),
        ("exact-cover", 115, 32),
        ("all:plain", 297, 37),
        ("all", 2318, 127),
    ],
)
def test_sizes_on_a100_40gb(
    a100_table: GpuModel, name: str, partitions: int, distinct: int
) -> None:
    """The known numbers of partitions, with and without places."""
    catalogue = build_catalogue(name, a100_table)
    assert len(catalogue) == partitions
    assert len(multisets(a100_table, catalogue)) == distinct
    assert catalogue.name == name
    assert catalogue.number(catalogue[partitions]) == partitions


@pytest.mark.parametrize("key", gpu_keys())
def test_every_listed_catalogue_exists_and_is_legal(key: str) -> None:
    """On each GPU every listed name builds distinct partitions that the GPU accepts."""
    model = load_gpu(key)
    for name in catalogue_names(model):
        catalogue = build_catalogue(name, model)
        assert len(set(catalogue)) == len(catalogue) > 0
        assert all(model.why_invalid(partition) is None for partition in catalogue)
    seven = model.compute_slices == 7
    assert ("paper-12" in catalogue_names(model)) == seven
    if seven:
        sizes = {name: len(build_catalogue(name, model)) for name in catalogue_names(model)[:3]}
        assert sizes == {"paper-12": 12, "paper-17": 17, "miso-18": 18}


def test_a30_exact_covers() -> None:
    """A30 has five exact covers of its plain profiles: each half whole or in two, or all as one."""
    plain = build_catalogue("exact-cover:plain", load_gpu("A30"))
    assert [len(p) for p in plain] == [1, 2, 3, 3, 4]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("paper-12", "its rule needs a 3g and a double-memory 1g"),
        ("miso-18", "its rule needs a plain 3g and 4g"),
    ],
)
def test_a_catalogue_that_this_gpu_lacks_says_why(name: str, message: str) -> None:
    """The error gives the reason and the catalogues that do exist."""
    with pytest.raises(UnknownNameError) as caught:
        build_catalogue(name, load_gpu("A30"))
    text = f"unknown catalogue of A30-24GB {name!r} ({message}); known: all, exact-cover, maximal"
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("paper12", UnknownNameError, "nearest: paper-12"),
        ("paper-12:plain", InputError, "has fixed profiles; write paper-12"),
        ("maximal:plian", UnknownNameError, "nearest: plain"),
        ("maximal:gfx", UnknownNameError, "unknown kind of profile of A100-40GB 'gfx'"),
        ("", UnknownNameError, "unknown catalogue of A100-40GB ''"),
    ],
)
def test_bad_names(a100_table: GpuModel, name: str, error: type[InputError], message: str) -> None:
    """Misspelt names and kinds give one error with the nearest valid one."""
    with pytest.raises(error) as caught:
        build_catalogue(name, a100_table)
    assert message in str(caught.value)
