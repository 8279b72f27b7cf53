"""A drawn partition is well-formed SVG whose boxes are where the slices are."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from factories import A30, A100, P_43, P_1x4_3
from migopt.errors import InputError
from migopt.gpus import gpu_keys, load_gpu
from migopt.model import OFF_PARTITION, Partition
from migopt.placement import maximal_partitions, partition_svg, partitions_svg

SVG = "{http://www.w3.org/2000/svg}"


def boxes(text: str) -> list[tuple[float, float, bool]]:
    """Return (left, right, filled) of every rectangle."""
    found = []
    for rect in ElementTree.fromstring(text).iter(f"{SVG}rect"):
        x, width = float(rect.get("x", "nan")), float(rect.get("width", "nan"))
        found.append((x, x + width, rect.get("fill") != "none"))
    return found


def test_boxes_span_their_units() -> None:
    """4g and 3g are two filled boxes of half the bar each, side by side."""
    (left, middle, filled), (start, right, also) = sorted(boxes(partition_svg(A100, P_43)))
    assert filled
    assert also
    assert middle - left == pytest.approx(right - start)
    assert 0 < start - middle < 5


def test_free_units_are_drawn_empty() -> None:
    """Units that no slice covers are dashed boxes without fill."""
    drawn = boxes(partition_svg(A100, Partition.parse("1g.5gb@0,1g.5gb@6")))
    assert [filled for _, _, filled in sorted(drawn)] == [True, *[False] * 5, True, False]


def test_texts_name_slices_units_and_title() -> None:
    """Every slice is named in its box; a title with special characters is escaped."""
    text = partition_svg(A100, P_1x4_3, title="a < b & c", busy=[P_1x4_3.placements[0]])
    words = [node.text for node in ElementTree.fromstring(text).iter(f"{SVG}text")]
    assert words.count("1g.5gb") == 4
    assert words.count("3g.20gb") == 1
    assert words[-8:] == [str(unit) for unit in range(8)]
    assert "a < b & c" in words
    assert text.count('stroke-width="3"') == 1


def test_rows_and_mig_off() -> None:
    """Several partitions stack with labels; MIG off is one box over the whole bar."""
    text = partitions_svg(A100, [("1", P_43), ("off", OFF_PARTITION)])
    root = ElementTree.fromstring(text)
    words = [node.text for node in root.iter(f"{SVG}text")]
    assert {"1", "off", "MIG off", "4g.20gb"} <= set(words)
    assert len(boxes(text)) == 3


@pytest.mark.parametrize("key", gpu_keys())
def test_names_fit_their_boxes_on_every_gpu(key: str) -> None:
    """Every slice of every GPU is drawn with a name in a readable size, inside the picture."""
    model = load_gpu(key)
    for partition in maximal_partitions(model):
        root = ElementTree.fromstring(partition_svg(model, partition))
        right = float(root.get("width", "nan"))
        assert all(0 <= x < end <= right for x, end, _ in boxes(partition_svg(model, partition)))
        sizes = [float(n.get("font-size", "0")) for n in root.iter(f"{SVG}text") if n.text]
        assert min(sizes) >= 8


def test_a_partition_that_cannot_be_is_not_drawn() -> None:
    """Overlapping slices are an error with the reason, not a wrong picture."""
    with pytest.raises(InputError, match="cannot draw .*both cover memory unit 0"):
        partition_svg(A30, Partition.parse("4g.24gb@0,1g.6gb@0"))
