"""Files that start a Dask cluster elsewhere: a resource for Kubernetes, a job for SLURM."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from spnmkl.errors import ParameterError

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,50}[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")
_MEMORY = re.compile(r"[1-9][0-9]*(Gi|Mi|G|M)")
_TIME = re.compile(r"([0-9]+-)?[0-9]{1,2}:[0-9]{2}:[0-9]{2}")
_PARTITION = re.compile(r"[A-Za-z0-9_,.-]+")


def kubernetes(name: str, image: str, workers: int, memory: str) -> str:
    """A ``DaskCluster`` for the operator of dask-kubernetes, to be given to ``kubectl apply -f``.

    Parameters
    ----------
    name : str
        Of the cluster: the scheduler is found at ``tcp://NAME-scheduler:8786``.
    image : str
        A container image with spnmkl and its extra `cluster`.
    workers : int
        Worker pods, of one core and one training at a time.
    memory : str
        Of a worker, such as ``8Gi``.

    Returns
    -------
    str
        YAML.

    Examples
    --------
    >>> from spnmkl.cluster.deploying import kubernetes
    >>> print(kubernetes("folds", "registry.example/spnmkl:0.2.0", 8, "8Gi").splitlines()[1])
    kind: DaskCluster
    """
    _check(name, _NAME, "--name", "lower-case letters, digits and hyphens, such as spnmkl")
    _check(image, _IMAGE, "--image", "a container image, such as registry.example/spnmkl:0.2.0")
    _check(memory, _MEMORY, "--memory", "a number with Gi or Mi, such as 8Gi")
    return f"""\
apiVersion: kubernetes.dask.org/v1
kind: DaskCluster
metadata:
  name: {name}
spec:
  worker:
    replicas: {workers}
    spec:
      containers:
        - name: worker
          image: "{image}"
          command: [dask]
          args: [worker, --name, $(DASK_WORKER_NAME), --nthreads, "1", --memory-limit, "{memory}", --no-dashboard]
          env: &threads
            - {{name: OMP_NUM_THREADS, value: "1"}}
            - {{name: OPENBLAS_NUM_THREADS, value: "1"}}
          resources:
            requests: {{cpu: "1", memory: "{memory}"}}
            limits: {{cpu: "1", memory: "{memory}"}}
  scheduler:
    spec:
      containers:
        - name: scheduler
          image: "{image}"
          command: [dask]
          args: [scheduler]
          env: *threads
          ports:
            - {{name: tcp-comm, containerPort: 8786, protocol: TCP}}
            - {{name: http-dashboard, containerPort: 8787, protocol: TCP}}
          readinessProbe:
            httpGet: {{port: http-dashboard, path: /health}}
            initialDelaySeconds: 5
            periodSeconds: 10
    service:
      type: ClusterIP
      selector:
        dask.org/cluster-name: {name}
        dask.org/component: scheduler
      ports:
        - {{name: tcp-comm, protocol: TCP, port: 8786, targetPort: tcp-comm}}
        - {{name: http-dashboard, protocol: TCP, port: 8787, targetPort: http-dashboard}}
"""


def slurm(workers: int, memory: str, time: str, partition: str | None, command: Sequence[str]) -> str:
    """A job that starts a scheduler and workers, runs a command against them, and ends with it; for ``sbatch``.

    Parameters
    ----------
    workers : int
        Tasks of one core, each a worker; one more task is the scheduler.
    memory : str
        Of a task, such as ``8G``.
    time : str
        Limit of the job, such as ``04:00:00``.
    partition : str or None
        Where to run it.
    command : sequence of str
        What follows ``spnmkl``, without ``--cluster``.

    Returns
    -------
    str
        A script for bash.

    Examples
    --------
    >>> from spnmkl.cluster.deploying import slurm
    >>> print(slurm(16, "8G", "04:00:00", None, ["compare", "table.csv", "--label", "y"]).splitlines()[-1])
    spnmkl compare table.csv --label y --cluster "$address"
    """
    _check(memory, _MEMORY, "--memory", "a number with G or M, such as 8G")
    _check(time, _TIME, "--time", "hours:minutes:seconds, such as 04:00:00")
    if partition is not None:
        _check(partition, _PARTITION, "--partition", "a name of SLURM's")
    where = "" if partition is None else f"#SBATCH --partition={partition}\n"
    asked = shlex.join(command) or "compare table.csv --label y"
    size = memory.removesuffix("i")
    return f"""\
#!/bin/bash
#SBATCH --job-name=spnmkl
#SBATCH --ntasks={workers + 1}
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu={size}
#SBATCH --time={time}
{where}set -euo pipefail
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

# Nodes find the scheduler by this file, which must lie where all of them see it. Whoever reaches the scheduler can run
# code as you: keep the folder to yourself, and see the page "More machines" for TLS.
umask 077
folder=$(mktemp -d "$PWD/spnmkl-dask-XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT

srun --ntasks=1 --exact dask scheduler --scheduler-file "$folder/scheduler.json" --no-dashboard &
until [ -s "$folder/scheduler.json" ]; do sleep 1; done
srun --ntasks={workers} --exact dask worker --scheduler-file "$folder/scheduler.json" --nthreads 1 \\
  --memory-limit {size}B --local-directory "$folder" --no-dashboard &

address=$(python -c 'import json, sys; print(json.load(open(sys.argv[1]))["address"])' "$folder/scheduler.json")
spnmkl {asked} --cluster "$address"
"""


def _check(value: str, expected: re.Pattern[str], option: str, words: str) -> None:
    if not expected.fullmatch(value):
        raise ParameterError(f"{option} takes {words}, but found {value!r}.")
