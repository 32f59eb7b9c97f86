"""The command line's door: who asks for help, or mistypes an option, does not wait for the library."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from spnmkl.cli.arguments import ABORTED, BAD_INPUT, parsed
from spnmkl.errors import ParameterError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; help, version and mistakes in the arguments end here."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # β and λ are not in every encoding
    try:
        parsed(given)
    except ParameterError as error:
        print(f"spnmkl: {error}", file=sys.stderr)
        return BAD_INPUT
    try:
        from spnmkl.cli.commands import main as run

        return run(given)
    except KeyboardInterrupt:  # while the library is loaded; the commands answer for themselves
        print("spnmkl: interrupted.", file=sys.stderr)
        return ABORTED


if __name__ == "__main__":
    sys.exit(main())
