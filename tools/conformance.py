"""Compiles and runs the ONNX backend suite; prints 'passed / failed / unsupported of 1914' and a table by operator.

    conformance.py [--target T] [--simulate] [--sample N | CASE...] [--json FILE]

passed: every output of every data set is as expected.
unsupported: the compiler refuses the model with exit code 2 and names the node.
failed: anything else, such as a wrong value, shape or dtype, a crash, a time limit, another error.

With a GPU's target (sm_80, ptx) every case runs on the CPU, too, and cases that pass only there are listed. Without a
GPU, or with --simulate, the GPU is the simulated one (tests/cuda/sim), which must have been built (ninja cuda_sim). It
watches every load and store, except those of the nine whole networks. Exit code 1 if a case failed or passed only on
the CPU. The tool is $GCC_GRAPH, libgart $GART_LIBRARY, or those of build/release.
"""
import argparse
import collections
import ctypes
import json
import multiprocessing
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
import numpy as np  # noqa: E402

import gart  # noqa: E402
import conformance_cases as suite  # noqa: E402

TOOL = os.environ.get("GCC_GRAPH") or os.path.join(ROOT, "build", "release", "bin", "gcc-graph")
SECONDS = {"light": 300}  # time limit of a case by kind
DEFAULT_SECONDS = 60
SIMULATION_SLOWNESS = 12  # factor of the time limits in the simulation
RUN_SIM = os.path.join(ROOT, "tests", "cuda", "sim", "run_sim.sh")


class Target:
    """The way to compile a case, and to run its artifact."""

    def __init__(self, name):
        self.name = name
        self.is_gpu = name == "ptx" or name.startswith("sm_")
        self.is_simulated = self.is_gpu and is_simulation()

    def __str__(self):
        return f"{self.name} on a simulated GPU" if self.is_simulated else self.name

    def seconds(self, case):
        return SECONDS.get(case.kind, DEFAULT_SECONDS) * (SIMULATION_SLOWNESS if self.is_simulated else 1)

    def compile(self, case, artifact, seconds):
        """Runs the compiler and returns the finished process."""
        command = [TOOL, "compile", case.model, "-o", artifact, "--target", self.name, "--threads", "1"]
        for name, length in case.lengths().items():
            command += ["--dim", f"{name}={length}"]
        environment = dict(os.environ)
        if self.is_simulated and case.kind == "light":  # whole networks: too many loads and stores to watch each
            environment.update(GART_SIM_WATCH="0", XDG_CACHE_HOME=os.environ["XDG_CACHE_HOME"] + "-unwatched")
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, env=environment)

    def run(self, artifact, feeds):
        """Outputs in the model's order."""
        model = gart.load(artifact, threads=1, target=self.name)
        model.set_inputs({name: array for name, array in feeds.items() if name in model.inputs})
        model.run_bound()
        outputs = []
        for i, name in enumerate(model.outputs):
            if name.endswith(".shapes") and list(model.outputs)[i - 1] == name[:-len("shapes")] + "numbers":
                outputs += elements(outputs.pop(), model.output(i))
            else:
                outputs.append(model.output(i))
        return outputs


def elements(numbers, shapes):
    """Splits a sequence into its elements. The model returns a sequence as one array of all numbers and the elements' shapes."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(numbers, ends[:-1]), shapes)]


def is_simulation():
    return "GART_SIM_SM" in os.environ


def has_gpu():
    """True if there is a driver with a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def enter_simulation(target):
    """Runs this program again with a simulated GPU that matches `target`."""
    build = os.path.dirname(os.path.dirname(TOOL))
    sm = "80" if target == "ptx" else "".join(c for c in target if c.isdigit())
    sys.stdout.flush()
    os.execv(RUN_SIM, [RUN_SIM, "--build", build, "--sm", sm, "--", sys.executable, *sys.argv])


