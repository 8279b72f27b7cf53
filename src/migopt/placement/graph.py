"""The placement graph: who may be beside whom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from migopt.model import GpuModel

if TYPE_CHECKING:
    import networkx


def compatibility_graph(model: GpuModel, profiles: Iterable[str] | None = None) -> networkx.Graph:
    """Return the graph whose cliques are the partitions of a GPU.

    Nodes are placements, with the attributes ``compute_slices`` and ``memory_units``; an edge says
    that the two may be together. Maximal cliques are the partitions to which nothing can be added.

    Parameters
    ----------
    profiles : iterable of str, optional
        Only placements of these profiles; raises UnknownNameError for one the GPU does not have.
    """
    import networkx

    wanted = set(model.profile(name).name for name in profiles) if profiles is not None else None
    places = [p for p in model.placements if wanted is None or p.profile in wanted]
    graph = networkx.Graph(gpu=model.key)
    for place in places:
        profile = model.profile(place.profile)
        graph.add_node(
            place, compute_slices=profile.compute_slices, memory_units=profile.memory_units
        )
    for i, first in enumerate(places):
        graph.add_edges_from(
            (first, other) for other in places[:i] if not model.conflict(first, other)
        )
    return graph
