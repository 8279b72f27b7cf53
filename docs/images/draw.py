"""Draw the pictures of the documentation beside this file: ``python docs/images/draw.py``."""

from __future__ import annotations

from pathlib import Path

from migopt.gpus import load_gpu
from migopt.placement import build_catalogue, partition_svg, partitions_svg


def pictures() -> dict[str, str]:
    """Return file name to SVG text."""
    a100 = load_gpu("A100-40GB")
    catalogue = build_catalogue("paper-12", a100)
    rows = [(str(number), partition) for number, partition in enumerate(catalogue, 1)]
    return {
        "paper-12.svg": partitions_svg(a100, rows, title="A100-40GB, catalogue paper-12"),
        "partition-6.svg": partition_svg(a100, catalogue[6], busy=catalogue[6].placements[:1]),
    }


if __name__ == "__main__":
    for name, svg in pictures().items():
        (Path(__file__).parent / name).write_text(svg, encoding="utf-8")
