"""Runs a measurement in a process of its own, so that a crash or a hang costs only one row."""
import multiprocessing


def _child(pipe, function, arguments):
    try:
        pipe.send(function(*arguments))
    except Exception as e:
        pipe.send({"failed": f"{type(e).__name__}: {str(e)[:300]}"})


def run_apart(function, arguments, limit_s):
    """The function's result, or {"failed": reason} if the function raises, crashes or does not end within `limit_s`
    seconds."""
    ours, theirs = multiprocessing.Pipe(False)
    process = multiprocessing.get_context("fork").Process(target=_child, args=(theirs, function, arguments))
    process.start()
    theirs.close()
    try:
        result = ours.recv() if ours.poll(limit_s) else {"failed": f"no end after {limit_s} s"}
    except EOFError:
        process.join()
        result = {"failed": f"died, exit status {process.exitcode}"}
    if process.is_alive():
        process.kill()
    process.join()
    return result
