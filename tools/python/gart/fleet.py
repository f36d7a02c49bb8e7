"""Models over several devices: a binding of libgart_fleet's C ABI (gart/fleet.h).

    import gart.fleet
    model = gart.fleet.load("model.gart")          # compiled with --fleet; devices={"acc:0": "cpu:1"} replaces acc:0 by cpu:1
    outputs = model.run({"x": array})              # {name: array}
    hidden = model.run({"x": array}, fetch=["hidden"])

    requests = [model.submit({"x": array}) for array in batches]   # flow through the devices like through a pipeline
    results = [request.result() for request in requests]
    model.times()                                  # times of groups on their devices

libgart_fleet.so.0 is looked for beside libgart.so.0, then by the system's loader.
"""
import ctypes
import os


import gart
from gart import GartError, _Memory, _Tensor


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("skip_verify", ctypes.c_int), ("threads", ctypes.c_int), ("requests", ctypes.c_int),
                ("devices", ctypes.POINTER(ctypes.c_char_p)), ("device_count", ctypes.c_size_t),
                ("places", ctypes.POINTER(ctypes.c_char_p)), ("place_count", ctypes.c_size_t),
                ("only", ctypes.POINTER(ctypes.c_char_p)), ("only_count", ctypes.c_size_t), ("no_monitor", ctypes.c_int),
                ("custom_ops", ctypes.c_void_p), ("custom_op_count", ctypes.c_size_t), ("dynamic", ctypes.c_int), ("refuse_requests", ctypes.c_int),
                *gart._TRUST_FIELDS, ("hosts", ctypes.c_void_p), ("manager", ctypes.c_void_p)]


class _GroupTime(ctypes.Structure):
    _fields_ = [("group", ctypes.c_char_p), ("device", ctypes.c_char_p), ("operation_us", ctypes.c_double), ("idle_us", ctypes.c_double),
                ("noise_us", ctypes.c_double), ("begin_us", ctypes.c_double), ("runs", ctypes.c_int64), ("crossed", ctypes.c_int)]


class _GroupPlace(ctypes.Structure):
    _fields_ = [("group", ctypes.c_char_p), ("device", ctypes.c_char_p)]


class _DeviceLoad(ctypes.Structure):
    _fields_ = [("device", ctypes.c_char_p), ("busy", ctypes.c_int), ("programs", ctypes.c_int), ("groups", ctypes.c_int),
                ("work_us", ctypes.c_double), ("memory", ctypes.c_int64), ("weight_bytes", ctypes.c_int64), ("value_bytes", ctypes.c_int64)]


_lib = None


def _library():
    gart._lib = gart._lib or gart._library()  # libgart_fleet needs libgart
    name = "libgart_fleet.so.0"
    beside = os.path.join(os.path.dirname(gart._lib._name), name)
    lib = ctypes.CDLL(beside if os.path.exists(beside) else name)
    for name, result in (("last_error", ctypes.c_char_p), ("input_name", ctypes.c_char_p), ("output_name", ctypes.c_char_p),
                         ("value_name", ctypes.c_char_p), ("times", ctypes.c_size_t), ("places", ctypes.c_size_t),
                         ("output_count", ctypes.c_size_t), ("run_us", ctypes.c_double), ("free", None), ("request_free", None),
                         ("cancel", None), ("forget_times", None)):
        getattr(lib, "gart_fleet_" + name).restype = result
    lib.gart_hosts_free.restype = lib.gart_manager_free.restype = None
    lib.gart_manager_devices.restype = ctypes.c_size_t
    lib.gart_queue_waiting.restype = ctypes.c_size_t
    lib.gart_queue_free.restype = lib.gart_queue_cancel.restype = None
    return lib


def _use_library():
    global _lib
    _lib = _lib or _library()


def _check(status):
    if status != 0:
        raise GartError(_lib.gart_fleet_last_error().decode())


def _texts(texts):
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


