"""What a GPU offers under an older driver."""

from __future__ import annotations

import pytest

from migopt.errors import InputError
from migopt.gpus import gpu_keys, load_gpu, model_for_driver
from migopt.model import Partition
from migopt.placement import maximal_partitions, multisets


@pytest.mark.parametrize(
    ("driver", "profiles", "four_three"),
    [
        (450, {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}, False),
        ("R470", {"1g.5gb", "1g.5gb+me", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}, False),
        ("470.57.02", {"1g.5gb", "1g.5gb+me", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}, False),
        ("510", {"1g.5gb", "1g.5gb+me", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}, True),
        ("580.82", None, True),
    ],
)
def test_a100_through_the_drivers(
    driver: str | int, profiles: set[str] | None, four_three: bool
) -> None:
    """1g.5gb+me came with R470, 4g beside 3g with R510, 1g.10gb with R525."""
    newest = load_gpu("A100-40GB")
    model = model_for_driver(newest, driver)
    assert model.key == newest.key
    assert {p.name for p in model.profiles} == (profiles or {p.name for p in newest.profiles})
    reason = model.why_invalid(Partition.parse("4g.20gb@0,3g.20gb@4"))
    assert (reason is None) == four_three
    assert reason is None or reason.endswith("refused by drivers before R510")


def test_eighteen_rows_before_r510() -> None:
    """Without 4g beside 3g the 19 maximal partitions of the plain profiles are 18, of 13 kinds."""
    model = model_for_driver(load_gpu("A100-40GB"), 470)
    plain = maximal_partitions(model, ["1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"])
    assert len(plain) == 18
    assert len(multisets(model, plain)) == 13


@pytest.mark.parametrize("driver", ["449", "450.51"])
def test_a_driver_too_old_for_the_gpu_is_an_error(driver: str) -> None:
    """The error names the first driver that supports the GPU; a bare branch is not judged further."""
    with pytest.raises(InputError, match=r"A100-40GB needs driver 450\.80\.02 or later"):
        model_for_driver(load_gpu("A100-40GB"), driver)
    assert model_for_driver(load_gpu("A100-40GB"), "450").key == "A100-40GB"


@pytest.mark.parametrize("driver", ["", "new", "47", "470.", "-470", "470,57"])
def test_text_that_is_no_version(driver: str) -> None:
    """Anything but a version is one error with an example."""
    with pytest.raises(InputError, match="is not a driver version"):
        model_for_driver(load_gpu("A100-40GB"), driver)


def test_newest_driver_changes_nothing() -> None:
    """Under a driver of the far future every model is the table itself."""
    for key in gpu_keys():
        assert model_for_driver(load_gpu(key), 999) == load_gpu(key)
