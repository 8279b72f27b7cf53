"""``python -m migopt.cli``."""

from migopt.cli import main

main()
