"""Random placement problems, in the form of driver/problem_json.h. All numbers are integers, so that solvers are exact."""
import random


def edges_of(rng, n):
    """Graphs of several kinds, with edges from lower to higher numbers."""
    kind = rng.choice(["sparse", "dense", "layers", "chains", "fork"])
    if kind == "chains":
        width = rng.randint(2, 4)
        return [(i, i + width) for i in range(n - width)] + [(i, n - 1) for i in range(max(0, n - 1 - width), n - 1)]
    if kind == "fork":
        return [(0, i) for i in range(1, n - 1)] + [(i, n - 1) for i in range(1, n - 1)]
    if kind == "layers":
        width = max(1, n // 4)
        return [(a, b) for a in range(n) for b in range(n) if b // width == a // width + 1 and rng.random() < 0.6]
    p = 0.2 if kind == "sparse" else 0.5
    return [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < p * min(1, 6 / n if n > 20 else 1)]


def problem(rng, groups, devices, unequal=True, unsupported=0.1, transfer=None, memory=False, homes=True):
    """`transfer`: approximate ratio of transfer times to group times."""
    n, d = groups, devices
    transfer = rng.choice([0.1, 0.5, 1, 3]) if transfer is None else transfer
    speed = [rng.choice([1, 1, 2, 4]) for _ in range(d)]
    rows = []
    for g in range(n):
        work = rng.randint(4, 100)
        us = [max(1, round(work / speed[k] * (rng.uniform(0.5, 2) if unequal else 1))) for k in range(d)]
        us = [None if rng.random() < unsupported else u for u in us]
        if all(u is None for u in us):
            us[rng.randrange(d)] = work
        rows.append({"name": f"g{g:05}", "us": us, "weights": [], "working": rng.randint(0, 20) if memory else 0})
    values = []
    of = {}
    for a, b in edges_of(rng, n):
        if a in of and rng.random() < 0.6:
            if b not in values[of[a]]["readers"]:
                values[of[a]]["readers"].append(b)
        else:
            of[a] = len(values)
            values.append({"bytes": 0, "producer": a, "readers": [b]})
    made = {v["producer"] for v in values}
    home = rng.randrange(d) if homes and rng.random() < 0.7 else -1
    for g in range(n):
        if g not in made:
            values.append({"bytes": 0, "producer": g, "readers": [], "wanted": True, "wanted_on": home})
    read = {r for v in values for r in v["readers"]}
    for g in range(n):
        if g not in read:
            values.append({"bytes": 0, "producer": -1, "given": home, "readers": [g]})
    for v in values:
        v["bytes"] = rng.randint(1, max(2, round(50 * transfer)))
    links = []
    for a in range(d):
        for b in range(d):
            links.append([1, rng.randint(0, 3)] if a != b else [0, 0])
    weights = [rng.randint(10, 200) for _ in range(n)] if memory else []
    for g in range(n if memory else 0):
        rows[g]["weights"] = [g] if rng.random() < 0.8 else sorted({g, rng.randrange(n)})
    return {"devices": [{"name": f"d{k}"} for k in range(d)], "links": links, "groups": rows, "values": values, "weights": weights}


def limit_memory(rng, p):
    """Sets memory sizes so that some placements fit and others do not. One device may be too small for any group."""
    need = sum(p["weights"]) + sum(v["bytes"] for v in p["values"])
    for device in p["devices"]:
        device["memory"] = round(need * rng.uniform(0.25, 0.9))


def change(rng, p):
    """Changes one number of the problem."""
    kind = rng.randrange(4)
    if kind == 0:
        us = rng.choice(p["groups"])["us"]
        k = rng.randrange(len(us))
        us[k] = rng.randint(1, 100) if us[k] is not None else None
    elif kind == 1:
        rng.choice(p["values"])["bytes"] = rng.randint(1, 150)
    elif kind == 2:
        d = len(p["devices"])
        a, b = rng.randrange(d), rng.randrange(d)
        p["links"][a * d + b] = [1, rng.randint(0, 20)] if a != b else [0, 0]
    else:
        value = rng.choice(p["values"])
        first = value.get("producer", -1) + 1
        reader = rng.randrange(first, len(p["groups"])) if first < len(p["groups"]) else None
        if reader is not None and reader not in value["readers"]:
            value["readers"].append(reader)
        elif len(value["readers"]) > 1:
            value["readers"].pop(rng.randrange(len(value["readers"])))
