"""The simulator's rules (compiler/place/simulate.h) as a model for CP-SAT, which decides devices and the order of groups and
transfers."""
from ortools.sat.python import cp_model

CALLER = ANYWHERE = -1


class Model:
    """`capacity`: memory of each device, as numbers or linear expressions; None: no limits. With limits, groups and
    transfers begin exactly as early as the rules say. Without limits they may begin later, which gives the same
    optimum."""

    def __init__(self, problem, horizon, memory=None):
        self.p, self.m, self.horizon, self.asap = problem, cp_model.CpModel(), horizon, memory is not None
        self.devices, self.groups, self.values = range(len(problem["devices"])), problem["groups"], problem["values"]
        self._groups()
        self._needs()
        self._transfers()
        self._orders()
        self._readers()
        self.us = self.m.new_int_var(0, horizon, "us")
        last = list(self.end) + [self.arrival[v, d] for v, d in self.arrival if self._wanted_on(v) == d]
        self.m.add_max_equality(self.us, last)
        if self.asap:
            self._memory(memory)

    def _wanted_on(self, v):
        value = self.values[v]
        return value.get("wanted_on", ANYWHERE) if value.get("wanted") else None

    def _producer(self, v):
        return self.values[v].get("producer", CALLER)

    def _time(self, v, f, d):
        rate, us = self.p["links"][f * len(self.p["devices"]) + d]
        assert rate == 1
        return us + self.values[v]["bytes"]

    def _var(self, name):
        return self.m.new_int_var(0, self.horizon, name)

    def _and(self, *literals):
        literals = [x for x in literals if x is not True]
        if any(x is False for x in literals):
            return False
        if not literals:
            return True
        if len(literals) == 1:
            return literals[0]
        both = self.m.new_bool_var("")
        self.m.add_min_equality(both, literals)
        return both

    def _if(self, constraint, *literals):
        if any(x is False for x in literals):
            return
        literals = [x for x in literals if x is not True]
        constraint = self.m.add(constraint)
        if literals:
            constraint.only_enforce_if(literals)

    def _groups(self):
        self.begin, self.end, self.on = [], [], []
        for group in self.groups:
            on = [self.m.new_bool_var("") if us is not None else False for us in group["us"]]
            self.m.add_exactly_one([x for x in on if x is not False])
            begin, end = self._var("b"), self._var("e")
            self.m.add(end == begin + sum(x * us for x, us in zip(on, group["us"]) if us is not None))
            self.begin.append(begin)
            self.end.append(end)
            self.on.append(on)

    def _needs(self):
        """needed[v, d]: a group on device d, or the caller there, reads value v. lies[v, f]: v is made on f, or given there."""
        self.needed, self.lies = {}, {}
        for v, value in enumerate(self.values):
            given, producer = value.get("given", ANYWHERE), self._producer(v)
            for d in self.devices:
                self.lies[v, d] = self.on[producer][d] if producer != CALLER else (given == d)
                here = [self.on[r][d] for r in value["readers"] if self.on[r][d] is not False]
                if self._wanted_on(v) == d:
                    self.needed[v, d] = True
                elif not here:
                    self.needed[v, d] = False
                else:
                    self.needed[v, d] = self.m.new_bool_var("")
                    self.m.add_max_equality(self.needed[v, d], here)

    def _transfers(self):
        self.sent, self.leave, self.arrival = {}, {}, {}
        for v in range(len(self.values)):
            for d in self.devices:
                for f in self.devices:
                    if f != d and (literal := self._and(self.lies[v, f], self.needed[v, d])) is not False:
                        self.sent[v, f, d] = literal
                sent = [f for f in self.devices if (v, f, d) in self.sent]
                if not sent and self._wanted_on(v) != d:
                    continue
                self.leave[v, d], self.arrival[v, d] = self._var("t"), self._var("a")
                ready = self.end[self._producer(v)] if self._producer(v) != CALLER else 0
                for f in sent:
                    self._if(self.leave[v, d] >= ready, self.sent[v, f, d])
                    self._if(self.arrival[v, d] == self.leave[v, d] + self._time(v, f, d), self.sent[v, f, d])
                if self.lies[v, d] is not False:
                    self._if(self.arrival[v, d] == ready, self.lies[v, d])

    def _before(self, g, h):
        if (h, g) in self.turn:
            return ~self.turn[h, g]
        if (g, h) not in self.turn:
            self.turn[g, h] = self.m.new_bool_var("")
        return self.turn[g, h]

    def _orders(self):
        """A device runs one group at a time. Transfers of a link run in the order in which their producers end;
        transfers of one producer run in any order."""
        self.turn, n = {}, len(self.groups)
        self.group_waits = {g: [] for g in range(n)}
        for g in range(n):
            for h in range(g + 1, n):
                for d in self.devices:
                    together = self._and(self.on[g][d], self.on[h][d])
                    if together is False:
                        continue
                    for a, b in ((g, h), (h, g)):
                        self._if(self.begin[b] >= self.end[a], together, self._before(a, b))
                        self.group_waits[b].append((self.end[a], together, self._before(a, b)))
        self.link_waits = {key: [] for key in self.sent}
        keys = sorted(self.sent)
        self.first_read = {}
        for i, (v, f, d) in enumerate(keys):
            for w, f2, d2 in keys[i + 1:]:
                if (f, d) != (f2, d2):
                    continue
                p, q = self._producer(v), self._producer(w)
                if p == q:
                    first = self.m.new_bool_var("")
                    if self.asap:  # here the order of the rules matters, because it decides when memory is allocated
                        self.m.add(self._first_read(v, d) <= self._first_read(w, d)).only_enforce_if(first)
                        self.m.add(self._first_read(v, d) > self._first_read(w, d)).only_enforce_if(~first)
                elif p == CALLER or q == CALLER:
                    first = p == CALLER
                else:
                    first = self._before(p, q)
                both = [self.sent[v, f, d], self.sent[w, f, d]]
                for a, b, literal in ((v, w, first), (w, v, (not first) if isinstance(first, bool) else ~first)):
                    self._if(self.leave[b, d] >= self.leave[a, d] + self._time(a, f, d), *both, literal)
                    self.link_waits[b, f, d].append((self.leave[a, d] + self._time(a, f, d), *both, literal))

    def _first_read(self, v, d):
        """The time when the first reader on the device begins; the horizon if only the caller wants the value there."""
        if (v, d) not in self.first_read:
            begins = []
            for r in self.values[v]["readers"]:
                if self.on[r][d] is not False:
                    begins.append(self._var("f"))
                    self._if(begins[-1] == self.begin[r], self.on[r][d])
                    self._if(begins[-1] == self.horizon, ~self.on[r][d])
            self.first_read[v, d] = self._var("f")
            self.m.add_min_equality(self.first_read[v, d], begins + [self.horizon])
        return self.first_read[v, d]

    def _readers(self):
        self.input_waits = {g: [] for g in range(len(self.groups))}
        for v, value in enumerate(self.values):
            p = self._producer(v)
            for r in value["readers"]:
                if p != CALLER:
                    self.m.add(self.begin[r] >= self.end[p])
                    self.input_waits[r].append((self.end[p],))
                for d in self.devices:
                    for f in self.devices:
                        if (v, f, d) in self.sent and self.on[r][d] is not False:
                            self._if(self.begin[r] >= self.arrival[v, d], self.on[r][d], self.sent[v, f, d])
                            self.input_waits[r].append((self.arrival[v, d], self.on[r][d], self.sent[v, f, d]))

    def _earliest(self, var, waits):
        """Makes var equal to the largest of the waits whose literals hold, or 0."""
        terms = []
        for expression, *literals in waits:
            if any(x is False for x in literals):
                continue
            if all(x is True for x in literals):
                terms.append(expression)
                continue
            all_of, term = self._and(*literals), self._var("w")
            self._if(term == expression, all_of)
            self._if(term == 0, ~all_of)
            terms.append(term)
        self.m.add_max_equality(var, terms + [0])

    def _memory(self, memory):
        for g in range(len(self.groups)):
            self._earliest(self.begin[g], self.group_waits[g] + self.input_waits[g])
        for v, d in self.leave:
            p = self._producer(v)
            waits = [(self.end[p] if p != CALLER else 0, self.sent[v, f, d]) for f in self.devices if (v, f, d) in self.sent]
            for f in self.devices:
                waits += self.link_waits.get((v, f, d), [])
            self._earliest(self.leave[v, d], waits)
        for d in self.devices:
            self._device_memory(d, memory[d])

    def _device_memory(self, d, capacity):
        intervals, sizes = [], []

        def lies(begin, end, literal, size):
            if literal is False or size == 0:
                return
            length = self._var("l")
            if literal is True:
                intervals.append(self.m.new_interval_var(begin, length, end, ""))
            else:
                intervals.append(self.m.new_optional_interval_var(begin, length, end, literal, ""))
            sizes.append(size)

        for g, group in enumerate(self.groups):
            lies(self.begin[g], self.end[g], self.on[g][d], group.get("working", 0))
        for v, value in enumerate(self.values):
            p, size, wanted = self._producer(v), value["bytes"], self._wanted_on(v)
            local = [(self.end[r], self.on[r][d]) for r in value["readers"]]
            if p == CALLER and value.get("given", ANYWHERE) == ANYWHERE:
                end = self._var("u")
                self._earliest(end, local)
                lies(0, end, self.needed[v, d], size)
                continue
            if self.lies[v, d] is not False:
                sent = [(self.arrival[v, t], self.sent[v, d, t]) for t in self.devices if (v, d, t) in self.sent]
                kept = [(self.us,)] if wanted == d or wanted == ANYWHERE else []
                end = self._var("u")
                self._earliest(end, local + sent + kept + ([(self.end[p],)] if p != CALLER else []))
                lies(self.begin[p] if p != CALLER else 0, end, self.lies[v, d], size)
            literals = [self.sent[v, f, d] for f in self.devices if (v, f, d) in self.sent]
            if literals:
                there = self.m.new_bool_var("") if len(literals) > 1 or literals[0] is True else literals[0]
                if len(literals) > 1:
                    self.m.add_max_equality(there, literals)
                elif literals[0] is True:
                    self.m.add(there == 1)
                end = self._var("u")
                self._earliest(end, local + [(self.arrival[v, d], there)] + ([(self.us, there)] if wanted == d else []))
                lies(self.leave[v, d], end, there, size)
        weights = 0
        for w, size in enumerate(self.p.get("weights", [])):
            users = [self.on[g][d] for g, group in enumerate(self.groups) if w in group["weights"] and self.on[g][d] is not False]
            if users:
                resident = self.m.new_bool_var("")
                self.m.add_max_equality(resident, users)
                weights += size * resident
        free = self.m.new_int_var(0, 10**9, "")
        self.m.add(free + weights == capacity)
        self.m.add_cumulative(intervals, sizes, free)


