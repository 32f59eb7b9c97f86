"""Whether a folder of web pages works without the internet: `python scripts/offline.py FOLDER`.

Links that a reader may follow are free; what a page loads by itself (scripts, styles, pictures, fonts, frames) has to
lie in the folder.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

LOADED = {"src", "srcset", "data", "poster", "background"}
# A link that only tells where something is.
TOLD = {"canonical", "author", "license", "help", "search", "next", "prev", "index", "copyright", "home"}
OUTSIDE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
STYLE = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])\s*((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)
SCRIPT = re.compile(r"""(?:import\s*\(?|importScripts\(|from)\s*["'](https?://[^"']+)""")


class Loads(HTMLParser):
    """What a page loads from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        given = {name: value or "" for name, value in attrs}
        own = [value for name, value in given.items() if name in LOADED]
        if tag == "link" and not set(given.get("rel", "").split()) <= TOLD:
            own.append(given.get("href", ""))
        parts = [part for value in own for part in ([value] if value.startswith("data:") else value.split(","))]
        self.found += [part.strip() for part in parts if OUTSIDE.match(part)]
        self.found += STYLE.findall(given.get("style", ""))

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.found += STYLE.findall(data)
        elif self._inside == "script":
            self.found += SCRIPT.findall(data)


def loads_of(file: Path) -> list[str]:
    """Addresses outside that a file of a site loads."""
    text = file.read_text(encoding="utf-8", errors="replace")
    if file.suffix == ".css":
        return STYLE.findall(text)
    if file.suffix == ".js":
        return SCRIPT.findall(text)
    page = Loads()
    page.feed(text)
    return page.found


def main(folder: Path) -> int:
    files = [file for suffix in ("html", "css", "js", "svg") for file in sorted(folder.rglob(f"*.{suffix}"))]
    bad = {file: found for file in files if (found := loads_of(file))}
    for file, found in bad.items():
        print(f"{file.relative_to(folder)} loads {', '.join(sorted(set(found)))}", file=sys.stderr)
    if not files:
        print(f"There is no page in {folder}.", file=sys.stderr)
    else:
        print(f"{len(files)} files, {len(bad)} of them load something from outside.")
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