class Request:
    """One caller's memory for a run; not for several threads at once. Its inputs must stay unchanged until the run is over."""
    _handle = None

    def __init__(self, model):
        self._model, self._handle, self._bound, self._fetched = model, ctypes.c_void_p(), {}, None
        _check(_lib.gart_fleet_request_new(model._handle, ctypes.byref(self._handle)))

    def __del__(self):
        if _lib is not None and self._handle:
            _lib.gart_fleet_request_free(self._handle)  # waits for the current run

    def set_inputs(self, feeds):
        """Sets all inputs, by name."""
        for name, array in feeds.items():
            memory = _Memory(f"input '{name}'", array, "cpu", None)
            _check(_lib.gart_fleet_set_input(self._handle, name.encode(), ctypes.byref(memory.tensor())))
            self._bound[name] = memory

    def fetch(self, names=()):
        """Selects values to fetch instead of the outputs: values that cross between parts, or that compile --keep kept. Without names, the
        outputs are fetched again."""
        _check(_lib.gart_fleet_fetch(self._handle, _texts(names), ctypes.c_size_t(len(names))))
        self._fetched = list(names) or None

    def start(self):
        """Enqueues a run. If the maximum number of requests is running, waits until one ends."""
        _check(_lib.gart_fleet_start(self._handle))

    def wait(self):
        """Waits for the run to end; raises its error, if it failed."""
        _check(_lib.gart_fleet_wait(self._handle))

    def cancel(self):
        """Ends the current run, or else the next one, from any thread. wait() then raises GartError."""
        _lib.gart_fleet_cancel(self._handle)

    def ready(self):
        """Whether the request has ended."""
        return bool(_lib.gart_fleet_ready(self._handle))

    def run_bound(self):
        """Runs with the inputs that are set, and waits."""
        self.start()
        self.wait()

    def output(self, index, copy=True):
        """A copy of an output of the last run. If `copy` is false, a gart.HostArray, which shows the request's memory until its next
        run."""
        tensor = _Tensor()
        _check(_lib.gart_fleet_get_output(self._handle, ctypes.c_size_t(index), ctypes.byref(tensor)))
        return gart._copy(tensor) if copy else gart.HostArray(self, tensor)

    def result(self):
        """Waits for the run and returns {name: array}."""
        self.wait()
        return {name: self.output(i) for i, name in enumerate(self._fetched or self._model.outputs)}


class Hosts:
    """This process's place in a job of several processes, such as mpirun starts. Rank 0 loads models with it; the others call serve().

    hosts = gart.fleet.Hosts()
    if hosts.rank != 0:
        hosts.serve()
    else:
        model = gart.fleet.load("model.gart", hosts=hosts)

    `silence_ms`: a rank that does not answer for so long is lost."""
    _handle = None

    def __init__(self, silence_ms=1000):
        _use_library()
        self._handle = ctypes.c_void_p()
        _check(_lib.gart_hosts_join(silence_ms, ctypes.byref(self._handle)))
        self.rank, self.size = _lib.gart_hosts_rank(self._handle), _lib.gart_hosts_size(self._handle)

    def __del__(self):
        self.close()

    def close(self):
        """Leaves the job. On rank 0 this ends serve() on the other ranks, once all models with these hosts are gone, too."""
        if _lib is not None and self._handle:
            _lib.gart_hosts_free(self._handle)
            self._handle = None

    def serve(self):
        """On ranks other than 0: runs parts until rank 0 leaves the job."""
        _check(_lib.gart_hosts_serve(self._handle))


class Manager:
    """Devices that several models share: one queue for each device, and one account of its memory.

    manager = gart.fleet.Manager({"cpu:0-1": 2 << 30})
    a = gart.fleet.load("a.gart", dynamic=True, manager=manager)
    b = gart.fleet.load("b.gart", dynamic=True, manager=manager)
    manager.devices()      # [{"device": "cpu:0-1", "busy": False, "programs": 2, ..}]

    `memory`: bytes for the weights and values of all models on a device. Devices that it does not name have the memory that the files give
    them. Models keep the queues that they use, so a manager may be dropped first."""
    _handle = None

    def __init__(self, memory=None):
        _use_library()
        memory = memory or {}
        self._handle = ctypes.c_void_p()
        _check(_lib.gart_manager_open(_texts(memory), (ctypes.c_int64 * len(memory))(*memory.values()), ctypes.c_size_t(len(memory)),
                                      ctypes.byref(self._handle)))

    def __del__(self):
        if _lib is not None and self._handle:
            _lib.gart_manager_free(self._handle)

    def devices(self):
        """The devices on which models were loaded, in the order of their first use: their work and their bytes at the moment."""
        rows = (_DeviceLoad * _lib.gart_manager_devices(self._handle, None, ctypes.c_size_t(0)))()
        rows = rows[:_lib.gart_manager_devices(self._handle, rows, ctypes.c_size_t(len(rows)))]
        loads = [{name: getattr(row, name) for name, _ in _DeviceLoad._fields_} for row in rows]
        return [{**load, "device": load["device"].decode(), "busy": bool(load["busy"])} for load in loads]


