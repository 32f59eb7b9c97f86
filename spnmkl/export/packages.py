"""Packages that only some exports need."""

from importlib import import_module
from types import ModuleType

from spnmkl.errors import SPNMKLError


def optional(module: str, package: str, purpose: str) -> ModuleType:
    """Import a module, or say which package is missing for what."""
    try:
        return import_module(module)
    except ImportError:
        raise SPNMKLError(
            f"{purpose} needs the package {package}, which is not installed; run: pip install {package}"
        ) from None
