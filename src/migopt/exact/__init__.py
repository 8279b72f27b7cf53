"""Exact models: one formulation per folder or file."""
