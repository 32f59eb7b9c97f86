"""A Dask scheduler that takes the trainings: one that runs, by its address, or one of this machine, started for it."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from joblib import parallel_config

from spnmkl.errors import ParameterError, SPNMKLError
from spnmkl.parallel.task import NEEDED, differing, versions
from spnmkl.threads import default_threads
from spnmkl.wording import counted

if TYPE_CHECKING:
    from distributed import Client, LocalCluster
    from distributed.security import Security

VARIABLE = "SPNMKL_CLUSTER"
ANSWER_SECONDS = 5
RETURN_SECONDS = 300  # in which a worker that ended must be back; else Dask starts it no more, by default after 15
_RETURN = "distributed.deploy.lost-worker-timeout"
_LOCAL = re.compile(r"local(?::([1-9][0-9]{0,3}))?")
_ADDRESS = re.compile(r"(tcp|tls|ws|wss|ucx)://\S+")
_ENCRYPTED = ("tls://", "wss://")
_SETTINGS = (
    "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT and "
    "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY"
)
_START = (
    "dask scheduler",
    "dask scheduler --protocol tls, with a certificate of the same authority as that of this client",
)
_IMPORTED = {"scikit-learn": "sklearn"}  # what versions of Dask that look at modules call it


@dataclass(frozen=True)
class Cluster:
    """A scheduler that answered.

    Attributes
    ----------
    address : str
        Where it is.
    workers, threads : int
        How many worker processes it had then, and trainings that they can run at a time.
    """

    address: str
    workers: int
    threads: int

    @property
    def sentence(self) -> str:
        """Where trainings run, in words."""
        at_once = counted(self.threads, "training")
        return f"Trainings run on the cluster {self.address}: {counted(self.workers, 'worker')}, {at_once} at a time."


def asked_cluster() -> str | None:
    """What whoever started this process set in its environment; None where nothing was."""
    return os.environ.get(VARIABLE) or None


@contextmanager
def on_cluster(asked: str | None) -> Iterator[Cluster | None]:
    """Send many trainings, such as those of folds, to a Dask scheduler as long as this lasts.

    Parameters
    ----------
    asked : str or None
        Its address, such as ``tcp://10.0.0.5:8786``; ``local`` or ``local:4`` starts worker processes on this machine,
        as many as it has cores, or 4; None: nothing is sent anywhere.

    Yields
    ------
    Cluster or None
        What answered.

    Raises
    ------
    ParameterError
        It is no address.
    SPNMKLError
        Dask is not installed, nothing answers, or versions differ.

    Examples
    --------
    >>> from spnmkl.cluster import on_cluster
    >>> with on_cluster(None) as cluster:
    ...     print(cluster)
    None
    """
    if asked is None:
        yield None
        return
    check_asked(asked)
    with ExitStack() as stack:
        address = stack.enter_context(local_cluster(asked)) if _LOCAL.fullmatch(asked) else asked
        client = stack.enter_context(_connected(address))
        found = _looked_at(client, address)
        stack.enter_context(parallel_config("dask", client=client))
        yield found


def check_asked(asked: str) -> None:
    """Refuse what is no address, and any where Dask is missing."""
    if not _LOCAL.fullmatch(asked) and not _ADDRESS.fullmatch(asked):
        raise ParameterError(
            f"A cluster is an address such as tcp://10.0.0.5:8786, or local, or local:4, but found {asked!r}."
        )
    if importlib.util.find_spec("distributed") is None:
        raise SPNMKLError("A cluster needs Dask, which is not installed; run: pip install 'spnmkl[cluster]'.")


@contextmanager
def local_cluster(asked: str) -> Iterator[str]:
    """Worker processes of this machine, of one thread each; the address of their scheduler, which listens here only."""
    from distributed import LocalCluster

    number = _LOCAL.fullmatch(asked)
    assert number is not None
    workers = int(number[1] or default_threads())
    with started(LocalCluster, workers) as cluster:
        yield cluster.scheduler_address


@contextmanager
def started(kind: type[LocalCluster], workers: int) -> Iterator[LocalCluster]:
    import dask
    from dask.utils import parse_timedelta

    # Dask looks it up when a worker is lost.
    seconds = max(RETURN_SECONDS, parse_timedelta(dask.config.get(_RETURN)))
    with (
        dask.config.set({_RETURN: seconds}),
        kind(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.ERROR,
        ) as cluster,
    ):
        yield cluster


def _connected(address: str) -> Client:
    from distributed import Client

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of versions that differ, which are looked at below
        try:
            return Client(address, security=_security(address), timeout=ANSWER_SECONDS, set_as_default=False)
        except SPNMKLError:
            raise
        except Exception as error:  # whatever speaks there, or does not
            raise SPNMKLError(
                f"No Dask scheduler answers at {address} within {ANSWER_SECONDS} s ({type(error).__name__}); check the "
                f"address and that it runs: {_START[address.startswith(_ENCRYPTED)]}."
            ) from None


def _security(address: str) -> Security:
    """The certificates that Dask's settings name; refused where the address needs others than there are."""
    from distributed.security import Security

    try:
        found = Security()
        encrypted = found.get_connection_args("client").get("ssl_context") is not None
    except OSError as error:  # a file that is not there, or holds no certificate
        raise SPNMKLError(
            f"The certificates that Dask's settings name cannot be read ({type(error).__name__}: {error}); check "
            f"{_SETTINGS}."
        ) from None
    if address.startswith(_ENCRYPTED) and not encrypted:
        raise SPNMKLError(
            f"The cluster {address} wants a certificate, but none is set here; name the files of the authority, the "
            f"certificate and its key in {_SETTINGS}."
        )
    if found.require_encryption and not address.startswith(_ENCRYPTED):
        raise SPNMKLError(
            f"Dask's settings here require encryption, but the address {address} is not encrypted; use one that begins "
            f"with tls://."
        )
    return found


def _looked_at(client: Client, address: str) -> Cluster:
    """What the workers are; those with other versions are refused, as each task does of those that come later."""
    threads = client.nthreads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Any = client.get_versions(packages=["spnmkl", *NEEDED, *_IMPORTED.values()])
    for worker, has in found["workers"].items():
        if wrong := differing(f"Worker {worker}", _named(has["packages"]), versions()):
            raise SPNMKLError(wrong)
    return Cluster(address, len(threads), sum(threads.values()))


def _named(packages: dict[str, Any]) -> dict[str, str | None]:
    python = ".".join(str(packages.get("python")).split(".")[:2])
    others = {name: packages.get(name) or packages.get(_IMPORTED.get(name, name)) for name in ("spnmkl", *NEEDED)}
    return {"Python": python} | others
