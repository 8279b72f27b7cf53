"""Loading GPU tables by key, alias and file, and what a table may not say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import (
    catalog,
    default_power,
    gpu_keys,
    load_gpu,
    load_gpu_file,
    power_curves,
)
from migopt.model import Engines

TABLE = """
key = "CARD"
architecture = "Test"
memory_units = 4
compute_slices = 2
aliases = ["Card One"]
notes = ["a note"]
[sources]
listing = "where it was seen"
[engine_budget]
decoders = 2
[[profiles]]
name = "1g"
kind = "plain"
compute_slices = 1
memory_units = 2
starts = [0, 2]
max_count = 2
memory_gib_seen = [9.75, 9.62]
engines = { decoders = 1 }
confidence = "lgipp"
source = ["listing"]
[[profiles]]
name = "2g"
kind = "plain"
compute_slices = 2
memory_units = 4
starts = [0]
max_count = 1
confidence = "inferred"
source = ["listing"]
[[driver_rules]]
profiles = ["2g"]
before = 470
source = ["listing"]
[[power]]
name = "measured"
busy_w = [40, 100.5, 120]
source = "a paper"
"""


def write(tmp_path: Path, text: str) -> Path:
    """Write a table and return its path."""
    path = tmp_path / "card.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("A100-40GB", "A100-40GB"),
        ("a100 40gb", "A100-40GB"),
        ("NVIDIA A100-SXM4-40GB", "A100-40GB"),
        ("nvidia a100-pcie-40gb", "A100-40GB"),
        ("NVIDIA A100 80GB PCIe", "A100-80GB"),
        ("NVIDIA H100 80GB HBM3", "H100-80GB-SXM"),
        ("NVIDIA H100 PCIe", "H100-80GB-PCIe"),
        ("H100 NVL", "H100-94GB"),
        ("A30", "A30-24GB"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000-BW-96GB"),
    ],
)
def test_keys_and_product_names(name: str, key: str) -> None:
    """Case, blanks, dashes and the maker's name do not matter."""
    assert load_gpu(name).key == key


@pytest.mark.parametrize("name", ["A100", "H100", "A100-60GB", "", "nvidia"])
def test_a_name_that_fits_no_single_gpu_is_an_error(name: str) -> None:
    """A family is no GPU: the error names cards, and nothing is chosen silently."""
    with pytest.raises(UnknownNameError, match="unknown GPU") as caught:
        load_gpu(name)
    assert set(gpu_keys()) <= set(caught.value.known)


def test_two_tables_with_one_name_are_an_error() -> None:
    """An ambiguous alias cannot exist: the index refuses it and names both tables."""
    a100, a30 = load_gpu("A100-40GB"), load_gpu("A30")
    assert catalog.name_index([a100, a30])["a10040gb"] == "A100-40GB"
    twin = replace(a30, aliases=("a100 SXM4 40 GB",))
    with pytest.raises(InputError, match="'a100 SXM4 40 GB' is in the tables of A100-40GB and A30"):
        catalog.name_index([a100, twin])


def test_same_profile_name_is_another_geometry_elsewhere() -> None:
    """1g.10gb is two units on the 40 GB card and one on the 80 GB card."""
    small, large = (
        load_gpu("A100-40GB").profile("1g.10gb"),
        load_gpu("A100-80GB").profile("1g.10gb"),
    )
    assert (small.memory_units, small.driver_id, small.max_count) == (2, 15, 4)
    assert (large.memory_units, large.driver_id, large.max_count) == (1, 19, 7)


def test_memory_is_the_smallest_figure_seen_rounded_down() -> None:
    """3g.20gb prints 19.50 or 19.62 GiB: 19.50 counts; 9.62 GiB is floored to a whole byte."""
    a100 = load_gpu("A100-40GB")
    assert a100.profile("3g.20gb").memory_bytes == 39 * 2**29
    assert a100.profile("1g.10gb").memory_bytes == 962 * 2**30 // 100
    assert load_gpu("H100-94GB").profile("7g.94gb").memory_bytes is None


def test_unpublished_engines_are_unknown_not_zero() -> None:
    """B200 decoders were never published; the one OFA was, so +me stays at most one."""
    b200 = load_gpu("B200-180GB")
    assert b200.engine_budget == Engines(decoders=None, encoders=0, jpeg=None, ofa=1)
    assert b200.why_invalid([p for p in b200.placements if p.profile == "1g.23gb+me"][:2])


