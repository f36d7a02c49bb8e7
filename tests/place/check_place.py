#!/usr/bin/env python3
"""Compares placement with independent solvers: OR-tools' CP-SAT (proven optima) and SAGA's schedulers.

  check_place.py [--short] [--small N] [--memory N] [--medium N] [--first SEED] [--pisa STEPS] [--seconds S] [--environments FOLDER]

small: problems of 4 to 14 groups on 2 to 4 unequal devices, half of them with limited memory. The time must be on
average at most 1 % above the proven optimum, and never more than 5 %. memory: placement must succeed with the least
memory that CP-SAT proves to be enough, and with 5 % and 10 % more. medium: 50 to 300 groups in SAGA's model. Placement
must never be worse than the best of SAGA's schedulers, on our simulator and in SAGA's own model. pisa: problems that
are changed step by step, to make placement as bad as possible compared with the optimum. Problems that CP-SAT does not
solve within --seconds are counted but not compared. --first is the first problem's seed, to divide a run. --short never
installs anything and is skipped without OR-tools. $PLACE_DRIVER: the built place_driver."""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ORTOOLS, SAGA = "ortools==9.15.6755", "anrg-saga==2.0.2"
SKIPPED = 77


def environment(folder, name, package, install):
    """The Python of an environment with the package, or None."""
    python = os.path.join(folder, name, "bin", "python")
    if os.path.exists(python) and subprocess.run([python, "-c", f"import {package[1]}"], capture_output=True).returncode == 0:
        return python
    if not install:
        return None
    subprocess.run([sys.executable, "-m", "venv", os.path.join(folder, name)], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", package[0]], check=True)
    return python


class Lines:
    """A program that answers each input line with an output line, both JSON."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


class Ratios:
    def __init__(self, name, most_mean, most):
        self.name, self.all, self.most_mean, self.most, self.open = name, [], most_mean, most, 0

    def add(self, ratio):
        self.all.append(ratio)

    def report(self):
        if not self.all:
            print(f"{self.name}: none proven, {self.open} open")
            return True
        mean = math.exp(sum(map(math.log, self.all)) / len(self.all))
        optimal = sum(r < 1 + 1e-9 for r in self.all)
        print(f"{self.name}: {len(self.all)} problems, geometric mean {mean:.4f}, worst {max(self.all):.4f}, {optimal} equal"
              + (f", {self.open} not proven in time" if self.open else ""), flush=True)
        return mean <= self.most_mean and max(self.all) <= self.most


def check_small(place, exact, instances, seeds, most_groups, seconds):
    ratios = Ratios("small, above the proven optimum", 1.01, 1.05)
    for seed in seeds:
        rng = random.Random(seed)
        limited = seed % 2 == 1
        problem = instances.problem(rng, rng.randint(4, min(most_groups, 10) if limited else most_groups), rng.randint(2, 4), memory=limited)
        if limited:
            instances.limit_memory(rng, problem)
        found = place.ask({"do": "place", "problem": problem})
        if "us" not in found:
            possible = exact.is_possible(problem, seconds)
            ratios.open += possible is None
            if possible:
                print(f"seed {seed}: {found['misfit']}, but CP-SAT found a placement")
                ratios.add(math.inf)
            continue
        best, status, _ = exact.least_time(problem, round(found["us"]), seconds)
        if status != "OPTIMAL":
            ratios.open += 1
            continue
        ratios.add(found["us"] / best)
        if found["us"] > 1.01 * best:
            print(f"seed {seed}: {found['us']} us by {found['by']}, {best} are possible")
        if (seed + 1) % 50 == 0 and seed != seeds[-1]:
            print(f"to seed {seed}: ", end="")
            ratios.report()
    return ratios.report()


def check_memory(place, exact, instances, seeds, most_groups, seconds):
    found, proven, good = {100: 0, 105: 0, 110: 0}, 0, True
    for seed in seeds:
        rng = random.Random(seed)
        problem = instances.problem(rng, rng.randint(4, most_groups), rng.randint(2, 3), memory=True)
        shares = [rng.choice([1, 1, 2, 3]) for _ in problem["devices"]]
        least = exact.least_memory(problem, shares, seconds)
        if least is None:
            continue
        proven += 1
        for percent in found:
            for device, share in zip(problem["devices"], shares):
                device["memory"] = least * share * percent // 100
            answer = place.ask({"do": "place", "problem": problem})
            found[percent] += "us" in answer
            if "us" not in answer:
                print(f"memory, seed {seed} at {percent} % of the least: {answer['misfit']}")
                good = False
    print(f"memory: of {proven} problems found at 100 % of the least {found[100]}, at 105 % {found[105]}, at 110 % {found[110]}; "
          f"{len(seeds) - proven} not proven in time", flush=True)
    return good


def related(rng):
    """An instance of SAGA's model, and the same instance as one of our problems."""
    groups, devices = rng.randint(50, 300), rng.randint(2, 6)
    costs = [rng.randint(10, 200) for _ in range(groups)]
    speeds = [rng.choice([1, 1, 2, 4, 8]) for _ in range(devices)]
    near = rng.choice([5, 20, 100])
    edges = sorted({(a, min(groups - 1, a + rng.randint(1, near))) for a in range(groups - 1) for _ in range(rng.randint(1, 3))})
    heavy = rng.choice([5, 50, 300])
    edges = [(a, b, rng.randint(1, heavy)) for a, b in edges if a != b]
    bandwidth = [[0] * devices for _ in range(devices)]
    for a in range(devices):
        for b in range(a):
            bandwidth[a][b] = bandwidth[b][a] = rng.choice([1, 2, 4])
    instance = {"costs": costs, "speeds": speeds, "edges": edges, "bandwidth": bandwidth}
    problem = {"devices": [{"name": f"d{k}"} for k in range(devices)], "links": [[bandwidth[a][b], 0] for a in range(devices) for b in range(devices)],
               "groups": [{"name": f"g{i:04}", "us": [c / s for s in speeds]} for i, c in enumerate(costs)],
               "values": [{"bytes": s, "producer": a, "readers": [b]} for a, b, s in edges]}
    return instance, problem


def check_medium(place, saga, seeds):
    queued, free = Ratios("medium, to SAGA's best on our simulator", 1, 1 + 1e-9), Ratios("medium, to SAGA's best in its own model", 1, 1 + 1e-9)
    seconds, theirs = 0, 0
    for seed in seeds:
        instance, problem = related(random.Random(seed))
        begin = time.time()
        others = saga.ask(instance)
        theirs += time.time() - begin
        for ratios, problem["links_queue"] in ((queued, True), (free, False)):
            found = place.ask({"do": "place", "problem": problem})
            seconds += found["seconds"] / 2
            best = math.inf
            for name, other in others.items():
                if ratios is queued:
                    order = sorted(range(len(other["device"])), key=lambda g: (other["begin"][g], g))
                    us = place.ask({"do": "simulate", "problem": problem, "placement": {"device": other["device"], "order": order}})["us"]
                else:
                    us = other["makespan"]
                best = min(best, us)
            for d in range(len(problem["devices"])):  # all on one device
                best = min(best, sum(g["us"][d] for g in problem["groups"]))
            ratios.add(found["us"] / best)
            if found["us"] > best * (1 + 1e-9):
                print(f"medium, seed {seed}: {found['us']} us, {best} are SAGA's")
    print(f"medium: {seconds:.1f} s, SAGA's schedulers together {theirs:.1f} s")
    return all([queued.report(), free.report()])


def check_pisa(place, exact, instances, steps, seconds):
    """Changes problems step by step; keeps a change if the ratio grows, or by chance."""
    rng = random.Random(7)
    problem = instances.problem(rng, 7, 3)
    ratio = worst = 1.0
    for step in range(steps):
        changed = json.loads(json.dumps(problem))
        instances.change(rng, changed)
        found = place.ask({"do": "place", "problem": changed})
        best, status, _ = exact.least_time(changed, round(found["us"]), seconds)
        if status != "OPTIMAL":
            continue
        now = found["us"] / best
        worst = max(worst, now)
        if now >= ratio or rng.random() < math.exp(-(ratio - now) / (0.05 * (1 - step / steps) + 1e-6)):
            problem, ratio = changed, now
    print(f"pisa: after {steps} steps the worst ratio to the proven optimum is {worst:.4f}", flush=True)
    return worst <= 1.05


def main():
    parser = argparse.ArgumentParser()
    for name, count in (("small", 500), ("memory", 100), ("medium", 100), ("pisa", 0)):
        parser.add_argument("--" + name, type=int, default=count)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--groups", type=int, default=14)
    parser.add_argument("--environments", default=os.path.join(os.path.dirname(os.environ.get("VIRTUAL_ENV", HERE)), "place-environments"))
    a = parser.parse_args()
    python = environment(a.environments, "ortools", (ORTOOLS, "ortools"), not a.short)
    if python is None:
        print("SKIP: there is no OR-tools; the target check_place installs it")
        return SKIPPED
    if os.path.realpath(sys.prefix) != os.path.realpath(os.path.join(a.environments, "ortools")):
        os.execv(python, [python, *sys.argv])
    sys.path.insert(0, HERE)
    import exact
    import instances
    place = Lines(os.environ["PLACE_DRIVER"])
    if a.short:
        good = [check_small(place, exact, instances, range(40), 8, 10), check_memory(place, exact, instances, range(10), 6, 10)]
        return 0 if all(good) else 1
    seeds = lambda count: range(a.first, a.first + count)
    good = [check_small(place, exact, instances, seeds(a.small), a.groups, a.seconds) if a.small else True,
            check_memory(place, exact, instances, seeds(a.memory), 7, a.seconds) if a.memory else True]
    if a.medium:
        saga = environment(a.environments, "saga", (SAGA, "saga"), True)
        good.append(check_medium(place, Lines(saga, os.path.join(HERE, "saga_schedules.py")), seeds(a.medium)))
    if a.pisa:
        good.append(check_pisa(place, exact, instances, a.pisa, a.seconds))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
