#!/usr/bin/env python3
"""Checks that the compiler still makes the same plans and kernels. If a refactoring changes any of them, this test shows the change.

  check_replay.py [--update] [--texts DIR] [--against DIR] [NAME...]

Compiles each small model (small_models.py), and some models of the zoo if it is beside the repository, with open and with fixed dims, for CPUs and for sm_80. The digest of the plan's text (kernels as expressions, buffers, steps, waits) must be the one in replay.json. So must the digest of each kernel's source (rows that end in "source"), which is the LLVM IR before LLVM's passes, or the CUDA C++. So must the digest of each header that the CUDA C++ includes (rows that begin with "device"). Comments of CUDA C++ do not count. Sources of small models are also compared for CPUs with tiles, NEON, Hopper and Blackwell. --update rewrites that file. --texts DIR stores the texts in DIR; --against DIR shows the differences to texts that another build stored. With either, the digests of the whole artifacts for CPUs are compared as well; replay.json has none, because machine code depends on LLVM's version. NAME: patterns of models; "device" stands for the headers.
"""
import argparse
import difflib
import fnmatch
import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile

import onnx

from model_check import ROOT, compile_model, dim_options, tool
import small_models

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "replay.json")
ZOO = ("squeezenet1_1", "mobilenet_v2", "shufflenet_v2_x1_0", "regnet_y_400mf", "unet", "minilm_l6", "llama_tiny_step", "t5_small_step",
       "wavenet", "crnn_ctc", "gcn", "yolo_head")
TARGETS = ("x86-64-v3", "sm_80")
SOURCE_TARGETS = ("x86-64-v4", "x86-64-v4-amx", "aarch64", "sm_75", "sm_90a", "sm_100a")  # open dims, small models
HEADERS = os.path.join(ROOT, "codegen", "cuda", "device")
LONGEST_DIFF = 200  # lines

# A comment with the space before it, and its line break if nothing else is on the line; or a literal, which may contain such a text.
COMMENT = re.compile(r"""(?P<line>^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/[ \t]*)\n)|(?P<comment>[ \t]*(?://[^\n]*|/\*.*?\*/))"""
                     r"""|R"(\w*)\(.*?\)\3"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|\b\d[\w'.]*""", re.S | re.M)
# Two sources, the second of which only has other comments; and pairs that differ in a token.
SAME = (("a + b;", "a + b;  // the sum"), ("f(a, b);", "f(a /* first */, b);"), ("f();\ng();\n", "f();\n  // then\n  /* twice */\ng();\n"),
        ("f(1'000, 'c');\n", "f(1'000, 'c');  // isn't\n"), ("#define F(a) \\\n  a\n", "// macro\n#define F(a) \\\n  a  // body\n"))
DIFFERENT = (("a + b;", "a - b;"), ('f("//a");', 'f("//b");'), ('f("/*a*/");', 'f("/*b*/");'), ("a / *b;", "a / c;"), ("f(); // g();\n", "f();\ng();\n"))


def small(folder):
    for name, (make, sizes) in small_models.MODELS.items():
        path = os.path.join(folder, name + ".onnx")
        yield name, path, sizes, lambda make=make, path=path: onnx.save(make(), path)


def of_zoo(folder):
    home = os.path.join(os.environ.get("GCC_GRAPH_MODELS") or os.path.join(ROOT, "..", "shared", "models"), "zoo")
    if not os.path.isdir(home):
        print("no zoo beside the repository: small models alone")
        return
    sys.path.insert(0, home)
    zoo = importlib.import_module("zoo")
    known = zoo.load_zoo(home)
    for name in (f"{architecture}.ts" for architecture in ZOO):
        path = os.path.join(folder, name + ".onnx")
        yield name, path, known[name]["sizes"][:1], lambda name=name: zoo.materialise(home, name, folder)


