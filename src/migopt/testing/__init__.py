"""The conformance kit that rules, bounds and solvers are tested with; public, for plug-ins too."""
