"""Text that people wrote, shown by Streamlit."""


def plain(text: object) -> str:
    """Text for Streamlit's Markdown: names of nodes, columns and files must not be read as markup."""
    return "".join("\\" + c if c in "\\`*_{}[]()<>#+-!|$:~^" else c for c in str(text))
