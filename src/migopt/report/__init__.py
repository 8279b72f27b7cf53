"""From run records to statistics, tables, figures and pages; it never runs a solver."""
