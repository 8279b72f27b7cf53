"""Suites of runs: what to run, worker processes that run it, and one record per run."""
