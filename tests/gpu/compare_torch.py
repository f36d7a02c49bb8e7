#!/usr/bin/env python3
"""Times PyTorch with the benchmark models on this machine's GPU, one line per model, precision and engine:

    compare_torch.py [--seconds 3] [--done FILE] [--cpu] [MODEL...]

    MODEL PRECISION ENGINE WALL_MS DEVICE_MS ENQUEUE_US

Engines: eager; reduce-overhead and max-autotune (torch.compile modes); captured (Inductor's code in one
torch.cuda.graph, launched by hand). max-autotune takes minutes, so it runs last, after the other engines of all models.
WALL_MS is the median time over runs of the call and the synchronisation. DEVICE_MS is the time per run between events
around eight consecutive runs, as in `gcc-graph bench`. ENQUEUE_US is the time until the call returns. Inputs stay in
device memory. fp32 means full f32: TF32 is off. A model whose library (torchvision, transformers) is missing prints
SKIP. Rows that FILE contains are not measured again.
"""
import argparse
import functools
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("SKIP: there is no PyTorch")
    sys.exit(0)


def vision(name, batch):
    import torchvision
    model = getattr(torchvision.models, name)(weights=None, **({"init_weights": True} if name == "googlenet" else {}))
    return model, (torch.randn(batch, 3, 224, 224),)


def bert(name, sequence, batch):
    from transformers import BertConfig, BertModel
    sizes = {"base": {}, "large": {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}}
    model = BertModel(BertConfig(**sizes[name]))
    return model, (torch.randint(0, 30000, (batch, sequence)),)


class PointwiseChain(torch.nn.Module):
    """chain_500 of tools/models/make_model.py."""

    def forward(self, x):
        y = x
        for i in range(100):
            y = torch.tanh(y * (1 + 0.001 * i) + 0.01 * (i % 7)) * 0.5 + x
        return y


class BranchLoop(torch.nn.Module):
    """branch_loop of tools/models/make_model.py: branches on a computed value."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(256, 256)

    def forward(self, x):
        for _ in range(10):
            y = torch.tanh(self.layer(x))
            x = -y if y.mean() > 0 else y
        return x


def transformers_rows():
    rows = {}
    for size in ("base", "large"):
        for sequence in (128, 384):
            for batch in (1, 8):
                rows[f"bert_{size}_s{sequence}_b{batch}"] = functools.partial(bert, size, sequence, batch)
    return rows


MODELS = {
    "resnet50_b1": lambda: vision("resnet50", 1),
    "resnet50_b8": lambda: vision("resnet50", 8),
    "vit_b_16_b1": lambda: vision("vit_b_16", 1),
    "vit_b_16_b8": lambda: vision("vit_b_16", 8),
    "googlenet_b1": lambda: vision("googlenet", 1),
    **transformers_rows(),
    "chain_500": lambda: (PointwiseChain(), (torch.randn(64, 1024),)),
    "branch_loop": lambda: (BranchLoop(), (torch.randn(1, 256),)),
}


def captured(model, inputs):
    """Inductor's kernels, captured in one CUDA graph."""
    compiled = torch.compile(model)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            compiled(*inputs)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        compiled(*inputs)
    return graph.replay


ENGINES = ("eager", "reduce-overhead", "captured"), ("max-autotune",)


def make_run(engine, model, inputs):
    if engine == "eager":
        return lambda: model(*inputs)
    if engine == "captured":
        return captured(model, inputs)
    compiled = torch.compile(model, mode=engine)
    return lambda: compiled(*inputs)


def measure(run, seconds):
    """(wall ms, device ms, enqueue us) on a GPU."""
    batch = 8
    for _ in range(10):
        run()
    torch.cuda.synchronize()
    wall, device, enqueue = [], [], []
    start = time.perf_counter()
    while len(wall) < 20 or time.perf_counter() - start < seconds / 2:
        begin = time.perf_counter()
        run()
        enqueue.append(time.perf_counter() - begin)
        torch.cuda.synchronize()
        wall.append(time.perf_counter() - begin)
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start = time.perf_counter()
    while len(device) < 3 or time.perf_counter() - start < seconds / 2:
        before.record()
        for _ in range(batch):
            run()
        after.record()
        after.synchronize()
        device.append(before.elapsed_time(after) / batch)
    return f"{statistics.median(wall) * 1e3:.4f} {statistics.median(device):.4f} {statistics.median(enqueue) * 1e6:.1f}"


def measure_cpu(run, seconds):
    run()
    wall, start = [], time.perf_counter()
    while not wall or time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        run()
        wall.append(time.perf_counter() - begin)
    return f"{statistics.median(wall) * 1e3:.3f} - -"


def measure_model(name, precision, engines, device, seconds):
    """Prints the model's rows. ImportError: a library is missing."""
    model, inputs = MODELS[name]()
    dtype = torch.float16 if precision == "fp16" else torch.float32
    model = model.eval().to(device, dtype)
    inputs = tuple(x.to(device, dtype if x.is_floating_point() else x.dtype) for x in inputs)
    for engine in engines:
        torch._dynamo.reset()
        with torch.inference_mode():
            try:
                row = (measure if device == "cuda" else measure_cpu)(make_run(engine, model, inputs), seconds)
            except Exception as error:  # any failure of an engine becomes a row of the table
                print(f"FAILED {name} {precision} {engine}: {(str(error).splitlines() or [type(error).__name__])[0]}", flush=True)
                continue
        print(f"{name} {precision} {engine} {row}", flush=True)


def rows_of(path):
    """The rows that an earlier run printed: (model, precision, engine)."""
    if not path:
        return set()
    with open(path, encoding="utf-8") as file:
        return {tuple(fields[:3]) for fields in map(str.split, file) if len(fields) == 6}


def measure_models(names, done, device, seconds):
    for engines in ENGINES:
        for name in list(names):
            for precision in ("fp32", "fp16"):
                left = [e for e in engines if (name, precision, e) not in done and (e, device) != ("captured", "cpu")]
                try:
                    if left:
                        measure_model(name, precision, left, device, seconds)
                except ImportError as error:
                    print(f"SKIP {name}: {error}", flush=True)
                    names.remove(name)
                    break


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS) + "; others are passed over")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--done", metavar="FILE", help="what an earlier run has printed")
    parser.add_argument("--cpu", action="store_true", help="measure on the CPU: to try this program")
    arguments = parser.parse_args()
    if arguments.cpu:
        print(f"# PyTorch {torch.__version__}, CPU", flush=True)
    elif torch.cuda.is_available():
        print(f"# PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}, TF32 off", flush=True)
    else:
        print("SKIP: PyTorch sees no GPU")
        return
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    names = [name for name in arguments.models or MODELS if name in MODELS]
    measure_models(names, rows_of(arguments.done), "cpu" if arguments.cpu else "cuda", arguments.seconds)


if __name__ == "__main__":
    main()
