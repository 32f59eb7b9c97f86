"""Writes docs/glossary.md from `spnmkl.reporting.glossary`: ``python scripts/glossary.py``."""

from pathlib import Path

from spnmkl.reporting.glossary import glossary_page

PAGE = Path(__file__).parents[1] / "docs" / "glossary.md"

if __name__ == "__main__":
    PAGE.write_text(glossary_page(), encoding="utf-8")
