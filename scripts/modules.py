"""The modules of the package and who imports whom; draws docs/images/modules.svg: ``python scripts/modules.py``.

A *room* is a sub-package, a part of `ui`, or a module that stands by itself. The order of the rooms is written here
once; tests/test_architecture.py holds the imports to it, and the picture to what the imports are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import networkx as nx

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "spnmkl"
PICTURE = ROOT / "docs" / "images" / "modules.svg"

# A room may import those that stand before it. Two modules of `training` do so before the classifier, which stands in
# the middle of a training: the rest of it ends with one.
BANDS: dict[str, tuple[str, ...]] = {
    "what everything may use": (
        "errors",
        "wording",
        "writing",
        "untrusted",
        "notebook",
        "threads",
        "memory",
        "compilation",
        "installation",
        "parallel",
    ),
    "the drawing": ("structure", "templates", "parameters"),
    "the drawing on data": ("circuit", "kernels"),
    "the problem and its proof": ("problem", "measures", "certificate", "rounding", "solution"),
    "the engine": ("solvers", "evidence", "selection", "fixed_weights", "rivals", "calibration"),
    "the library": (
        "training.settings",
        "training.learn",
        "landmarks",
        "given",
        "history",
        "model_file",
        "estimator",
        "inspection",
        "baselines",
        "precompile",
    ),
    "from tables to runs": ("data", "training"),
    "what it means": ("export", "charts", "study", "importance", "search", "reporting", "project", "workspace"),
    "the app and the command line": (
        "workers",
        "cluster",
        "ui.state",
        "ui.parts",
        "ui.pages",
        "ui",
        "launch",
        "cli",
        "__init__",
        "__main__",
        "quickstart",
    ),
}
ORDER = [room for rooms in BANDS.values() for room in rooms]
RANK = {room: rank for rank, room in enumerate(ORDER)}
# What comes later and is called all the same, when it is asked for: a notebook asks an object for its picture, and a
# file tells which classifier it holds.
UPWARDS = {("notebook", "export"), ("notebook", "reporting"), ("model_file", "estimator")}

VERSION = "spnmkl.__version__"  # which the package alone can tell
WIDTH, MARGIN, LINE, PAD, GAP = 1180, 14, 17, 10, 12


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(file: Path) -> str:
    """The module of a file, without the package's name: "data.table"; a package's own file is the package."""
    parts = file.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def room_of(module: str) -> str | None:
    """The room that a module belongs to: the longest name in the order that it begins with."""
    parts = module.split(".")
    names = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
    return next((name for name in names if name in RANK), None)


def imported(file: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports, wherever in it, with the line; those for annotations only are left out."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    typing_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or not node.module:
                raise ValueError(f"{file.name}:{node.lineno} imports relatively")
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole if _is_module(whole) or whole == VERSION else node.module), node.lineno


def _is_module(module: str) -> bool:
    place = ROOT / module.replace(".", "/")
    return module.startswith("spnmkl.") and (place.with_suffix(".py").exists() or (place / "__init__.py").exists())


def own_imports(file: Path) -> Iterator[tuple[str, int]]:
    """The modules of the package itself that a file imports: "data.table"; the package is "__init__"."""
    for module, line in imported(file):
        first, _, rest = module.partition(".")
        if first == "spnmkl" and module != VERSION:
            yield rest or "__init__", line


def rooms() -> nx.DiGraph:
    """Which room needs which."""
    graph = nx.DiGraph()
    graph.add_nodes_from(ORDER)
    for file in files():
        own = room_of(name_of(file))
        for module, _ in own_imports(file):
            other = room_of(module)
            if own and other and own != other and RANK[other] < RANK[own]:
                graph.add_edge(own, other)
    return graph


def members() -> dict[str, list[str]]:
    """Room → its modules, by their names inside of it; a module by itself has none."""
    found: dict[str, list[str]] = {room: [] for room in ORDER}
    for file in files():
        module = name_of(file)
        room = room_of(module)
        if room is not None and module not in (room, "ui") and file.name != "__init__.py":
            found[room].append(module.removeprefix(f"{room}."))
    return found


def picture() -> str:
    """The rooms in their order, band under band, each with its modules and the rooms it cannot do without."""
    needs, inside = nx.transitive_reduction(rooms()), members()
    parts: list[str] = []
    y = MARGIN
    for band, names in BANDS.items():
        parts.append(_text(MARGIN, y + 12, band, "band"))
        y, boxes = y + 20, [_lines(room, inside[room], sorted(needs.successors(room), key=RANK.get)) for room in names]
        columns = min(len(names), 4)
        width = (WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns
        for start in range(0, len(names), columns):
            row = boxes[start : start + columns]
            height = max(sum(len(_wrapped(text, width)) for text, _ in lines) for lines in row) * LINE + 2 * PAD
            for k, lines in enumerate(row):
                x = MARGIN + k * (width + GAP)
                parts.append(f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{height}" rx="6"/>')
                at = y + PAD + 12
                for text, style in lines:
                    for line in _wrapped(text, width):
                        parts.append(_text(x + PAD, at, line, style))
                        at += LINE
            y += height + GAP
        y += 6
    return _framed(parts, y)


def _lines(room: str, modules: list[str], needs: list[str]) -> list[tuple[str, str]]:
    place = PACKAGE / room.replace(".", "/")
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    built = ", ".join(name.replace(".", "/") for name in needs)
    lines = [
        (room.replace(".", "/") + ("/" if place.is_dir() else ".py"), "room"),
        (_purpose(file), "own"),
        (", ".join(modules), "modules"),
        (f"→ {built}" if built else "", "needs"),
    ]
    return [line for line in lines if line[0]]


def _purpose(file: Path) -> str:
    """The first line of its docstring."""
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return said.partition("\n")[0].removesuffix(".")


def _wrapped(text: str, width: float) -> list[str]:
    most, lines = int((width - 2 * PAD) / 6.6), [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{style}">{escape(text)}</text>'


def _framed(parts: list[str], height: int) -> str:
    style = (
        "text{font:12px sans-serif;fill:#1c2430}.band{font-weight:bold;fill:#44546a}.room{font-weight:bold}"
        ".modules{fill:#0b4f8a}.needs{fill:#5a6573;font-style:italic}rect{fill:#f4f7fb;stroke:#8795a8}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">'
        f"<title>The modules of spnmkl, in the order in which they build on each other</title><style>{style}</style>"
        f'<rect width="{WIDTH}" height="{height}" style="fill:#ffffff;stroke:none"/>' + "\n".join(parts) + "</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {len(files())} modules in {len(ORDER)} rooms")
