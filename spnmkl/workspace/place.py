"""Where the workspace is: a folder that the user can see, and the database, in it or elsewhere."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

FOLDER, URL = "SPNMKL_WORKSPACE", "SPNMKL_DATABASE_URL"
DATABASE = "workspace.db"


@dataclass(frozen=True)
class Place:
    """A folder for files, and the address of the database; by default the database is a file in the folder."""

    folder: Path
    url: str = ""

    @property
    def database(self) -> Path:
        """The file of the database, where no address is given."""
        return self.folder / DATABASE

    @property
    def shown(self) -> str:
        """The place in messages; a password that stands in an address is not told."""
        return str(self.folder)


def workspace_place(folder: str | os.PathLike[str] | None = None) -> Place:
    """The place that was asked for, or that the environment names, or that of the user's data."""
    chosen = folder or os.environ.get(FOLDER) or _default()
    return Place(Path(chosen).expanduser().absolute(), os.environ.get(URL, ""))


def _default() -> Path:
    from platformdirs import user_data_path  # for the app alone

    return user_data_path("spnmkl", appauthor=False) / "workspace"
