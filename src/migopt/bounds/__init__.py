"""Proven lower bounds, one per file, and what they share with exact models."""
