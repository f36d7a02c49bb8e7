"""Compiles and runs the ONNX backend suite; prints 'passed / failed / unsupported of 1914' and a table by operator.

    conformance.py [--target T] [--sample N | CASE...] [--json FILE]

passed: every output of every data set is as expected. unsupported: the compiler refuses the model with exit code 2 and says
which node it cannot do. failed: anything else, that is a wrong value, shape or dtype, a crash, a time limit, another error.
Exit code 1 if a case failed. The tool is $GCC_GRAPH, libgart $GART_LIBRARY, or those of build/release.
"""
import argparse
import collections
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
import gart  # noqa: E402
import conformance_cases as suite  # noqa: E402

TOOL = os.environ.get("GCC_GRAPH") or os.path.join(ROOT, "build", "release", "bin", "gcc-graph")
SECONDS = {"light": 300}  # time limit of a case by kind
DEFAULT_SECONDS = 60


class Target:
    """How a case is compiled, and how its artifact is run."""

    def __init__(self, name):
        self.name = name

    def compile(self, model, artifact, seconds):
        """The finished compiler process."""
        return subprocess.run([TOOL, "compile", model, "-o", artifact, "--target", self.name, "--threads", "1"],
                              capture_output=True, text=True, timeout=seconds, check=False)

    def run(self, artifact, feeds):
        """Outputs in the model's order."""
        model = gart.load(artifact, threads=1, target=self.name)
        model.set_inputs({name: array for name, array in feeds.items() if name in model.inputs})
        model.run_bound()
        return [model.output(i) for i in range(len(model.outputs))]


def host_target(model):
    """The best CPU target of this machine: what a program compiled for all CPU targets chooses here."""
    with tempfile.TemporaryDirectory() as folder:
        artifact = os.path.join(folder, "host.gart")
        subprocess.run([TOOL, "compile", model, "-o", artifact], check=True, capture_output=True)
        return gart.load(artifact).target


def check_outputs(case, target, artifact):
    """None, or what is wrong with the first output that is not as expected."""
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
    """What `function` returns or raises, as text, in a process of its own; a crash or a time limit is text, too."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            sender.send(function())
        except BaseException as error:  # the message is all that the parent gets to see
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
    seconds = SECONDS.get(case.kind, DEFAULT_SECONDS)
    artifact = os.path.join(folder, f"{os.getpid()}.gart")
    try:
        compiler = target.compile(case.model, artifact, seconds)
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


def run_all(cases, target, jobs, progress):
    folder = tempfile.mkdtemp(prefix="conformance")
    rows = []
    try:
        with multiprocessing.Pool(jobs) as pool:
            for row in pool.imap(work, [(case, target, folder) for case in cases], chunksize=4):
                rows.append(row)
                if progress:
                    print(f"\r{len(rows)} of {len(cases)}", end="", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder)
    if progress:
        print("\r\033[K", end="", file=sys.stderr)
    return rows


def sample(cases, count):
    """`count` cases spread over the operators: each operator's first case before any operator's second."""
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
    print(f"target {target}, onnx {suite.onnx.__version__}, tolerance raised for {raised} of the cases")
    print("{} passed / {} failed / {} unsupported of {}".format(*counts_of(rows), len(rows)))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="run these only, by name")
    parser.add_argument("--target", help="what to compile for; default: the best CPU target of this machine")
    parser.add_argument("--sample", type=int, metavar="N", help="run N cases spread over the operators")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="processes")
    parser.add_argument("--json", metavar="FILE", help="write one row per case there")
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
    target = Target(arguments.target or host_target(cases[0].model))
    rows = run_all(chosen(cases, arguments), target, arguments.jobs, sys.stderr.isatty())
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    report(rows, target.name)
    return 1 if any(row["status"] == "failed" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
