"""The options for other machines; nothing heavy is loaded for them."""

from __future__ import annotations

import argparse

from spnmkl.cli.values import positive


def add_cluster(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument(
        "--cluster",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help=f"send {what} to the Dask scheduler at tcp://HOST:PORT or tls://HOST:PORT, or to worker processes of this "
        "machine: local, or local:4 for four; without an address local",
    )


def cluster_arguments(command: argparse.ArgumentParser) -> None:
    """Files that start workers elsewhere."""
    kinds = command.add_subparsers(required=True, metavar="WHERE", dest="what")

    def kind(name: str, help: str, memory: str) -> argparse.ArgumentParser:
        sub = kinds.add_parser(name, help=help, description=help)
        sub.add_argument("--workers", type=positive, default=4, help="of one core each; default 4")
        sub.add_argument("--memory", default=memory, help=f"of a worker; default {memory}")
        sub.add_argument("--out", help="where to write it; default: standard output")
        return sub

    pods = kind("kubernetes", "write a DaskCluster for the operator of dask-kubernetes, for kubectl apply -f", "8Gi")
    pods.add_argument("--image", required=True, help="container image with spnmkl[cluster]")
    pods.add_argument("--name", default="spnmkl", help="of the cluster; default spnmkl")
    job = kind("slurm", "write a job of a scheduler, workers and one command of spnmkl, for sbatch", "8G")
    job.add_argument("--time", default="04:00:00", help="limit of the job; default 04:00:00")
    job.add_argument("--partition", help="where SLURM is to run it")
    job.add_argument(
        "asked",
        nargs=argparse.REMAINDER,
        metavar="...",
        help="after --: what follows spnmkl, such as compare table.csv --label y",
    )
