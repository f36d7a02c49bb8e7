"""Runs that the caller does not wait for: a binding of libgart_fleet's queues (gart/queue.h).

    import gart.queue
    queue = gart.queue.Queue(model, runs=2)            # model: of gart.load or gart.fleet.load
    run = queue.submit({"x": array}, timeout=0.02)     # a concurrent.futures.Future
    run.add_done_callback(lambda run: print(run.result()["y"]))
    outputs = await asyncio.wrap_future(queue.submit({"x": array}))
    run.cancel()
"""
import concurrent.futures
import ctypes
import itertools
import weakref

import gart
from gart import GartError, fleet

_CANCELLED = 8


class _Named(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("tensor", gart._Tensor)]


_Done = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_Named), ctypes.c_size_t)


class Run(concurrent.futures.Future):
    """The outputs of a run, {name: array}, when it is over. An error is a GartError."""

    def __init__(self, queue, inputs):
        super().__init__()
        self._queue, self._kept, self._number = weakref.ref(queue), inputs, ctypes.c_uint64()

    def cancel(self):
        """Ends the run: at once if it waits, otherwise before its next step. Returns False if the run is over already."""
        queue = self._queue()
        if self.done() or queue is None:
            return self.cancelled()
        fleet._lib.gart_queue_cancel(queue._handle, self._number)
        return True

    def _end(self, status, message, outputs):
        self._kept = None
        if status == _CANCELLED:
            super().cancel()
            self.set_running_or_notify_cancel()
        elif status != 0:
            self.set_exception(GartError(message))
        else:
            self.set_result(outputs)


_open = {}  # number of a run -> the run, and the session's invocation that it uses, or None
_numbers = itertools.count(1)


@_Done  # lives as long as the process, because the library may call it while the last queue is destroyed
def _done(number, status, message, outputs, count):
    run, invocation = _open.pop(number)
    try:
        if status == 0 and invocation is not None:
            arrays = {name: invocation.output(i) for i, name in enumerate(invocation.outputs)}
        else:
            arrays = {outputs[i].name.decode(): gart._copy(outputs[i].tensor) for i in range(count)}
        run._end(status, message.decode(), arrays)
    except BaseException as error:  # an exception must not pass through C
        run.set_exception(error)


class Queue:
    """Runs a model, of gart.load or gart.fleet.load, on threads of its own. Any number of threads may submit runs."""
    _handle = None

    def __init__(self, model, runs=0, waiting=1024):
        """`runs`: the most runs at a time, each with memory of its own; 0: two per device. `waiting`: the most runs that wait."""
        fleet._use_library()
        self._model, self._handle = model, ctypes.c_void_p()
        is_fleet = isinstance(model, fleet.Model)
        make, handle = (fleet._lib.gart_queue_new_fleet, model._handle) if is_fleet else (fleet._lib.gart_queue_new, model._program.handle)
        fleet._check(make(handle, runs, ctypes.c_size_t(waiting), ctypes.byref(self._handle)))

    def __del__(self):
        if self._handle and fleet._lib is not None:
            fleet._lib.gart_queue_free(self._handle)

    def submit(self, feeds, entry=None, session=None, timeout=None):
        """Returns a concurrent.futures.Future at once. The arrays must stay unchanged until it is done. `entry`: the entry
        point; None: the first. `session`: the run uses its states; the runs of one session must not overlap. `timeout`: in seconds; a run
        that takes longer fails. Raises GartError if too many runs wait."""
        invocation = session and session.new_invocation(entry)
        codes = self._model._program.interface(entry)[0] if hasattr(self._model, "_program") else {}
        inputs = {name: gart._Memory(f"input '{name}'", array, "cpu", codes.get(name)) for name, array in feeds.items()}
        run, number, limit = Run(self, inputs), next(_numbers), ctypes.c_int64(round((timeout or 0) * 1e6))
        if timeout is not None and timeout <= 0:
            raise GartError(f"the timeout is {timeout} s; it must be above 0")
        _open[number] = run, invocation
        try:
            if invocation is not None:
                invocation.set_inputs(feeds)
                status = fleet._lib.gart_queue_submit_invocation(self._handle, invocation._invocation, limit, _done, ctypes.c_void_p(number),
                                                                 ctypes.byref(run._number))
            else:
                named = (_Named * len(inputs))(*(_Named(name.encode(), memory.tensor()) for name, memory in inputs.items()))
                status = fleet._lib.gart_queue_submit(self._handle, entry and entry.encode(), named, ctypes.c_size_t(len(named)), limit, _done,
                                                      ctypes.c_void_p(number), ctypes.byref(run._number))
            fleet._check(status)
        except BaseException:
            _open.pop(number, None)
            raise
        return run

    def waiting(self):
        """The number of runs that have not begun."""
        return fleet._lib.gart_queue_waiting(self._handle)
