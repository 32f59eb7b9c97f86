"""What starts workers elsewhere: fields that Kubernetes and Dask's operator need, a script that bash can read."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dask.utils import parse_bytes

from spnmkl.cli.commands import main
from spnmkl.launch import run_app


def test_kubernetes(tmp_path: Path) -> None:
    out = tmp_path / "cluster.yaml"
    asked = ["--image", "registry.example/spnmkl:0.2.0", "--workers", "8", "--memory", "4Gi", "--name", "folds"]
    assert main(["cluster", "kubernetes", *asked, "--out", str(out)]) == 0
    found = yaml.safe_load(out.read_text(encoding="utf-8"))
    assert (found["apiVersion"], found["kind"]) == ("kubernetes.dask.org/v1", "DaskCluster")
    assert found["metadata"]["name"] == "folds"
    worker, scheduler = found["spec"]["worker"], found["spec"]["scheduler"]
    assert worker["replicas"] == 8
    (pod,), (head,) = worker["spec"]["containers"], scheduler["spec"]["containers"]
    assert pod["image"] == head["image"] == "registry.example/spnmkl:0.2.0"
    assert pod["command"] == head["command"] == ["dask"]
    assert pod["args"][:3] == ["worker", "--name", "$(DASK_WORKER_NAME)"] and head["args"] == ["scheduler"]
    options = dict(zip(pod["args"][1::2], pod["args"][2::2], strict=False))
    assert options["--nthreads"] == "1" and parse_bytes(options["--memory-limit"]) == 4 * 2**30
    assert pod["resources"]["limits"] == pod["resources"]["requests"] == {"cpu": "1", "memory": "4Gi"}
    assert {"name": "OMP_NUM_THREADS", "value": "1"} in pod["env"]
    named = {port["name"]: port["containerPort"] for port in head["ports"]}
    service = scheduler["service"]
    assert service["type"] == "ClusterIP"  # not to be reached from outside
    assert service["selector"] == {"dask.org/cluster-name": "folds", "dask.org/component": "scheduler"}
    assert {port["targetPort"]: port["port"] for port in service["ports"]} == named
    assert head["readinessProbe"]["httpGet"]["port"] in named


def test_slurm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = "my table; rm -rf x.csv"
    asked = ["--workers", "16", "--memory", "8G", "--partition", "long", "--", "compare", table, "--label", "y"]
    assert main(["cluster", "slurm", *asked]) == 0
    script = tmp_path / "job.sh"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    subprocess.run(["bash", "-n", str(script)], check=True)
    lines = script.read_text(encoding="utf-8").splitlines()
    options = dict(line.removeprefix("#SBATCH --").split("=") for line in lines if line.startswith("#SBATCH"))
    assert options == {
        "job-name": "spnmkl",
        "ntasks": "17",
        "cpus-per-task": "1",
        "mem-per-cpu": "8G",
        "time": "04:00:00",
        "partition": "long",
    }
    assert lines[-1] == f"spnmkl compare '{table}' --label y --cluster \"$address\""
    # What the nodes would run, each program replaced by one that tells how it was called.
    stand_ins = {
        "srun": 'shift 2; if [ "$2" = scheduler ]; then echo \'{"address": "tcp://10.1.2.3:8786"}\' > "$4"; fi',
        "spnmkl": 'printf "%s\\n" "$@" > called',
    }
    for name, body in stand_ins.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        program.chmod(0o755)
    subprocess.run(
        ["bash", str(script)],
        check=True,
        cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{Path(sys.executable).parent}:/usr/bin:/bin"},
        timeout=60,
    )
    called = (tmp_path / "called").read_text(encoding="utf-8").splitlines()
    assert called == ["compare", table, "--label", "y", "--cluster", "tcp://10.1.2.3:8786"]
    assert not list(tmp_path.glob("spnmkl-dask-*"))  # where the scheduler's address stood


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["kubernetes", "--image", "x", "--name", "A b"], "--name takes lower-case letters"),
        (["kubernetes", "--image", 'x"\nkind: Pod'], "--image takes a container image"),
        (["kubernetes", "--image", "x", "--memory", "8"], "--memory takes a number with Gi"),
        (["slurm", "--time", "4 hours"], "--time takes hours:minutes:seconds"),
        (["slurm", "--partition", "a\nrm"], "--partition takes a name"),
        (["slurm", "--", "fit", "--cluster", "local"], "Leave --cluster out"),
    ],
)
def test_what_cannot_be_written(asked: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", *asked]) == 2
    assert said in capsys.readouterr().err


def test_the_cluster_of_the_app_is_checked_before_it_starts() -> None:
    with pytest.raises(ValueError, match=r"tcp://10.0.0.5:8786, or local"):
        run_app([], cluster="somewhere")