def solve(model, seconds):
    """The solver and the name of its status."""
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    status = solver.solve(model.m)
    return solver, solver.status_name(status)


def least_time(problem, us, seconds):
    """The shortest time that CP-SAT finds or None, the solver's status, and the proven lower bound. `us`: a time that
    is possible."""
    memory = [d.get("memory") for d in problem["devices"]]
    bounded = any(m is not None for m in memory)
    horizon = max(us, 1)
    if bounded:
        memory = [m if m is not None else 10**8 for m in memory]
    model = Model(problem, horizon, memory if bounded else None)
    model.m.minimize(model.us)
    solver, status = solve(model, seconds)
    return (int(solver.objective_value) if status in ("OPTIMAL", "FEASIBLE") else None), status, solver.best_objective_bound


def is_possible(problem, seconds):
    """True if CP-SAT found a placement that fits, False if it proved that there is none, None if it ran out of time."""
    model = Model(problem, _horizon(problem), [d.get("memory", 10**8) for d in problem["devices"]])
    return {"OPTIMAL": True, "FEASIBLE": True, "INFEASIBLE": False}.get(solve(model, seconds)[1])


def _horizon(problem):
    """An upper bound of the time: all groups and transfers one after the other, each as slow as possible."""
    slow = sum(max(us for us in g["us"] if us is not None) for g in problem["groups"])
    return slow + sum((v["bytes"] + 20) * len(problem["devices"]) for v in problem["values"])


def least_memory(problem, shares, seconds):
    """The proven least m for which a placement exists if device d has m * shares[d] bytes; or None."""
    model = Model.__new__(Model)
    scale = {}

    class Lazy(list):
        def __getitem__(self, d):
            if "m" not in scale:
                scale["m"] = model.m.new_int_var(0, 10**6, "m")
            return scale["m"] * shares[d]

    Model.__init__(model, problem, _horizon(problem), Lazy([0] * len(shares)))
    model.m.minimize(scale["m"])
    solver, status = solve(model, seconds)
    return int(solver.objective_value) if status == "OPTIMAL" else None
