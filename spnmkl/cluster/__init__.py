"""Other machines: trainings sent to a Dask scheduler, and the files that start one elsewhere."""

from spnmkl.cluster.connecting import VARIABLE, Cluster, asked_cluster, on_cluster

__all__ = ["VARIABLE", "Cluster", "asked_cluster", "on_cluster"]
