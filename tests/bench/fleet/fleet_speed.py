#!/usr/bin/env python3
"""Overhead and gain of a fleet of two pools, one core each, on real models: ninja check_fleet_speed

  fleet_speed.py [--models DIR] [--rounds 40] [--seconds 0.06] [MODEL...]

monitor: runs with and without measuring, in rounds. The fastest run of each counts, over several loads, because the
placement of memory differs from load to load. Measuring may make runs at most 1 % slower.
pipeline: groups in two stages of about the same work, with four requests in flight. Their requests per second are
compared with the ideal: the rate of one pool that has all groups, divided by the busier stage's share of the work. The
best round of each counts, and must reach at least 0.9 of the ideal. Time that other processes take on the cores does not
count. It is the busiest thread's wait for a core, minus the time when this process's main thread ran.
one device: the whole model as one group of a fleet, compared with libgart alone on the same core. The fastest run of
each in rounds counts; at most 2 % slower.
Exit code 1 beyond these bars. Needs both cores, without other load."""
import argparse
import json
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [os.path.join(ROOT, "tools", "python"), os.path.join(ROOT, "tests", "models"), os.path.join(ROOT, "tests", "bench")]

import gart
import gart.fleet

MODELS = ("squeezenet1_1", "minilm_l6", "resnet50", "mobilenet_v2")
SYMBOLS = {"batch": 1, "sequence": 64}
UNDER_WAY, LOADS = 4, 4


def compile_for_pools(source, cache, cut):
    """The artifact of a model for two pools of one core each, and its inputs."""
    from model_check import compile_once
    from model_inputs import make_inputs
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("SKIP: this takes two cores")
        sys.exit(77)
    os.makedirs(cache, exist_ok=True)
    name = os.path.basename(source).partition(".")[0]
    fleet, artifact = os.path.join(cache, "pools.json"), os.path.join(cache, f"{name}-{cut.replace(',', '-')}.gart")
    with open(fleet, "w") as f:
        json.dump({"devices": [{"name": f"pool:{i}", "kind": "cpu", "cores": [cores[i]]} for i in range(2)]}, f)
    feeds, dims = make_inputs(source, SYMBOLS)
    return compile_once(source, artifact, "--fleet", fleet, "--cut", cut, *dims), feeds


def least_run(request, seconds):
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        request.run_bound()
        best = min(best, time.perf_counter() - begin)
    return best


def request_of(model, feeds):
    request = model.new_request()
    request.set_inputs(feeds)
    request.run_bound()
    return request


def monitor_overhead(artifact, feeds, a):
    best = {True: float("inf"), False: float("inf")}
    requests = [(on, request_of(gart.fleet.load(artifact, monitor=on), feeds)) for on in LOADS * (True, False)]
    for i in range(a.rounds * 2):
        on, request = requests[i % len(requests)]
        best[on] = min(best[on], least_run(request, a.seconds))
    return best[True] / best[False] - 1


def stages(model, feeds, seconds):
    """Splits the groups as evenly as possible, in the order of the file: the first ones on one pool, the others on the
    other. Returns {group: device} and the busier pool's share of the work. `model` must have all groups on one pool."""
    least_run(request_of(model, feeds), seconds)
    times = model.times()["groups"]
    total, done, best = sum(t["operation_us"] for t in times), 0, (float("inf"), 0)
    for i, t in enumerate(times):
        done += t["operation_us"]
        best = min(best, (max(done, total - done), i + 1))
    return {t["group"]: f"pool:{int(i >= best[1])}" for i, t in enumerate(times)}, best[0] / total


def core_times():
    """{thread: (running time, time waiting for a core)}, in seconds."""
    times = {}
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/schedstat") as f:
                times[int(thread)] = tuple(int(n) / 1e9 for n in f.read().split()[:2])
        except OSError:  # the thread has ended
            pass
    return times


def taken_by_others(before, after):
    """How long the busiest other thread waited for a core, in seconds, without the time in which this thread ran."""
    change = {t: [now - was for now, was in zip(after[t], before.get(t, (0, 0)))] for t in after}
    own, _ = change.pop(threading.get_native_id())
    return max(0, max(change.values())[1] - own)


def rate(model, feeds, seconds):
    """Requests per second with UNDER_WAY of them in flight, so that each pool always has a next request. The clock
    starts after the first requests have ended, and stops before the last ones drain."""
    requests = [request_of(model, feeds) for _ in range(UNDER_WAY)]

    def replace_oldest(n):
        requests[n % UNDER_WAY].wait()
        requests[n % UNDER_WAY].start()
    for request in requests:
        request.start()
    for n in range(2 * UNDER_WAY):
        replace_oldest(n)
    cores, done, begin = core_times(), 0, time.perf_counter()
    while time.perf_counter() < begin + seconds or done < 2 * UNDER_WAY:
        replace_oldest(done)
        done += 1
    elapsed = time.perf_counter() - begin - taken_by_others(cores, core_times())
    for request in requests:
        request.wait()
    return done / elapsed


def pipeline(artifact, feeds, a):
    one = gart.fleet.load(artifact, only=["pool:0"], requests=UNDER_WAY)
    placement, share = stages(one, feeds, 12 * a.seconds)
    both = gart.fleet.load(artifact, placement=placement, requests=UNDER_WAY)
    rates = [[rate(model, feeds, a.seconds) for model in (one, both)] for _ in range(a.rounds)]
    ideal = max(r[0] for r in rates) / share
    return max(r[1] for r in rates) / ideal, len(set(placement.values())), len(placement), ideal


def one_device(source, feeds, a):
    """Relative increase in a run's time through a fleet of one pool."""
    artifact, _ = compile_for_pools(source, a.cache, "support")
    core = sorted(os.sched_getaffinity(0))[0]
    ways = []
    for _ in range(LOADS):
        alone = gart.load(artifact, device=f"cpu:{core}").new_invocation()
        alone.set_inputs(feeds)
        ways.append((request_of(gart.fleet.load(artifact, only=["pool:0"]), feeds), alone))
    best = [float("inf")] * 2
    for i in range(a.rounds):
        best = [min(least, least_run(way, a.seconds)) for least, way in zip(best, ways[i % LOADS])]
    return best[0] / best[1] - 1


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--models", default=os.path.join(ROOT, "build", "zoo"), help="where resnet50.ts.onnx and the like are")
    p.add_argument("--cache", default=os.path.join(ROOT, "build", "bench"))
    p.add_argument("--rounds", type=int, default=40)
    p.add_argument("--seconds", type=float, default=0.06)
    p.add_argument("names", nargs="*", default=MODELS)
    a = p.parse_args()
    good = True
    for name in a.names:
        source = os.path.join(a.models, name + ".ts.onnx")
        if not os.path.exists(source):
            print(f"{name:16} SKIP: it is not in {a.models}")
            continue
        artifact, feeds = compile_for_pools(source, a.cache, "support,stages")
        overhead = monitor_overhead(artifact, feeds, a)
        share, pools, groups, ideal = pipeline(artifact, feeds, a)
        slower = one_device(source, feeds, a)
        bad = overhead > 0.01 or share < 0.9 or slower > 0.02
        good &= not bad
        print(f"{name:16} {groups} groups: monitor {100 * overhead:+.2f} %; pipeline over {pools} pools {share:.3f} of the ideal {ideal:.1f} requests/s; "
              f"one device {100 * slower:+.2f} %" + ("  BEHIND" if bad else ""), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