def printed(path, targets, options):
    """The output of --print-plan and --print-source. The compiler stops before machine code, which depends on LLVM's
    version."""
    done = subprocess.run([tool(), "compile", path, "-o", os.devnull, "--target", ",".join(targets), "--print-plan", "--print-source",
                           "--stop-after", "plan", *options], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def parts(text):
    """The text of the plans, and by target the sources of its kernels, each with the line that names the kernel."""
    head, *plans = re.split(r"^(?=plan for a )", text, maxsplit=1, flags=re.M)
    sources = {}
    for source in re.split(r"^(?=source \S+ k\d+ ')", head, flags=re.M)[1:]:
        sources.setdefault(source.split()[1], []).append(source)
    return "".join(plans), sources


def code(text):
    """CUDA C++ without comments."""
    return COMMENT.sub(lambda m: "" if m["line"] or m["comment"] else m.group(0), text)


def check_examples():
    for a, b in SAME:
        assert code(a) == code(b), f"a comment counts: {b!r} becomes {code(b)!r}"
    for a, b in DIFFERENT:
        assert code(a) != code(b), f"a token does not count: {b!r} becomes {code(b)!r}"


def device_headers():
    """(row, text) of each header that generated CUDA C++ includes."""
    for name in sorted(os.listdir(HEADERS)):
        with open(os.path.join(HEADERS, name), encoding="utf-8") as f:
            yield f"device {name}", re.sub(r"\n{2,}", "\n", code(f.read()))


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digests(sources):
    """A short digest of each kernel's source."""
    return " ".join(digest(source)[:6] for source in sources)


def artifact_digest(path, target, options):
    with tempfile.TemporaryDirectory() as folder:
        artifact = compile_model(path, os.path.join(folder, "a.gart"), "--target", target, *options)
        return hashlib.sha256(open(artifact, "rb").read()).hexdigest() + "\n"


def compilations(name, sizes):
    """(targets, "open" or "fixed", options) for each compilation of the model."""
    for target in TARGETS:
        yield [target], "open", []
        if sizes and sizes[0]:
            yield [target], "fixed", dim_options(sizes[:1])
    if name in small_models.MODELS:
        yield SOURCE_TARGETS, "open", []


def show(row, old, new):
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), f"before: {row}", f"now: {row}", lineterm="", n=1))
    print("\n".join(lines[:LONGEST_DIFF]))
    if len(lines) > LONGEST_DIFF:
        print(f"... {len(lines) - LONGEST_DIFF} more lines")


def difference(old, new):
    """For rows of sources: the kernels whose source has changed."""
    old, new = old.split(), new.split()
    if len(old) != len(new):
        return f"{len(old)} kernels before, {len(new)} now"
    return "changed" if len(new) == 1 else "changed: " + ", ".join(f"k{k}" for k in range(len(new)) if old[k] != new[k])


def compare_kept(row, kept, texts, against):
    for kind, text in kept.items():
        file = row.replace(" ", "_") + kind
        if texts:
            with open(os.path.join(texts, file), "w") as f:
                f.write(text)
        if against and os.path.exists(os.path.join(against, file)):
            old = open(os.path.join(against, file)).read()
            if old != text:
                show(row + kind, old, text)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--update", action="store_true")
    p.add_argument("--texts", metavar="DIR")
    p.add_argument("--against", metavar="DIR")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    check_examples()
    known = json.load(open(LIST)) if os.path.exists(LIST) else {}
    now, changed = {}, []

    def note(row, value, kept):
        now[row] = value
        if value != known.get(row):
            changed.append(row)
        compare_kept(row, kept, a.texts, a.against)

    if a.texts:
        os.makedirs(a.texts, exist_ok=True)
    if not a.names or any(fnmatch.fnmatch("device", pattern) for pattern in a.names):
        for row, text in device_headers():
            note(row, digest(text), {".txt": text})
    with tempfile.TemporaryDirectory() as folder:
        for name, path, sizes, make in (m for source in (small, of_zoo) for m in source(folder)):
            if a.names and not any(fnmatch.fnmatch(name, pattern) for pattern in a.names):
                continue
            make()
            for targets, variant, options in compilations(name, sizes):
                plans, sources = parts(printed(path, targets, options))
                for target, of_target in sources.items():
                    texts = [code(source) for source in of_target] if target.startswith("sm_") else of_target
                    note(f"{name} {target} {variant} source", digests(texts), {".txt": "".join(of_target)})
                if len(targets) > 1:
                    continue
                kept = {".txt": plans}
                if (a.texts or a.against) and targets[0] != "sm_80":
                    kept[".artifact"] = artifact_digest(path, targets[0], options)
                note(f"{name} {targets[0]} {variant}", digest(plans), kept)
    if a.update:
        json.dump(dict(sorted({**known, **now}.items())), open(LIST, "w"), indent=0)
    for row in changed:
        print(f"{row}: {'written' if a.update else difference(known[row], now[row]) if row in known else 'is not in the list'}")
    if changed and not a.update:
        print("if this was meant: check_replay.py --update; to see what changed: --texts with a build from before, --against with this one")
    print(f"{len(now) - len(changed)} passed, {0 if a.update else len(changed)} failed")
    return 1 if changed and not a.update else 0


if __name__ == "__main__":
    sys.exit(main())
