"""``python -m migopt``."""

from migopt.cli import main

main()
