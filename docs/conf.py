"""Sphinx configuration; `make docs` builds the site, and a warning is an error."""

from __future__ import annotations

import migopt

project = "migopt"
author = "The migopt developers"
copyright = "The migopt developers, MIT licence"
version = release = migopt.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
myst_enable_extensions = ["deflist", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
suppress_warnings: list[str] = []

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = False
napoleon_numpy_docstring = True
napoleon_use_ivar = True

html_theme = "furo"
html_title = f"migopt {version}"
html_static_path: list[str] = []
copybutton_exclude = ".linenos, .gp, .go"
