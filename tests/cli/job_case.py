"""Shared by the tests of jobs: MPI processes on this machine, with mpirun."""
import os
import shutil
import signal
import subprocess
import sys
import time

from cli_case import TOOL, CliCase

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(TOOL)), "lib", "libgart_mpi.so.0")
# Allows root to start jobs. Makes waiting ranks yield their core, because ranks may share a core.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_hwloc_base_binding_policy": "none"}


def skip_without_mpi():
    if not shutil.which("mpirun") or not os.path.exists(LIBRARY):
        print("SKIP: Open MPI is not installed (tools/test.sh installs it), or it was not there when libgart_mpi was built")
        sys.exit(77)
    started = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", "true"], env=ENVIRONMENT, capture_output=True, text=True)
    if started.returncode != 0:
        print(f"SKIP: mpirun cannot start processes here: {(started.stderr + started.stdout).strip()[:500]}")
        sys.exit(77)


def processes_of(path):
    """{rank: process id} of the running processes whose command line names `path`, without mpirun."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if path.encode() not in words or os.path.basename(words[0]) != b"gcc-graph":
                continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
        except OSError:
            continue
        found[int(variables.get(b"OMPI_COMM_WORLD_RANK", -1))] = int(pid)
    return found


class JobCase(CliCase):
    def job(self, ranks, *arguments, more=()):
        return ["mpirun", "--oversubscribe", *more, "-n", str(ranks), TOOL, *arguments]

    def run_job(self, ranks, *arguments, more=()):
        return subprocess.run(self.job(ranks, *arguments, more=more), cwd=self.folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)

    def accepted_job(self, ranks, *arguments, more=()):
        done = self.run_job(ranks, *arguments, more=more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def start_job(self, ranks, path, *arguments, seconds):
        """A job whose command line names `path`, after it has run for a while."""
        job = subprocess.Popen(self.job(ranks, *arguments), cwd=self.folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True)
        until = time.monotonic() + 60
        while len(processes_of(path)) < ranks and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(seconds)
        return job

    def end_after(self, job, path, rank, kind, seconds):
        """Sends the signal to a rank. Checks that the job fails within `seconds` and leaves no process. Returns its output."""
        os.kill(processes_of(path)[rank], kind)
        began = time.monotonic()
        output = job.communicate(timeout=30)[0]
        took = time.monotonic() - began
        print(f"{signal.Signals(kind).name} of rank {rank}: the job ended after {took:.2f} s")
        self.assertLess(took, seconds, output)
        self.assertNotEqual(job.returncode, 0)
        self.assertEqual(processes_of(path), {})
        return output
