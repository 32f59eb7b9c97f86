"""Names as docstrings write them: `solve` or `SPN.paths` leads to where it is described, whatever the page."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

FREE = {"function", "class", "exception", "data"}


def resolve(app: Sphinx, env: BuildEnvironment, node: Any, content: nodes.Element) -> nodes.Element | None:
    """The one object that ends in this name; a word alone is never a method, it may be a parameter."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    found = [
        (name, entry)
        for name, entry in env.domains["py"].data["objects"].items()
        if name.endswith(f".{target}") and ("." in target or entry.objtype in FREE)
    ]
    if len({entry.node_id for _, entry in found}) != 1:
        return None
    name, entry = found[0]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, name)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
