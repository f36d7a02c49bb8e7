#!/usr/bin/env python3
"""Schedules by SAGA, run in its own environment as an oracle. Reads an instance per line ({"costs", "speeds", "edges": [[from, to,
size]], "bandwidth": [[..]]}) and writes a line {scheduler: {"makespan", "device", "begin"}}."""
import json
import sys

from saga import Network, TaskGraph
from saga.schedulers import CpopScheduler, ETFScheduler, FastestNodeScheduler, HeftScheduler, MaxMinScheduler, MinMinScheduler

SCHEDULERS = [HeftScheduler, CpopScheduler, ETFScheduler, MinMinScheduler, MaxMinScheduler, FastestNodeScheduler]


def schedules(instance):
    count = len(instance["speeds"])
    network = Network.create([(f"d{i}", s) for i, s in enumerate(instance["speeds"])],
                             [(f"d{a}", f"d{b}", instance["bandwidth"][a][b]) for a in range(count) for b in range(a + 1, count)])
    graph = TaskGraph.create([(f"g{i}", c) for i, c in enumerate(instance["costs"])],
                             [(f"g{a}", f"g{b}", s) for a, b, s in instance["edges"]])
    out = {}
    for scheduler in SCHEDULERS:
        schedule = scheduler().schedule(network, graph)
        device, begin = [0] * len(instance["costs"]), [0.0] * len(instance["costs"])
        for node, tasks in schedule.items():
            for task in tasks:
                if task.name.startswith("g"):
                    device[int(task.name[1:])], begin[int(task.name[1:])] = int(str(node)[1:]), task.start
        out[scheduler.__name__.replace("Scheduler", "")] = {"makespan": schedule.makespan, "device": device, "begin": begin}
    return out


for line in sys.stdin:
    print(json.dumps(schedules(json.loads(line))), flush=True)
