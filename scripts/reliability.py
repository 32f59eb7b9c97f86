"""What docs/reliability.md says was measured: each command replaces its own part of the page, and nothing else."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"


def put(part: str, text: str, page: Path = PAGE) -> None:
    """Write what a command found between its marks on the page."""
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    known = page.read_text("utf-8")
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not marked.search(known):
        raise ValueError(f"{page} has no place for {part!r}: write {begin} and {end} into it.")
    page.write_text(marked.sub(lambda _: f"{begin}\n{text.strip()}\n{end}", known, count=1), "utf-8")


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table of the page; every column but the first is set to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def circumstances() -> str:
    """When it was measured, and what else the machine did."""
    load = f"load {os.getloadavg()[0]:.1f} at the end, " if hasattr(os, "getloadavg") else ""
    return f"({datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {load}{os.cpu_count()} cores)"
