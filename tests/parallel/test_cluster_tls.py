"""A scheduler and a worker that speak TLS alone, started as the documentation says: who may come, and who may not."""

import datetime
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import dask
import numpy as np
import pandas as pd
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from distributed import Client

from spnmkl.cli.commands import main
from spnmkl.cluster import connecting

SETTINGS = "distributed.comm."
SOON = 60.0  # seconds that only a failure takes
Key = ec.EllipticCurvePrivateKey
Capture = pytest.CaptureFixture[str]


def certified(name: str, key: Key, by: str, signing: Key, authority: bool) -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    subject, issuer = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, who)]) for who in (name, by))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False)
        .sign(signing, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def papers(folder: Path) -> dict[str, str]:
    """An authority, a certificate signed by it, and the settings that name both."""
    folder.mkdir()
    authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    key = own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "ca.pem").write_bytes(certified("authority", authority, "authority", authority, authority=True))
    (folder / "own.pem").write_bytes(certified("own", own, "authority", authority, authority=False))
    (folder / "own.key").write_bytes(key)
    named = {f"{SETTINGS}require-encryption": "True", f"{SETTINGS}tls.ca-file": str(folder / "ca.pem")}
    for who in ("scheduler", "worker", "client"):
        files = {"cert": folder / "own.pem", "key": folder / "own.key"}
        named |= {f"{SETTINGS}tls.{who}.{what}": str(file) for what, file in files.items()}
    return named


def variable(setting: str) -> str:
    return f"DASK_{setting.upper().replace('.', '__').replace('-', '_')}"


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return papers(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def address(ours: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("scheduler")
    file = folder / "scheduler.json"

    environment = os.environ | {variable(name): value for name, value in ours.items()}

    def started(*asked: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *asked, "--no-dashboard"]
        return subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.DEVNULL)

    here = ["--host", "127.0.0.1", "--port", "0"]
    scheduler = started("scheduler", "--protocol", "tls", *here, "--scheduler-file", str(file))
    try:
        until = time.monotonic() + SOON
        while not file.exists() or not file.read_text(encoding="utf-8").strip():
            assert scheduler.poll() is None and time.monotonic() < until
            time.sleep(0.1)
        found = json.loads(file.read_text(encoding="utf-8"))["address"]
        worker = started("worker", found, "--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
        try:
            with dask.config.set(ours), Client(found, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=SOON)
            yield found
        finally:
            worker.terminate()
            worker.wait(SOON)
    finally:
        scheduler.terminate()
        scheduler.wait(SOON)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    file = tmp_path_factory.mktemp("table") / "table.csv"
    pd.DataFrame(X, columns=["a", "b"]).assign(y=np.where(X[:, 0] > 0, "yes", "no")).to_csv(file, index=False)
    return file


def compare(table: Path, *cluster: str) -> int:
    asked = ["--structure", "flat", "--methods", "lasso", "--folds", "2"]
    return main(["compare", str(table), "--label", "y", *asked, *cluster])


def moves(address: str) -> int:
    """How often a task has changed its state at the scheduler."""
    with Client(address, set_as_default=False) as client:
        return int(client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter))


def without_times(said: str) -> str:
    return re.sub(r"\d+(\.\d+)? m?s\b", "", said)


def test_a_comparison_is_served_over_tls(address: str, ours: dict[str, str], table: Path, capsys: Capture) -> None:
    assert address.startswith("tls://127.0.0.1:") and compare(table) == 0
    alone = capsys.readouterr()
    with dask.config.set(ours):
        before = moves(address)
        assert compare(table, "--cluster", address) == 0
        assert moves(address) > before
    found = capsys.readouterr()
    assert f"Trainings run on the cluster {address}: 1 worker, 1 training at a time." in found.err
    assert without_times(found.out) == without_times(alone.out) and "lasso" in found.out


def test_who_has_no_certificate_is_refused_in_a_sentence(address: str, table: Path, capsys: Capture) -> None:
    assert compare(table, "--cluster", address) == 2
    names = [variable(f"{SETTINGS}tls.{name}") for name in ("ca-file", "client.cert", "client.key")]
    assert capsys.readouterr() == (
        "",
        f"spnmkl: The cluster {address} wants a certificate, but none is set here; name the files of the authority, "
        f"the certificate and its key in {names[0]}, {names[1]} and {names[2]}.\n",
    )


def test_a_certificate_of_another_authority_is_refused(
    address: str, table: Path, tmp_path: Path, capsys: Capture
) -> None:
    with dask.config.set(papers(tmp_path / "theirs")):
        assert compare(table, "--cluster", address) == 2
    out, said = capsys.readouterr()
    expected = (
        rf"spnmkl: No Dask scheduler answers at {address} within \d+ s \(\w+\); check the address and that it runs: "
        r"dask scheduler --protocol tls, with a certificate of the same authority as that of this client\.\n"
    )
    assert not out and re.fullmatch(expected, said), said


def test_without_encryption_nothing_is_sent(
    address: str, ours: dict[str, str], table: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "ANSWER_SECONDS", 1)
    plain = address.replace("tls", "tcp")
    with dask.config.set(ours):
        assert compare(table, "--cluster", plain) == 2
    assert f"the address {plain} is not encrypted; use one that begins with tls://" in capsys.readouterr().err
    assert compare(table, "--cluster", plain) == 2
    assert f"No Dask scheduler answers at {plain} within 1 s" in capsys.readouterr().err


def test_a_certificate_that_cannot_be_read(ours: dict[str, str], table: Path, capsys: Capture) -> None:
    with dask.config.set(ours | {f"{SETTINGS}tls.client.key": str(table.parent / "nowhere.key")}):
        assert compare(table, "--cluster", "tls://127.0.0.1:9") == 2
    said = capsys.readouterr().err
    assert "The certificates that Dask's settings name cannot be read (FileNotFoundError" in said
    assert said.count("\n") == 1
