"""Trainings of a command on other machines, and `spnmkl cluster`: files that start workers there."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from spnmkl.cli.streams import STANDARD, target, written
from spnmkl.cli.terminal import tell
from spnmkl.cluster import on_cluster
from spnmkl.cluster.deploying import kubernetes, slurm
from spnmkl.errors import ParameterError


@contextmanager
def sent_to_cluster(args: argparse.Namespace) -> Iterator[None]:
    """What a command trains side by side goes to the cluster that was asked for, if one was."""
    with on_cluster(getattr(args, "cluster", None)) as cluster:
        if cluster is not None and not args.quiet:
            tell(cluster.sentence)
        yield


def write_deployment(args: argparse.Namespace) -> int:
    if args.what == "kubernetes":
        text = kubernetes(args.name, args.image, args.workers, args.memory)
    else:
        asked = [word for word in args.asked if word != "--"]
        if any(word.startswith("--cluster") for word in asked):
            raise ParameterError("Leave --cluster out of the command: the job knows the address of its scheduler.")
        text = slurm(args.workers, args.memory, args.time, args.partition, asked)
    with written(target(args.out or STANDARD)) as file:
        file.write_text(text, encoding="utf-8")
    return 0
