#!/usr/bin/env python3
"""Statistics of the code compared with another commit: the table of docs/design.md.

  house_numbers.py [--before COMMIT] [COMMIT] default: HEAD, and the commit before the present structure of plans, devices and folders
"""
import argparse
import re
import subprocess

from check_rules import CODE, functions, of_folder
from style_tools import ROOT

BEFORE = "e40f070"
ROWS = []


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


class Tree:
    """The text of all C++ files of a commit."""
    def __init__(self, commit):
        self.commit = git("rev-parse", "--short", commit).strip()
        names = [f for f in git("ls-tree", "-r", "--name-only", commit).splitlines() if f.endswith((".h", ".cpp", ".hpp", ".inc", ".cuh"))]
        asked = subprocess.run(["git", "cat-file", "--batch"], cwd=ROOT, capture_output=True, check=True,
                               input="".join(f"{commit}:{f}\n" for f in names).encode()).stdout
        self.files, at = {}, 0
        for name in names:
            end = asked.index(b"\n", at)
            size = int(asked[at:end].split()[2])
            self.files[name] = asked[end + 1:end + 1 + size].decode()
            at = end + 1 + size + 1

    def code(self, *folders):
        return {f: text for f, text in self.files.items() if of_folder(f, *(folders or CODE))}

    def lines_with(self, pattern, *folders):
        return [f for f, text in self.code(*folders).items() for line in text.split("\n") if re.search(pattern, line)]


def row(what):
    def add(measure):
        ROWS.append((what, measure))
        return measure
    return add


def circles(edges):
    """Sets of several nodes that all reach each other (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def walk(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in edges.get(v, ()):
            if w not in index:
                walk(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            group = [stack.pop()]
            while group[-1] != v:
                group.append(stack.pop())
            found.extend([group] if len(group) > 1 else [])

    for v in sorted(edges):
        if v not in index:
            walk(v)
    return found


def includes(tree, name):
    edges = {}
    for path, text in tree.code().items():
        for target in re.findall(r'^\s*#\s*include "([^"]+)"', text, re.M):
            if target in tree.files and name(target) != name(path):
                edges.setdefault(name(path), set()).add(name(target))
    return edges


@row("circles of includes among units (a header with its source), and units in them")
def unit_circles(tree):
    found = circles(includes(tree, lambda f: f.rsplit(".", 1)[0]))
    return f"{len(found)}, {sum(map(len, found))}"


@row("circles of includes among folders, and folders in them")
def folder_circles(tree):
    found = circles(includes(tree, lambda f: f.rsplit("/", 1)[0]))
    return f"{len(found)}, {sum(map(len, found))}"


@row("lines that name the class of a device (`DeviceClass`)")
def device_class(tree):
    return len(tree.lines_with(r"\bDeviceClass\b"))


@row("of these, lines that decide by it (`DeviceClass::`), outside fleets")
def device_decisions(tree):
    return len([f for f in tree.lines_with(r"\bDeviceClass::(cpu|cuda)\b") if not of_folder(f, "compiler/fleet", "compiler/partition")])


@row("`static_cast`s in the compiler")
def casts(tree):
    return sum(text.count("static_cast<") for text in tree.code("compiler").values())


@row("conditions outside operators' files that list three operators or more")
def operator_lists(tree):
    one = r"(?:\w+(?:\.|->))*\w*op\w* [=!]= &op_\w+"
    several = re.compile(rf"(?:{one}\s*(?:\|\||&&)\s*){{2,}}{one}")
    return sum(len(several.findall(text)) for f, text in tree.code("compiler", "codegen").items()
               if not of_folder(f, "compiler/ops", "compiler/import", "compiler/export", "compiler/train"))


@row("lines of the runtime's fleet that name a kind of device")
def fleet_names(tree):
    return len(tree.lines_with(r"(?i)cuda|is_gpu|gpu_space", "runtime/fleet"))


@row("functions on a variant's kinds that a new kind of contraction must extend")
def kind_functions(tree):
    return len(tree.lines_with(r"\b(const )?AttentionKernel& \w+[,)]", "compiler", "codegen/cpu"))


@row("lines of the compiler that ask whether something is on the host")
def on_host(tree):
    return len(tree.lines_with(r"on_host|HostCode", "compiler"))


@row("lines of code: `{}`".format("`, `".join(CODE)))
def lines_of_code(tree):
    return f"{sum(text.count(chr(10)) for text in tree.code().values()):,}"


@row("the longest file, the longest function, in lines")
def longest(tree):
    return "{}, {}".format(max(text.count("\n") for text in tree.code().values()),
                           max(n for text in tree.code().values() for n, _, _ in functions(text)))


@row("files of more than 300 lines; functions of more than 40")
def long(tree):
    return "{} of {}; {} of {:,}".format(sum(text.count("\n") > 300 for text in tree.code().values()), len(tree.code()),
                                         sum(n > 40 for text in tree.code().values() for n, _, _ in functions(text)),
                                         sum(1 for text in tree.code().values() for _ in functions(text)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", default=BEFORE)
    parser.add_argument("commit", nargs="?", default="HEAD")
    options = parser.parse_args()
    before, now = Tree(options.before), Tree(options.commit)
    print(f"| what | {before.commit} | {now.commit} |\n|---|---|---|")
    for what, measure in ROWS:
        print(f"| {what} | {measure(before)} | {measure(now)} |")
    old = [f for f in CODE if any(f == p.split("/")[0] for p in before.files)]
    changed = git("diff", "--shortstat", "-M", "-w", before.commit, now.commit, "--", *old)
    print(f"\nLines of code since, moves and white space aside:{changed.rstrip()}")


if __name__ == "__main__":
    main()
