#!/usr/bin/env python3
"""Writes docs/performance.md from the newest files of tests/bench/results/.

  performance_page.py            writes the page
  performance_page.py --check    fails if the page differs from the results
"""
import glob
import json
import math
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "results")
PAGE = os.path.join(HERE, "..", "..", "docs", "performance.md")

METHOD = """\
# Performance

This page gives the method of measurement and the newest figures. `python tests/bench/performance_page.py` writes it from
`tests/bench/results/`; a test (house_performance) checks that it is up to date.

## Method

* **Side by side.** Every ratio comes from one run in which the engines take turns on the same machine. A ratio above 1
  means that gcc-graph is faster. Times from different machines are never compared.
* **Only correct results count.** A row counts only if the outputs agree with the other engine (1e-3 of the largest element
  unless the table says otherwise).
* **As users run it.** Runs use default flags, files as exporters write them, and open dimensions. A column says so if
  dimensions are fixed.
* **Minimum of a round, median of rounds.** Each round gives its minimum latency, and a row is the median over rounds. Rows
  measured while other work ran use the least processor time, and their file says so.
* **Predict first.** The commit that adds an optimisation states the expected gain and the measured one.

| measurement | command |
|---|---|
| latency compared with onnxruntime and OpenVINO | `python tests/bench/compare.py` |
| whole models of a zoo | `ninja -C build/release bench_zoo` |
| single nodes, and their limits | `ninja -C build/release check_cliffs` |
| quantised models | `ninja -C build/release bench_quantised` |
| compile time and memory | `ninja -C build/release check_compile_time` |
| training steps compared with PyTorch and JAX | `ninja -C build/release bench_training` |
| replicas of a training step | `ninja -C build/release bench_replicas` |
| lazy graphs compared with NumPy, PyTorch and others | `python tests/bench/lazy_speed.py` |
| fleets: predictions, pipelines, hand-overs | `ninja -C build/release check_prediction_error` and the targets in [fleets](fleets.md) |
| GPUs | `tools/gpu-check.sh`, which writes its table to `tests/bench/results/` |
| kernels alone, as a share of the FMA peak | `conv_bench`, `matmul_bench` |
"""


def newest(pattern, count=1):
    """Paths of the newest results, the newest first; names begin with their date."""
    return sorted(glob.glob(os.path.join(RESULTS, pattern)), reverse=True)[:count]


def lines_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines()


def link(path):
    name = os.path.basename(path)
    return f"[{name}](../tests/bench/results/{name})"


def compare_section():
    text = ["## Whole models on CPUs, f32, batch 1", "",
            "Each cell: onnxruntime's time over ours / OpenVINO's time over ours.", ""]
    for path in newest("*-compare.txt", 2):
        head, *table = lines_of(path)
        text += [f"{head} ({link(path)}).", "", *table, ""]
    return text


def zoo_row(path):
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    sizes = [s for row in data["rows"].values() for s in row["sizes"].values() if "open_ms" in s]
    ratios = [s["ort_ms"] / s["open_ms"] for s in sizes]
    open_over_fixed = [s["open_ms"] / s["fixed_ms"] for s in sizes if s.get("fixed_ms")]
    mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))  # noqa: E731
    text = path.replace(".json", ".txt")
    return (f"| {lines_of(text)[0].split(';')[0]} | {len(data['rows'])} | {mean(ratios):.2f} | {min(ratios):.2f} | "
            f"{mean(open_over_fixed):.3f} | {link(text)} |")


def zoo_section():
    return ["## A zoo of models", "",
            "Files of torch's two exporters, weights drawn from a seed, dimensions open, one thread; onnxruntime's time over ours.", "",
            "| machine | files | geometric mean | least | open over fixed | rows |", "|---|---|---|---|---|---|",
            *[zoo_row(path) for path in newest("*-zoo.json", 2)], "", "![Every file of the zoo](zoo.svg)", ""]


def cliffs_section():
    (path,) = newest("*-cliffs.txt")
    head = []
    for line in lines_of(path):
        if not line.strip():
            break
        head.append(line.rstrip())
    counted = re.search(r"(\d+) under 1x \(([\d.]+) %\), (\d+) of over 20 us under 0.8x", " ".join(head))
    return ["## Single nodes on CPUs", "",
            f"All rows of the table and every distinct node of the zoo in five element types compared with onnxruntime: {counted.group(1)} are",
            f"slower ({counted.group(2)} %); {counted.group(3)} of those that take over 20 us are slower by more than a fifth ({link(path)}: machine, "
            "and all rows under 1.1).", ""]


def quantised_section():
    (path,) = newest("*-quantised.txt")
    head, _, *rows = lines_of(path)
    text = ["## Quantised models on CPUs", "", f"{head} ({link(path)}).", "",
            "| model | ours, ms | x onnxruntime | x our f32 | difference to onnxruntime |", "|---|---|---|---|---|"]
    for row in rows:
        cells = re.split(r"\s{2,}", row.strip())
        if len(cells) == 5:
            text.append("| " + " | ".join(cells) + " |")
    return [*text, ""]


def lazy_section():
    (path,) = newest("*-lazy.txt")
    lines = lines_of(path)
    table = []
    for line in lines:
        if line.startswith("|"):
            table.append(line)
        elif table:
            break
    return ["## Deferred graphs in Python", "", f"{lines[0]}; {lines[1]} ({link(path)}).", "", *table, ""]


def training_section():
    paths = newest("*-training.txt")
    if not paths:
        return []
    title, *lines = lines_of(paths[0])
    return ["## Training steps on CPUs", "", f"{title} ({link(paths[0])}).", "", *lines, ""]


def gpu_section():
    (path,) = newest("*-NVIDIA-*.md")
    title, *lines = lines_of(path)
    first = lines.index("## Networks")
    table = [line for line in lines[first:lines.index("## Single operators")] if line.startswith("|")]
    return [f"## Networks on a GPU: {title.split(', ')[1]}", "",
            f"{title.lstrip('# ').split(',')[0]}, milliseconds on the device; conditions, single operators and gaps: {link(path)}.", "", *table, ""]


def other_section():
    return ["## More results", "", *[f"* Fleets: {link(path)}" for path in newest("*-fleets.txt")],
            *[f"* Replicas of training steps: {link(path)}" for path in newest("*-replicas.txt")], ""]


def page():
    sections = (compare_section, zoo_section, gpu_section, cliffs_section, quantised_section, training_section, lazy_section,
                other_section)
    lines = [METHOD]
    for section in sections:
        lines += section()
    return "\n".join(lines).rstrip() + "\n"


def main():
    text = page()
    if "--check" not in sys.argv[1:]:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(PAGE, encoding="utf-8") as f:
        if f.read() == text:
            return 0
    print("docs/performance.md differs from tests/bench/results/: run tests/bench/performance_page.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