def host_target(model):
    """The best CPU target of this machine, which a program compiled for all CPU targets chooses."""
    targets = "x86-64-v3,x86-64-v4" if platform.machine() == "x86_64" else platform.machine()
    with tempfile.TemporaryDirectory() as folder:
        artifact = os.path.join(folder, "host.gart")
        subprocess.run([TOOL, "compile", model, "-o", artifact, "--target", targets], check=True, capture_output=True)
        return gart.load(artifact).target


def check_outputs(case, target, artifact):
    """Describes the first output that is not as expected; None if all are."""
    for feeds, expected in case.data_sets():
        outputs = target.run(artifact, feeds)
        if len(outputs) != len(expected):
            return f"{len(outputs)} outputs, expected {len(expected)}"
        for i, (got, want) in enumerate(zip(outputs, expected)):
            wrong = suite.difference(got, want, case.rtol, case.atol)
            if wrong:
                return f"output {i}: {wrong}"
    return None


def in_child(function, seconds):
    """Runs `function` in a process of its own. Returns its result, or its error as text. Crashes and time limits are errors, too.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            sender.send(function())
        except BaseException as error:  # the parent receives only the message
            sender.send(f"{type(error).__name__}: {error}" or traceback.format_exc())
        sys.stdout.flush()
        os._exit(0)
    sender.close()
    try:
        if not receiver.poll(seconds):
            os.kill(child, signal.SIGKILL)
            return f"no result within {seconds} s"
        return receiver.recv()
    except EOFError:
        return "the run crashed"
    finally:
        receiver.close()
        os.waitpid(child, 0)


def judge(case, target, folder):
    """("passed" | "failed" | "unsupported", reason)"""
    seconds = target.seconds(case)
    artifact = os.path.join(folder, f"{os.getpid()}.gart")
    try:
        compiler = target.compile(case, artifact, seconds)
    except subprocess.TimeoutExpired:
        return "failed", f"not compiled within {seconds} s"
    message = compiler.stderr.strip()
    if compiler.returncode == 2 and message:
        return "unsupported", message
    if compiler.returncode != 0:
        return "failed", f"compiler, exit code {compiler.returncode}: {message}"
    wrong = in_child(lambda: check_outputs(case, target, artifact), seconds)
    os.remove(artifact)
    return ("failed", wrong) if wrong else ("passed", "")


def work(task):
    case, target, folder = task
    begin = time.monotonic()
    status, reason = judge(case, target, folder)
    return {"kind": case.kind, "name": case.name, "op": suite.op_of(case), "status": status, "reason": reason,
            "seconds": round(time.monotonic() - begin, 3)}


def run_all(cases, target, jobs):
    """One row per case, in the order of `cases`. The longest ones start first."""
    folder = tempfile.mkdtemp(prefix="conformance")
    order = sorted(range(len(cases)), key=lambda i: cases[i].kind != "light")
    rows = [None] * len(cases)
    progress = Progress(len(cases), target)
    try:
        with multiprocessing.Pool(jobs) as pool:
            for i, row in zip(order, pool.imap(work, [(cases[i], target, folder) for i in order])):
                rows[i] = row
                progress.step(row)
    finally:
        shutil.rmtree(folder)
        progress.clear()
    return rows


class Progress:
    """Prints how many cases are done: on one line of a terminal, else a line for every 200 cases and for every failure.
    """

    def __init__(self, count, target):
        self.done, self.count, self.target = 0, count, target
        self.is_terminal = sys.stderr.isatty()

    def step(self, row):
        self.done += 1
        if self.is_terminal:
            print(f"\r{self.target}: {self.done} of {self.count}", end="", file=sys.stderr, flush=True)
            return
        if row["status"] == "failed":
            print(f"{self.target}: {row['kind']}/{row['name']} failed: {row['reason']}", file=sys.stderr, flush=True)
        if self.done % 200 == 0:
            print(f"{self.target}: {self.done} of {self.count}", file=sys.stderr, flush=True)

    def clear(self):
        if self.is_terminal:
            print("\r\033[K", end="", file=sys.stderr)


def sample(cases, count):
    """`count` cases, spread over the operators: the first case of every operator comes before the second case of any operator."""
    seen = collections.Counter()
    ranked = []
    for i, case in enumerate(c for c in cases if c.kind != "light"):
        op = suite.op_of(case)
        ranked.append((seen[op], i, case))
        seen[op] += 1
    ranked.sort(key=lambda r: r[:2])
    firsts = [r for r in ranked if r[0] == 0]
    if count < len(firsts):
        ranked = [firsts[i * len(firsts) // count] for i in range(count)]
    return [case for _, _, case in ranked[:count]]


def counts_of(rows):
    counts = collections.Counter(row["status"] for row in rows)
    return counts["passed"], counts["failed"], counts["unsupported"]


def report(rows, target):
    print(f"{'operator':32} {'passed':>7} {'failed':>7} {'unsupported':>12}")
    by_op = collections.defaultdict(list)
    for row in rows:
        by_op[row["op"]].append(row)
    for op in sorted(by_op, key=str.lower):
        print("{:32} {:7} {:7} {:12}".format(op, *counts_of(by_op[op])))
    for row in rows:
        if row["status"] == "failed":
            print(f"FAILED {row['kind']}/{row['name']}: {row['reason']}")
    raised = len(suite.RAISED_ATOL.keys() & {row["name"] for row in rows})
    print(f"{target}, onnx {suite.onnx.__version__}, tolerance raised for {raised} of the cases")
    print("{} passed / {} failed / {} unsupported of {}".format(*counts_of(rows), len(rows)))


def report_missing(rows, cpu_rows, cpu):
    """Prints the cases that pass on the CPU only; returns their number."""
    missing = [row for row, other in zip(rows, cpu_rows) if other["status"] == "passed" and row["status"] != "passed"]
    for row in missing:
        print(f"PASSED ON THE CPU ALONE {row['kind']}/{row['name']}: {row['status']}: {row['reason']}")
    print("{}: {} passed / {} failed / {} unsupported of {}".format(cpu, *counts_of(cpu_rows), len(cpu_rows)), end="; ")
    print(f"{len(missing)} of those that pass there do not pass on the GPU")
    return len(missing)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names of the cases to run; default: all")
    parser.add_argument("--target", help="target to compile for; default: the best CPU target of this machine")
    parser.add_argument("--simulate", action="store_true", help="with a GPU's target: simulate the GPU even if there is one")
    parser.add_argument("--sample", type=int, metavar="N", help="run N cases spread over the operators")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="number of processes")
    parser.add_argument("--json", metavar="FILE", help="file that gets one row per case")
    return parser.parse_args()


def chosen(cases, arguments):
    if arguments.cases:
        unknown = set(arguments.cases) - {case.name for case in cases}
        if unknown:
            sys.exit(f"conformance: there is no case '{min(unknown)}'")
        return [case for case in cases if case.name in arguments.cases]
    return sample(cases, arguments.sample) if arguments.sample else cases


def main():
    arguments = parse_arguments()
    cases = suite.all_cases()
    if len(cases) != suite.TOTAL:
        print(f"SKIP: onnx {suite.onnx.__version__} holds {len(cases)} cases; onnx=={suite.VERSION} has {suite.TOTAL}")
        return 77
    cpu = Target(host_target(cases[0].model))
    target = Target(arguments.target) if arguments.target else cpu
    if target.is_gpu and not is_simulation() and (arguments.simulate or not has_gpu()):
        print("the GPU is simulated" if arguments.simulate else "there is no GPU: it is simulated")
        enter_simulation(target.name)
    cases = chosen(cases, arguments)
    cpu_rows = run_all(cases, cpu, arguments.jobs) if target.is_gpu else None
    rows = run_all(cases, target, arguments.jobs)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    report(rows, target)
    missing = report_missing(rows, cpu_rows, cpu) if cpu_rows else 0
    return 1 if missing or any(row["status"] == "failed" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
