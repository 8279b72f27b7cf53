"""Which partitions of a GPU exist: the placement graph, its cliques, and catalogues of them."""

from migopt.placement.catalogue import build_catalogue, catalogue_names
from migopt.placement.draw import partition_svg, partitions_svg
from migopt.placement.enumerate import (
    exact_covers,
    inclusion_maximal_multisets,
    maximal_partitions,
    multiset,
    multisets,
    profiles_of_kinds,
    valid_partitions,
)
from migopt.placement.fit import Misfit, Wish, explain_misfit, find_partition, parse_wish
from migopt.placement.graph import compatibility_graph
from migopt.placement.index import PlacementIndex, is_valid, placement_index

__all__ = [
    "Misfit",
    "PlacementIndex",
    "Wish",
    "build_catalogue",
    "catalogue_names",
    "compatibility_graph",
    "exact_covers",
    "explain_misfit",
    "find_partition",
    "inclusion_maximal_multisets",
    "is_valid",
    "maximal_partitions",
    "multiset",
    "multisets",
    "parse_wish",
    "partition_svg",
    "partitions_svg",
    "placement_index",
    "profiles_of_kinds",
    "valid_partitions",
]
