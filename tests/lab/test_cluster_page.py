"""The commands of the page on clusters, typed as they stand there, and who can reach what they start."""

import contextlib
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.references import ROOT
from tests.test_documented import fenced

PAGE = (ROOT / "book" / "cluster.md").read_text(encoding="utf-8")
BLOCKS = fenced(PAGE, "sh")
STUDY = "depth.normalised_kernel --profile smoke --budget 60s"
WAIT = 120  # seconds for a client on a loaded machine


def block(start):
    """The one block that holds a line which begins so."""
    (found,) = (text for text in BLOCKS if re.search(f"^{re.escape(start)}", text, re.M))
    return found


def test_the_job_for_slurm_demands_certificates():
    """No test submits it; what the other blocks open is looked at below."""
    job = block("#!/bin/bash")
    started = [line for line in job.splitlines() if re.search(r"\bdask (scheduler|worker)\b", line)]
    assert len(started) == 2 and job.index("source tls.sh") < job.index("dask scheduler")
    assert all("--protocol tls" in line and "--dashboard-address 127.0.0.1:0" in line for line in started)


def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


class Terminals:
    """Shells in one folder, whose commands are the page's."""

    def __init__(self, folder):
        self.folder, self.port, self.started = folder, port(), []

    def type(self, text, first=""):
        """Runs a command to its end; a server stays."""
        # one worker, on a port that is free; the rest is what the page says
        text = text.replace("8786", self.port).replace("--nworkers 8", "--nworkers 1")
        text = re.sub(r"\bhost\b(?!\.)(?=:| --)", "127.0.0.1", text.replace("NAME --profile paper", STUDY))
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DASK_", "REGIMES_"))}
        env["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]])
        env["REGIMES_STORE"] = str(self.folder / "cells")
        log = self.folder / f"{len(self.started)}.log"
        with log.open("w") as out:
            shell = ["bash", "-ec", f"{first}\n{text}"]
            job = subprocess.Popen(shell, env=env, cwd=self.folder, stdout=out, stderr=out, start_new_session=True)
        self.started.append(job)
        if "dask" not in text:
            job.wait(WAIT)
        return job, log

    def close(self):
        for job in self.started:
            try:
                os.killpg(job.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            job.wait()


@pytest.fixture
def terminals(tmp_path):
    (tmp_path / "chapters").symlink_to(ROOT / "chapters")  # the client reads the profiles of the book it stands in
    (tmp_path / "results").symlink_to(ROOT / "results")
    (tmp_path / "book").symlink_to(ROOT / "book")
    found = Terminals(tmp_path)
    yield found
    found.close()


def listening(address):
    """Until somebody accepts connections there."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        with socket.socket() as asked:
            if asked.connect_ex(address) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nobody listens at {address}")


def cluster(terminals, text, first=""):
    """Scheduler, worker and client of a block of the page, in this order; what the client says, and its exit code.

    Last, the open sockets of the first two while the client runs.
    """
    scheduler, worker, client = text.strip().splitlines()
    jobs = [terminals.type(scheduler, first)[0]]
    listening(("127.0.0.1", int(terminals.port)))
    jobs.append(terminals.type(worker, first)[0])
    job, log = terminals.type(client, first)
    return job.returncode, log.read_text(), {address for one in jobs for address in sockets(one)}


def sockets(job):
    """Addresses at which a process and its children accept connections."""
    processes = [psutil.Process(job.pid), *psutil.Process(job.pid).children(recursive=True)]
    found = [one for process in processes for one in process.net_connections("inet")]
    return {tuple(one.laddr) for one in found if one.status == psutil.CONN_LISTEN}


def answers(number):
    """Whether a stranger without a certificate who connects to a port of this machine gets a word from it."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    for speaks in (lambda plain: plain, trusting.wrap_socket):
        with socket.create_connection(("127.0.0.1", number), timeout=5) as plain, contextlib.suppress(OSError):
            with speaks(plain) as asked:
                asked.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                if asked.recv(1):
                    return True
    return False


@pytest.mark.weekly
@pytest.mark.xdist_group("cluster")
def test_the_commands_for_one_machine(terminals):
    code, said, found = cluster(terminals, block("dask scheduler --host 127"))
    assert code == 0 and "cells stored" in said, said
    assert len(found) >= 5 and {host for host, _ in found} == {"127.0.0.1"}  # two and their web servers, and the nanny


@pytest.mark.weekly
@pytest.mark.xdist_group("cluster")
@pytest.mark.skipif(not shutil.which("openssl"), reason="makes a certificate")
def test_the_commands_for_several_machines_and_without_a_certificate_nobody_gets_in(terminals):
    job, log = terminals.type(block("umask"))
    assert job.returncode == 0, log.read_text()
    assert (terminals.folder / "key.pem").stat().st_mode & 0o077 == 0
    (terminals.folder / "tls.sh").write_text(block("export DASK"))
    text = block("dask worker tls")
    code, said, found = cluster(terminals, text, "source tls.sh")
    assert code == 0 and "cells stored" in said, said
    assert (scheduler := ("127.0.0.1", int(terminals.port))) in found
    open_to_all = {number for host, number in found if host != "127.0.0.1"}
    assert open_to_all and not any(answers(number) for number in (scheduler[1], *open_to_all))
    assert any(answers(number) for _, number in found), "web servers answer, on the loopback"
    client = text.strip().splitlines()[2]
    for stranger in (client, client.replace("tls://", "tcp://")):  # no certificate; no encryption
        shutil.rmtree(terminals.folder / "cells")
        job, log = terminals.type(stranger)
        assert job.returncode == 2 and log.read_text().count("\n") == 1, log.read_text()
        assert "REGIMES_SCHEDULER" in log.read_text()
