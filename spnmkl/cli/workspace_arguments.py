"""The options of `spnmkl workspace`; nothing heavy is loaded for them."""

from __future__ import annotations

import argparse

KINDS = ("list", "export", "import", "run", "delete", "restore", "people", "audit")
QUOTAS = {
    "bytes": ("SIZE", "bytes that one person may keep, such as 2GB"),
    "rows": ("N", "rows of all data sets of one person"),
    "nodes": ("N", "nodes of one drawing"),
    "trainings": ("N", "trainings of one person at once; further ones wait"),
}


def add_folder(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--workspace",
        metavar="DIR",
        help="the folder of the workspace; default: $SPNMKL_WORKSPACE, or a folder in the user's data directory",
    )


def server_arguments(command: argparse.ArgumentParser) -> None:
    """What holds on a server for others, and not on the own machine."""
    group = command.add_argument_group("a server for others", "0 is no limit; by default 5GB, 5M, 1000 and 2")
    for name, (metavar, help) in QUOTAS.items():
        group.add_argument(f"--quota-{name}", metavar=metavar, help=f"{help} [$SPNMKL_QUOTA_{name.upper()}]")
    group.add_argument(
        "--administrator",
        action="append",
        default=[],
        metavar="ID",
        help="who sees the page Administration, by the id that the app shows to who has logged in; may be given "
        "several times [$SPNMKL_ADMINISTRATORS]",
    )


def server_settings(args: argparse.Namespace) -> dict[str, str]:
    """The same as the environment says it."""
    given = {f"SPNMKL_QUOTA_{name.upper()}": getattr(args, f"quota_{name}") for name in QUOTAS}
    given["SPNMKL_ADMINISTRATORS"] = " ".join(args.administrator)
    return {name: value for name, value in given.items() if value}


def workspace_arguments(command: argparse.ArgumentParser) -> None:
    """Projects of the workspace that the app keeps."""
    kinds = command.add_subparsers(required=True, metavar="WHAT", dest="what")

    def kind(name: str, help: str) -> argparse.ArgumentParser:
        sub = kinds.add_parser(name, help=help, description=help)
        add_folder(sub)
        return sub

    listed = kind("list", "list the projects, the last changed first")
    listed.add_argument("search", nargs="*", help="words that stand in the name, the tags or the name of the data")
    listed.add_argument("--deleted", action="store_true", help="those in the bin")
    listed.add_argument("--json", action="store_true", help="for programs")
    kind("people", "list those who keep something on a server for others, and how much")
    audit = kind("audit", "print the log of a server for others as CSV, the newest line first")
    audit.add_argument("--days", type=float, default=0.0, help="of the last days alone; default: all that is kept")
    exported = kind("export", "write a project as one zip, which the app and import open")
    exported.add_argument("project", help="its name, or the first letters of its key")
    exported.add_argument("--out", required=True, help="the zip to write")
    exported.add_argument("--without-data", action="store_true", help="leave the table and the matrices out")
    imported = kind("import", "put a project file into the workspace")
    imported.add_argument("file", help="a zip that export or the app has written")
    imported.add_argument("--name", help="what to call it; default: the name of the file")
    run = kind("run", "train the drawing of a project on its data with its settings, and keep the run in it")
    run.add_argument("project", help="its name, or the first letters of its key")
    run.add_argument("--C", type=float, help="in the place of the project's")
    run.add_argument("--max-time", type=float, metavar="SECONDS", help="end in time with the best so far")
    run.add_argument("--quiet", action="store_true", help="print nothing")
    deleted = kind("delete", "put a project into the bin, which keeps it for 30 days")
    deleted.add_argument("project", help="its name, or the first letters of its key")
    deleted.add_argument("--for-good", action="store_true", help="let go of it at once; also of one that is in the bin")
    restored = kind("restore", "bring a project back from the bin")
    restored.add_argument("project", help="its name, or the first letters of its key")
