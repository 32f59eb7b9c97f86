"""Pictures of the gallery: every SVG that a block of an example leaves in a variable."""

from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save those that are new since the last block, and give the text that shows them."""
    known = block_vars.setdefault("shown_svgs", gallery_conf.setdefault("_shown_svgs", {}))
    shown = known.setdefault(block_vars["src_file"], set())
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, str) and value.startswith("<svg") and value not in shown:
            shown.add(value)
            path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
            path.write_text(value, encoding="utf-8")
            paths.append(str(path))
    return figure_rst(paths, gallery_conf["src_dir"])
