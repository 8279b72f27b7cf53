"""The placement graph and its cliques."""

from __future__ import annotations

import networkx
import pytest

from factories import A30
from migopt.errors import UnknownNameError
from migopt.model import Partition, Placement
from migopt.placement import compatibility_graph, maximal_partitions, valid_partitions


def test_cliques_are_the_partitions() -> None:
    """All cliques are the valid partitions, the maximal cliques the maximal ones."""
    graph = compatibility_graph(A30)
    cliques = {Partition(tuple(c)) for c in networkx.enumerate_all_cliques(graph)}
    assert cliques == set(valid_partitions(A30))
    maximal = {Partition(tuple(c)) for c in networkx.find_cliques(graph)}
    assert maximal == set(maximal_partitions(A30))


def test_nodes_know_their_size() -> None:
    """A node carries what the slice takes."""
    graph = compatibility_graph(A30, ["2g.12gb"])
    assert dict(graph.nodes(data=True)) == {
        Placement(0, "2g.12gb"): {"compute_slices": 2, "memory_units": 2},
        Placement(2, "2g.12gb"): {"compute_slices": 2, "memory_units": 2},
    }
    assert graph.number_of_edges() == 1
    assert graph.graph["gpu"] == "A30-24GB"


def test_unknown_profile() -> None:
    """A profile of another card is an error."""
    with pytest.raises(UnknownNameError, match="unknown profile of A30-24GB"):
        compatibility_graph(A30, ["1g.5gb"])
