"""What stands beside the package in a checkout and inside of it in a wheel: the app and the samples."""

from __future__ import annotations

from pathlib import Path

from spnmkl.errors import SPNMKLError

_PACKAGE = Path(__file__).parent


def installed(name: str) -> Path:
    """A file or folder of the app or the samples; pyproject.toml says which a wheel carries."""
    for folder in (_PACKAGE / "_app", _PACKAGE.parent):
        if (folder / name).exists():
            return folder / name
    raise SPNMKLError(f"{name} is missing from this installation; install spnmkl again.")
