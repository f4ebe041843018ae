"""The documentation site: ``make docs`` builds it, strictly and without a network, into ``site/``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from hippozoo import __version__

project = "hippozoo"
author = "the hippozoo developers"
copyright = "2026, the hippozoo developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "api_reference",
    "mathml",
    "repository_files",
]
exclude_patterns = ["_build", "images/*.md"]
nitpicky = False
# Words of array shapes, such as "batch time", are taken for names, and several classes have an attribute of that name.
suppress_warnings = ["ref.python"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_url_schemes = {"http": None, "https": None, "mailto": None, "repository": {"url": "{{path}}"}}

# Types stand in the signature, shapes included; the docstring says what they mean.
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = "hippozoo"
html_static_path = ["_static"]
html_css_files = ["hippozoo.css"]
html_copy_source = False
html_theme_options = {"source_directory": "docs/"}
html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
