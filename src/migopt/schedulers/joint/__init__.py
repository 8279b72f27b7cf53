"""Policies that choose partition and dispatch together; their rules share one decision."""
