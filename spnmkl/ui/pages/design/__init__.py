"""The Design page: the canvas, the panel of a node, templates, import and export."""