class Model:
    """A model compiled for a fleet, loaded onto its devices."""
    _handle = None

    def __init__(self, path, devices, placement, only, threads, requests, verify, monitor, custom_ops, dynamic, refuse_requests,
                 trusted_keys=None, signature=None, hosts=None, manager=None):
        _use_library()
        pairs = [[text for pair in given.items() for text in pair] for given in (devices, placement)]
        options = _Options(ctypes.sizeof(_Options), int(not verify), threads, requests, _texts(pairs[0]), len(devices), _texts(pairs[1]),
                           len(placement), _texts(only), len(only), int(not monitor))
        self._custom_ops = [gart._CustomOp(name.encode(), gart._op_function(function), None) for name, function in custom_ops.items()]
        functions = (gart._CustomOp * len(custom_ops))(*self._custom_ops)
        options.custom_ops, options.custom_op_count = ctypes.addressof(functions), len(functions)
        gart._set_trust(options, trusted_keys, signature)
        options.dynamic, options.refuse_requests = int(dynamic), int(refuse_requests)
        options.hosts = hosts._handle if hosts is not None else None
        options.manager = manager._handle if manager is not None else None
        self._handle = ctypes.c_void_p()
        _check(_lib.gart_fleet_load(os.fsencode(path), ctypes.byref(options), ctypes.byref(self._handle)))
        self.inputs, self.outputs, self.values = (self._names(of) for of in ("input", "output", "value"))

    def __del__(self):
        if _lib is not None and self._handle:
            _lib.gart_fleet_free(self._handle)

    def _names(self, of):
        names = []
        while (name := getattr(_lib, f"gart_fleet_{of}_name")(self._handle, ctypes.c_size_t(len(names)))) is not None:
            names.append(name.decode())
        return names

    def _rows(self, function, row):
        rows = (row * function(self._handle, None, ctypes.c_size_t(0)))()
        return rows[:function(self._handle, rows, ctypes.c_size_t(len(rows)))]

    def placement(self):
        """{group: device}."""
        return {p.group.decode(): p.device.decode() for p in self._rows(_lib.gart_fleet_places, _GroupPlace)}

    def times(self):
        """Times of groups on their devices, in the form of `gcc-graph run --monitor`: medians over the last 128 whole runs."""
        rows = self._rows(_lib.gart_fleet_times, _GroupTime)
        names = [name for name, _ in _GroupTime._fields_]
        groups = [{n: v.decode() if isinstance(v, bytes) else v for n, v in ((n, getattr(r, n)) for n in names)} for r in rows]
        return {"run_us": _lib.gart_fleet_run_us(self._handle), "groups": groups}

    def forget_times(self):
        """Forgets the measured times of groups."""
        _lib.gart_fleet_forget_times(self._handle)

    def new_request(self):
        """A new request, with its own inputs, outputs and memory."""
        return Request(self)

    def submit(self, feeds, fetch=()):
        """Starts a request and returns it."""
        request = Request(self)
        request.fetch(fetch)
        request.set_inputs(feeds)
        request.start()
        return request

    def run(self, feeds, fetch=()):
        """Runs one request and returns its outputs by name."""
        return self.submit(feeds, fetch).result()


def load(path, devices=None, placement=None, only=(), threads=0, requests=0, verify=True, monitor=True, custom_ops=None, dynamic=False,
         refuse_requests=False, trusted_keys=None, signature=None, hosts=None, manager=None):
    """Loads a model that was compiled with --fleet, and its parts onto their devices.

    `devices`: this machine's substitutes for devices of the file, {"acc:0": "cpu:1"}. `placement`: {group: device of the file}, in place of
    the file's placement. `only`: devices of the file; others are not used. `threads`: the number for each CPU pool (0: one per core).
    `requests`: the maximum number in flight (0: two per device); a further request waits, or raises GartError if `refuse_requests` is true.
    `monitor`: measures, for times(). `custom_ops`: as in gart.load; threads of the devices call them. `dynamic`: when a request starts,
    each of its groups is placed on the device that is estimated to finish it first, given the devices' pending work.
    `trusted_keys`, `signature`: as in gart.load. `hosts`: a Hosts; the other processes of the job run the parts of their devices.
    `manager`: a Manager, whose models share the queues and the memory of their devices."""
    return Model(path, devices or {}, placement or {}, list(only), threads, requests, verify, monitor, custom_ops or {}, dynamic,
                 refuse_requests, trusted_keys, signature, hosts, manager)