def test_power_only_where_published() -> None:
    """The A100-40GB curve is the published one to the milliwatt; other cards have none."""
    curve = default_power("A100-SXM4-40GB")
    assert curve is not None
    assert curve.busy_mw == (40000, 119000, 160000, 205300, 243900, 247700, 248500, 248500)
    assert curve.off_busy_mw == 250_000
    assert "arXiv" in curve.source
    assert curve.holds_chord()
    assert list(power_curves("A100-40GB").values()) == [curve]
    assert [key for key in gpu_keys() if default_power(key) is not None] == ["A100-40GB"]


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    """A user's TOML gives a model with everything that the file says."""
    model = load_gpu_file(write(tmp_path, TABLE))
    assert (model.key, model.memory_units, model.compute_slices) == ("CARD", 4, 2)
    assert model.profile("1g").source == "where it was seen"
    assert model.profile("1g").memory_bytes == 962 * 2**30 // 100
    assert model.engine_budget == Engines(2, None, None, None)
    assert [rule.before for rule in model.driver_rules] == [470]
    assert model.aliases == ("Card One",)
    assert model.notes == ("a note",)


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ("max_count = 2", "max_cuont = 2", "profiles[0].max_cuont", "nearest: max_count"),
        ('architecture = "Test"', "", "architecture", "is missing"),
        ("starts = [0, 2]", 'starts = ["0"]', "profiles[0].starts[0]", "not '0'"),
        ("starts = [0, 2]", "starts = [0, 3]", "profiles[0].starts", "2 at the latest, not at 3"),
        ("starts = [0, 2]", "starts = [2, 0]", "profiles[0].starts", "must rise"),
        ("starts = [0, 2]", "starts = []", "profiles[0].starts", "at least 1 item"),
        ("max_count = 2", "max_count = 0", "profiles[0].max_count", "greater than or equal to 1"),
        ("max_count = 2", "max_count = true", "profiles[0].max_count", "integer"),
        ('name = "1g"', 'name = "2g"', "profiles[1].name", "listed twice"),
        ('name = "1g"', 'name = "1g@0"', "profiles[0].name", "pattern"),
        ('kind = "plain"', 'kind = "plian"', "profiles[0].kind", "'plain'"),
        ("compute_slices = 1\n", "compute_slices = 3\n", "profiles[0].compute_slices", "3 of 2"),
        ('source = ["listing"]', 'source = ["lsting"]', "profiles[0].source", "nearest: listing"),
        ("memory_gib_seen = [9.75, 9.62]", "memory_gib_seen = [nan]", "profiles[0].memory_gib_seen[0]", "number"),
        ("memory_gib_seen = [9.75, 9.62]", "memory_gib_seen = [-1.0]", "profiles[0].memory_gib_seen[0]", "greater"),
        ('profiles = ["2g"]', 'profiles = ["3g"]', "driver_rules[0].profiles", "unknown profile"),
        ("busy_w = [40, 100.5, 120]", "busy_w = [40, 100.5]", "power[0].busy_w", "needs 3 values"),
        ("busy_w = [40, 100.5, 120]", "busy_w = [40, 100.0005, 120]", "power[0].busy_w[1]", "milliwatts"),
        ("memory_units = 4\ncompute", "memory_units = 64\ncompute", "memory_units", "less than or equal to 16"),
    ],
)  # fmt: skip
def test_one_clear_error_with_its_place(
    tmp_path: Path, old: str, new: str, where: str, message: str
) -> None:
    """Each mistake gives one error that names the file, the place in it and what would be right."""
    assert old in TABLE
    path = write(tmp_path, TABLE.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_gpu_file(path)
    assert caught.value.where == where
    assert caught.value.source == str(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_not_toml_and_not_there(tmp_path: Path) -> None:
    """A garbled, a binary and an absent file are each one error with the file's name."""
    with pytest.raises(InputError, match=r"card\.toml: is not TOML: .*line 2"):
        load_gpu_file(write(tmp_path, "\nkey = = 1\n"))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="binary.toml: is not TOML"):
        load_gpu_file(binary)
    with pytest.raises(InputError, match="none.toml: cannot be read: No such file"):
        load_gpu_file(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("max_count = 4", "max_count = 2", "more than 2 1g"),
        ("decoders = 9", "decoders = 3", "more than 3 decoders"),
        ("compute_slices = 4", "compute_slices = 3", "more than 3 compute slices"),
    ],
)
def test_a_limit_that_pairs_do_not_show_is_refused(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    """Three slices that agree in pairs and break a limit together would not be a clique rule."""
    text = """
key = "CARD"
architecture = "Test"
memory_units = 4
compute_slices = 4
engine_budget = { decoders = 9 }
sources = { a = "b" }
[[profiles]]
name = "1g"
kind = "plain"
compute_slices = 1
memory_units = 1
starts = [0, 1, 2, 3]
max_count = 4
engines = { decoders = 1 }
confidence = "lgipp"
source = ["a"]
"""
    assert load_gpu_file(write(tmp_path, text)).key == "CARD"
    with pytest.raises(InputError, match=reason):
        load_gpu_file(write(tmp_path, text.replace(old, new, 1)))
