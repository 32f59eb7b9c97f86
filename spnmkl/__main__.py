"""The command line's door: who asks for help, or for the version, does not wait for the library."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from contextlib import suppress

from spnmkl.cli.arguments import ABORTED, command_parser
from spnmkl.errors import ParameterError

_TELL = {"-h", "--help", "--version"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; help and version end here."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if _TELL.intersection(given):
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # λ is not in every encoding
        with suppress(ParameterError):  # of a mistake before --help the command itself tells
            command_parser().parse_known_args(given)
    try:
        from spnmkl.cli.commands import main as run

        return run(given)
    except KeyboardInterrupt:  # while the library is loaded; the commands answer for themselves
        print("spnmkl: interrupted.", file=sys.stderr)
        return ABORTED


if __name__ == "__main__":
    sys.exit(main())
