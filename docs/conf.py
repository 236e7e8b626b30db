"""How Sphinx builds these pages: MyST Markdown, the furo theme, an API reference from the docstrings.

Nothing is fetched: neither while building (no intersphinx) nor while reading (no script, style or font of others).
"""

import sys
from pathlib import Path

from trilabel.version import __version__

sys.path.append(str(Path(__file__).parent))  # plain_docstrings

project = "trilabel"
author = "The trilabel authors"
copyright = "2026, The trilabel authors"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "plain_docstrings"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"trilabel {__version__}"
html_show_sourcelink = False
html_copy_source = False

myst_heading_anchors = 3  # headings down to this level can be linked to, as on GitHub
myst_enable_extensions = ["deflist"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
default_role = "code"

# Names of the package itself must resolve. Those of torch, NumPy and the standard library cannot without a network, and
# what is inside a room is linked to where it is documented.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!trilabel\.).*"), (r"py:.*", r"trilabel\.\w+\..*")]
