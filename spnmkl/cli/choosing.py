"""What the command line was asked to do with columns."""

from __future__ import annotations

import argparse

from spnmkl.cli.arguments import PREPARE
from spnmkl.data import Choices
from spnmkl.errors import ParameterError


def asked_choices(args: argparse.Namespace) -> Choices:
    asked = [given.rpartition("=") for given in args.prepare]
    for view, _, how in asked:
        if how not in PREPARE:
            where = f" for the view {view!r}" if view else ""
            raise ParameterError(f"--prepare expects one of {', '.join(PREPARE)}{where}, but found {how!r}.")
    steps = {view: {"none": "as is", "normal-ranks": "normal ranks"}.get(how, how) for view, _, how in asked}
    numeric, missing, absent = steps.pop("", "auto"), args.missing.replace("-", " "), args.absent.replace("-", " ")
    return Choices(numeric, missing, args.text, tuple(steps.items()), absent)
