#!/usr/bin/env python3
"""Compares schedules that compute values again with optima that OR-tools' CP-SAT proves.

  check_recompute.py [--count N] [--steps LEAST MOST] [--seconds S] [--first SEED] [--environments FOLDER]

The problems are training steps of random networks: layers with connections that skip some, and their gradients, of
LEAST to MOST steps. The limits are 60 to 90 % of the memory without repetitions. The ratio is the time of all runs over
that of the optimum: on average at most 1.03. Problems that CP-SAT does not solve within --seconds are counted, and their
bounds compared. $RECOMPUTE_DRIVER: the built recompute_driver."""
import argparse
import math
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "place"))
from check_place import ORTOOLS, Lines, environment

MOST_MEAN = 1.03


def problem(rng, steps):
    """Layer i reads value i and maybe an older one. Its gradient reads the gradient of layer i + 1 and all that the layer read."""
    layers = (steps - 1) // 2
    reads = [[]] + [[i] + ([rng.randrange(i)] if i > 0 and rng.random() < 0.3 else []) for i in range(layers)]
    last = layers
    for i in range(layers, 0, -1):
        reads.append([last] + [v for v in reads[i] if v != last])
        last = len(reads) - 1
    return {"steps": [{"us": rng.randint(1, 50), "can_repeat": k > 0, "reads": r, "writes": [k]} for k, r in enumerate(reads)],
            "bytes": [rng.randint(1, 50) for _ in reads]}


def least_time(p, limit, hint, seconds):
    """The least time of repeated steps and a lower bound of it, or None and the bound.

    Before step t, some of the values that were in memory stay (kept), and some steps below t run again (runs), in their order. A value
    leaves memory after the last run of that stage that reads it, unless it is kept for the next stage."""
    from ortools.sat.python import cp_model
    steps, size = p["steps"], p["bytes"]
    n = len(steps)
    m = cp_model.CpModel()
    users = [[k for k in range(n) if i in steps[k]["reads"]] for i in range(n)]
    runs = [[m.new_bool_var("") for i in range(t + 1)] for t in range(n)]
    kept = [[m.new_bool_var("") for i in range(t)] for t in range(n)] + [[m.new_constant(0)] * n]
    for t in range(n):
        m.add(runs[t][t] == 1)
        for i in range(t):
            if not steps[i]["can_repeat"]:
                m.add(runs[t][i] == 0)
            before = [runs[t - 1][i]] + ([kept[t - 1][i]] if i < t - 1 else [])
            m.add_bool_or(before + [kept[t][i].negated()])
            m.add_at_most_one(runs[t][i], kept[t][i])
        for i in range(t + 1):
            for j in steps[i]["reads"]:
                m.add_bool_or([runs[t][j], kept[t][j], runs[t][i].negated()])
        in_use = [size[i] * kept[t][i] for i in range(t)]
        for k in range(t + 1):
            in_use.append(size[k] * runs[t][k])
            m.add(sum(in_use) <= limit).only_enforce_if(runs[t][k])
            for i in {*steps[k]["reads"], k}:  # values that leave after run k
                leaves = m.new_bool_var("")
                blockers = [runs[t][u] for u in users[i] if k < u <= t] + ([kept[t + 1][i]] if i <= t else [])
                m.add_implication(leaves, runs[t][k])
                for b in blockers:
                    m.add_implication(leaves, b.negated())
                in_use.append(-size[i] * leaves)
        m.add(sum(in_use) >= 0)
    m.minimize(sum(steps[i]["us"] * runs[t][i] for t in range(n) for i in range(t)))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    status = solver.solve(m)
    if status == cp_model.INFEASIBLE:
        return None, math.inf
    return (round(solver.objective_value) if status == cp_model.OPTIMAL else None), solver.best_objective_bound


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--steps", type=int, nargs=2, default=(11, 60))
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--environments", default=os.path.join(HERE, "..", "..", "build", "solvers"))
    a = p.parse_args()
    try:
        import ortools
    except ImportError:
        python = environment(a.environments, "ortools", (ORTOOLS, "ortools"), True)
        return subprocess.run([python, os.path.abspath(__file__), *sys.argv[1:]], check=False).returncode
    driver = Lines(os.environ["RECOMPUTE_DRIVER"])
    ratios, bounds, missed = [], [], 0
    for seed in range(a.first, a.first + a.count):
        rng = random.Random(seed)
        one = problem(rng, rng.randint(*a.steps))
        limit = int(driver.ask(one)["peak"] * rng.uniform(0.6, 0.9))
        ours = driver.ask({**one, "limit": limit}).get("us")
        best, bound = least_time(one, limit, ours, a.seconds)
        base, what = sum(s["us"] for s in one["steps"]), f"seed {seed}, {len(one['steps'])} steps"
        if bound == math.inf:
            if ours is not None:
                print(f"{what}: a schedule where CP-SAT proves that there is none")
                missed += 1
            continue
        if ours is None:
            missed += best is not None
            print(f"{what}: no schedule found" + (f", CP-SAT has one that takes {best} us" if best is not None else ""))
            continue
        ratio = (base + ours) / (base + (bound if best is None else best))
        (bounds if best is None else ratios).append(ratio)
        if ratio > MOST_MEAN:
            print(f"{what}: {base} + {ours:.0f} us, {'at least ' if best is None else ''}{bound if best is None else best:.0f} are needed: {ratio:.3f}",
                  flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.inf
    print(f"{len(ratios)} optima proven: geometric mean {mean:.4f}, worst {max(ratios, default=math.inf):.4f}, {sum(r < 1 + 1e-9 for r in ratios)} equal; "
          f"{len(bounds)} not proven in time, at most {max(bounds, default=1):.4f} above their bounds; {missed} missed")
    return 0 if mean <= MOST_MEAN and missed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
