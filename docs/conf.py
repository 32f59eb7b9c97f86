"""Settings of the documentation: `make docs` builds it into docs/_build/html, with warnings as errors."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

from api_pages import write_api_pages  # noqa: E402

from spnmkl import __version__  # noqa: E402

project = "spnmkl"
author = "The spnmkl developers"
copyright = "The spnmkl developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "commands",
    "mathml",
    "short_names",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_extensions", "requirements.txt", "gallery/*.ipynb", "experiments/short"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
root_doc = "index"

# One backtick is a name: a link where it is known, else code.
default_role = "py:obj"
add_module_names = False
smartquotes = False
toc_object_entries_show_parents = "hide"

autosummary_generate = True
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
autodoc_default_options = {"exclude-members": "set_fit_request, set_score_request"}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("svg_scraper.scrape",),
    "reset_modules": (),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "min_reported_time": 10**6,
    "write_computation_times": False,
    "notebook_images": False,
    "capture_repr": (),
}

html_theme = "pydata_sphinx_theme"
html_title = "spnmkl"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "start": [], "command_line": [], "contributing": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

write_api_pages(HERE / "api")
