"""Draw how the time of a run grows with its jobs: ``python benchmarks/speed/plot_growth.py FILE.png``."""

from __future__ import annotations

import math
import sys

import matplotlib as mpl
from clusters import GROWTH_RULES, growth

mpl.use("agg")


def main(file: str) -> None:
    """Measure and draw."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for rule in GROWTH_RULES:
        points = growth(rule)
        axes.loglog(*zip(*points, strict=True), marker="o", label=rule)
        if rule == "edf_fs":
            first, seconds = points[0]
            scale = seconds / (first * math.log(first))
            line = [scale * n * math.log(n) for n, _ in points]
            axes.loglog([n for n, _ in points], line, "k--", linewidth=1, label="n log n")
    axes.set_xlabel("jobs")
    axes.set_ylabel("seconds")
    axes.set_title("Time of a run, 8 GPUs at load 0.7, figures only")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1])
