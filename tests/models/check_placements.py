#!/usr/bin/env python3
"""On pools of one target, the outputs must have the same bytes wherever groups are placed.

  check_placements.py [NAME...] [--placements N] [--first SEED]

Small models are cut for three pools of CPU cores. One pool denies operators, so that each group can run on two or three
pools. N random placements, spread over the models, run with one to three threads per pool. Groups run where they are
placed, or dynamically where they would end first, with one request or several at once. Their outputs must have the same
bits as with the file's placement, at both sizes of the inputs. NAME: patterns of models.
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from check_fleet import DENIED
from model_check import compile_model, tool
import small_models

REQUESTS = 3


def fleet(folder):
    cores = sorted(os.sched_getaffinity(0))
    pools = [{"name": name, "kind": "cpu", "cores": [cores[i % len(cores)]]} for i, name in enumerate(("acc", "near", "far"))]
    pools[0]["denies"] = DENIED
    path = os.path.join(folder, "fleet.json")
    with open(path, "w") as f:
        json.dump({"devices": pools}, f)
    return path


def groups_of(artifact):
    """{group: devices that run it}"""
    report = subprocess.run([tool(), "inspect", artifact, "--json"], capture_output=True, text=True, check=True).stdout
    return {g["name"]: g["support"] for g in json.loads(report)["groups"]}


class Case:
    def __init__(self, folder, name):
        import gart.fleet
        make, sizes = small_models.MODELS[name]
        path = os.path.join(folder, name + ".onnx")
        onnx.save(make(), path)
        self.name = name
        self.artifact = compile_model(path, path[:-4] + "gart", "--fleet", fleet(folder), "--cut", "support,chains", "--target", "x86-64-v3")
        self.groups = groups_of(self.artifact)
        self.feeds = [small_models.make_feeds(onnx.load(path), size) for size in sizes]
        model = gart.fleet.load(self.artifact, threads=1)
        self.expected = [{k: v.tobytes() for k, v in model.run(feeds).items()} for feeds in self.feeds]
        self.seen = set()

    def check(self, random):
        """Returns a description of the difference; empty if there is none."""
        import gart.fleet
        placement = {group: str(random.choice(support)) for group, support in self.groups.items()}
        threads, dynamic, together = int(random.integers(1, 4)), bool(random.integers(4) == 0), bool(random.integers(2))
        self.seen.add((tuple(placement.values()), threads, dynamic, together))
        model = gart.fleet.load(self.artifact, placement={} if dynamic else placement, threads=threads, dynamic=dynamic)
        order = random.permutation(np.arange(REQUESTS if together else len(self.feeds)) % len(self.feeds))
        if together:
            under_way = [(i, model.submit(self.feeds[i])) for i in order]
            results = [(i, request.result()) for i, request in under_way]
        else:
            results = [(i, model.run(self.feeds[i])) for i in order]
        wrong = {name for i, outputs in results for name, value in outputs.items() if value.tobytes() != self.expected[i][name]}
        how = f"{'dynamic' if dynamic else placement}, {threads} threads, {'together' if together else 'alone'}"
        return f"{self.name}: other bits in {', '.join(sorted(wrong))}: {how}" if wrong else ""


def main():
    options = argparse.ArgumentParser()
    options.add_argument("names", nargs="*", default=["*"])
    options.add_argument("--placements", type=int, default=1000)
    options.add_argument("--first", type=int, default=0)
    asked = options.parse_args()
    failures = []
    with tempfile.TemporaryDirectory(prefix="gcc-graph-placements-") as folder:
        cases = [Case(folder, name) for name in small_models.MODELS if any(fnmatch.fnmatch(name, p) for p in asked.names)]
        for n in range(asked.placements):
            wrong = cases[n % len(cases)].check(np.random.default_rng(asked.first + n))
            if wrong:
                failures.append(wrong)
                print(wrong, flush=True)
        for case in cases:
            print(f"{case.name}: {len(case.groups)} groups, {len(case.seen)} ways, of them {len({s[0] for s in case.seen})} placements")
    print(f"{asked.placements} random placements: {len(failures)} with other bits")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
