"""The pages of the reference, written from `__all__` of every public module, so that no name can be forgotten."""

from importlib import import_module
from pathlib import Path

MODULES = {
    "spnmkl": "What most programs need",
    "spnmkl.templates": "Structures to start from",
    "spnmkl.structure": "The drawing",
    "spnmkl.kernels": "Base kernels",
    "spnmkl.data.preparer": "Columns before kernels see them",
    "spnmkl.estimator": "The scikit-learn classifier",
    "spnmkl.model_file": "Models in files",
    "spnmkl.solvers": "Solving",
    "spnmkl.solution": "What came out",
    "spnmkl.evidence": "Evidence weights",
    "spnmkl.selection": "Choosing C",
    "spnmkl.inspection": "Understanding a solution",
    "spnmkl.importance": "What matters, on rows not trained on",
    "spnmkl.search": "Finding the drawing",
    "spnmkl.baselines": "Other methods",
    "spnmkl.export": "Drawings as files",
    "spnmkl.charts": "Charts",
    "spnmkl.errors": "Errors",
}
# What is no function or class, in a sentence.
CONSTANTS = {
    "MAX_NODES": "The most nodes that a drawing may have.",
    "MOST_RANKED": "The most bars that `ranking_chart` shows.",
    "NORMALIZATIONS": "The normalisations of a kernel by name, each with one line of help.",
    "SOLVERS": "The solvers by name, as `solve` takes them.",
    "TEMPLATES": "The templates by name, each as a `Template`.",
}
# Where a module is called by a shorter name than its own.
HOMES = {"spnmkl.templates": "spnmkl.structure.templates"}


def write_api_pages(folder: Path) -> None:
    """One page per module, and one that lists them; files that would not change are left alone."""
    seen: dict[int, str] = {}
    pages = {module: _page(module, seen) for module in MODULES}
    _write(folder / "index.rst", _index())
    for module, page in pages.items():
        _write(folder / f"{module}.rst", page)


def _index() -> str:
    rows = "\n".join(f"   * - :doc:`{module} <{module}>`\n     - {title}" for module, title in MODULES.items())
    listed = "\n".join(f"   {module}" for module in MODULES)
    return (
        f"{_heading('API', '=')}\nEverything here is public: it is kept, or its change is told in the list of changes."
        " Modules that are not listed are how spnmkl works inside.\n\n"
        f".. list-table::\n\n{rows}\n\n.. toctree::\n   :hidden:\n\n{listed}\n"
    )


def _page(module: str, seen: dict[int, str]) -> str:
    """Names that an earlier page has are named only; what is no function or class stands at the end."""
    home = HOMES.get(module, module)
    found = import_module(home)
    names = [name for name in found.__all__ if not _is_module(found, name)]
    new = [name for name in names if id(getattr(found, name)) not in seen]
    known = [f"`{seen[id(getattr(found, name))]}.{name}`" for name in names if name not in new]
    seen |= {id(getattr(found, name)): home for name in new}
    calls = [name for name in new if callable(getattr(found, name))]
    parts = [_heading(module, "="), f"{(found.__doc__ or '').strip()}\n", f".. currentmodule:: {home}\n"]
    if calls:
        listed = "\n".join(f"   {name}" for name in calls)
        parts.append(f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{listed}\n")
    parts += [f".. py:data:: {name}\n\n   {CONSTANTS[name]}\n" for name in new if name not in calls]
    if known:
        parts.append(f"Found here too: {', '.join(known)}.\n")
    return "\n".join(parts)


def _is_module(found: object, name: str) -> bool:
    return type(getattr(found, name)).__name__ == "module"


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(exist_ok=True)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
