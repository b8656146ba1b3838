"""How Sphinx builds the documentation; ``make docs`` runs it. Nothing is fetched from a network."""

import sys
from pathlib import Path

import caveat

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "caveat"
author = "The caveat developers"
copyright = author
version = release = caveat.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "code_blocks",
    "mathml",
    "public_names",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "_extensions", "_templates"]
templates_path = ["_templates"]
# A word in single backquotes is a link where it is a public name, and code where it is not.
default_role = "py:obj"
nitpicky = False  # types come from other libraries, whose pages are not fetched

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # numpydoc's sections say the types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # only names of ours are links

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "caveat"
html_static_path = ["_static"]
html_css_files = ["caveat.css"]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "mathml"
html_sidebars = {"index": [], "tutorial": []}
html_theme_options = {
    "logo": {"text": "caveat"},
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "metrics": []},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("caveat",),
    "reference_url": {"caveat": None},
    "ignore_repr_types": r"matplotlib",
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "matplotlib_animations": False,
    "download_all_examples": False,
    "thumbnail_size": (560, 320),
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 10_000,
    "remove_config_comments": True,
    "write_computation_times": False,
}
