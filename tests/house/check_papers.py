#!/usr/bin/env python3
"""Checks that documents refer only to existing files, commands, options, targets and tests, and that they mention every
option.

  check_papers.py BUILD_DIRECTORY     BUILD_DIRECTORY tells the build system's targets and ctest's tests
"""
import fnmatch
import functools
import glob
import os
import re
import subprocess
import sys

from style_tools import ROOT, sources

README_LINES = 130
CODE = re.compile(r"^(```|~~~)[^\n]*\n(.*?)^\1|^((?:    [^\n]*\n)+)|`([^`\n]+(?:\n[^`\n]+)?)`", re.S | re.M)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")
TOOL = os.environ.get("GCC_GRAPH", "")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def papers():
    return [f for f in sources() if f.endswith(".md")]


def snippets(text):
    """The parts of the text that are code: blocks, and inline code."""
    for match in CODE.finditer(text):
        yield next(" ".join(g.split(" ")) for g in match.groups()[1:] if g is not None)


@functools.cache
def tracked():
    files = set(sources())
    return files | {f[:i] for f in files for i, c in enumerate(f) if c == "/"}


def braces(pattern):
    """Expands a.{h,cpp} to the two file names."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if not match:
        return [pattern]
    return [p for part in match.group(1).split(",") for p in braces(pattern[:match.start()] + part + pattern[match.end():])]


def is_there(name):
    """True for a file or folder of the repository; a source may be named without its extension."""
    return all(any(fnmatch.fnmatchcase(f, p) or os.path.splitext(f)[0] == p for f in tracked()) for p in braces(name.rstrip("/")))


def files(path, text):
    """Checks links, and words with a slash that begin with one of the repository's folders."""
    for target in LINK.findall(text):
        if "://" not in target and os.path.normpath(os.path.join(os.path.dirname(path), target)) not in tracked():
            yield f"links to {target}, which is not there"
    tops = {f.split("/")[0] for f in sources() if "/" in f}
    for snippet in snippets(text):
        for word in re.split(r"[\s|=]+", snippet):
            word = word.strip("'\",;:()[]")
            if "/" in word and word.split("/")[0] in tops and not is_there(word.removesuffix(".")):
                yield f"names {word}, which is not there"


@functools.cache
def help_of(command):
    done = subprocess.run([TOOL, *command.split(), "--help"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


@functools.cache
def subcommands():
    """{"compile": [["-o", "--output"], ...], "function add": ...}"""
    found, todo = {}, [""]
    while todo:
        command = todo.pop()
        text = help_of(command)
        below = re.search(r"^SUBCOMMANDS:\n((?: +.*\n)+)", text, re.M | re.I)
        names = re.findall(r"^  (\w+)\b", below.group(1), re.M) if below else []
        todo += [f"{command} {n}".strip() for n in names]
        found[command] = [OPTION.findall(line.split("  ")[1]) for line in text.split("\n") if re.match(r"  -", line)]
    return found


def options_of(command):
    return {name for names in subcommands()[command] for name in names}


def own_options(script):
    """The options that a script's text names."""
    return set(OPTION.findall(read(script)))


def commands(path, text):
    """Checks that gcc-graph commands in code exist and have the given options."""
    for snippet in snippets(text):
        for line in re.split(r"\n|&&|; ", snippet.replace("\\\n", " ")):
            match = re.search(r"(?:^|[\s/$])gcc-graph ((?:[a-z]+ ?)+)?(.*)", line)
            if not match or not (match.group(1) or match.group(2).startswith("-")):
                continue
            words = (match.group(1) or "").split()
            command = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in subcommands() and len(words) >= n), "")
            if words and not command:
                yield f"names gcc-graph {words[0]}, which is no command"
                continue
            rest = re.sub(r"'[^']*'|#.*", "", match.group(2))
            for option in OPTION.findall(rest):
                if option not in options_of(command):
                    yield f"gives gcc-graph {command} {option}, which it does not have"


def lone_options(path, text):
    """Checks that an option by itself belongs to a command, or to a script or target that the document names."""
    of_any = set().union(*(options_of(c) for c in subcommands())) | set().union(*(own_options(s) for s in sources() if s.endswith((".py", ".sh"))))
    for snippet in snippets(text):
        if snippet.startswith("--"):
            for option in OPTION.findall(re.sub(r"'[^']*'", "", snippet)):
                if option not in of_any:
                    yield f"names {option}, which nothing takes"


def build_targets(build):
    try:
        with open(os.path.join(build, "build.ninja"), encoding="utf-8") as f:
            return set(re.findall(r"^build ([\w.-]+):", f.read(), re.M))
    except FileNotFoundError:
        return None  # another generator


@functools.cache
def test_names(build):
    listed = subprocess.run(["ctest", "-N"], cwd=build, capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^ *Test +#\d+: (.*)$", listed, re.M)
    return None if any(n.endswith("_NOT_BUILT") for n in names) else names


def targets(build):
    known = build_targets(build)

    def check(path, text):
        for snippet in snippets(text):
            for names in re.findall(r"\bninja (?:-C \S+ )?((?:[a-z]\w+ ?)+)|--build .*--target ([a-z]\w+)", snippet):
                for name in " ".join(names).split():
                    if known is not None and name not in known and name != "TARGET":
                        yield f"names the target {name}, which is not there"
    return check


def tests(build):
    """Checks that ctest -R PATTERN finds tests. A word like Suite.Test must be the name of a test, or its beginning."""
    def check(path, text):
        names = test_names(build)
        for snippet in snippets(text) if names is not None else ():
            patterns = re.findall(r"ctest .*?-R '?([^'\s]+)", snippet)
            if re.fullmatch(r"[A-Z]\w+\.[A-Z]\w*\*?|[A-Z]\w+\.\*", snippet):
                patterns.append(re.escape(snippet).replace(r"\*", ".*"))
            for pattern in patterns:
                if pattern not in ("NAME", "PATTERN") and not any(re.search(pattern, n) for n in names):
                    yield f"names the tests {pattern}, of which there is none"
    return check


@functools.cache
def words_of_tests():
    """The words in the sources of tests, and the sources' names."""
    there = [f for f in sources() if f.startswith("tests/")]
    read_ones = [f for f in there if f.endswith((".cpp", ".h", ".py", ".txt"))]
    return frozenset([os.path.basename(f) for f in there] + [w for f in read_ones for w in re.findall(r"[\w.-]+", read(f))])


def proofs(build):
    """The last column of docs/testing.md's tables names the evidence for a row: tests, targets, or names that tests
    give their parts."""
    def shows(word, names):
        pattern = r"(^|[./])" + re.escape(word).replace(r"\*", ".*")
        return word in (build_targets(build) or ()) or word in words_of_tests() or any(re.search(pattern, n) for n in names)

    def check(path, text):
        names = test_names(build)
        if path != "docs/testing.md" or names is None:
            return
        for row in re.findall(r"^\|.*\|$", text, re.M):
            for snippet in re.findall(r"`([^`]+)`", row.split("|")[-2]):
                for word in braces(snippet):
                    if not re.search(r"[ /(]|^-", word) and not shows(word, names):
                        yield f"names {word} as what shows something, which is no test"
    return check


def undocumented():
    """The options that no document names."""
    named = set(OPTION.findall("\n".join(snippet for p in papers() for snippet in snippets(read(p)))))
    for command, options in sorted(subcommands().items()):
        for names in options:
            if named.isdisjoint(names) and "--help" not in names:
                yield f"gcc-graph {command} {names[-1]} is in no paper"


# Each check must find broken references.
BROKEN = {
    "files": ("See [design](no_such.md).", "`compiler/no_such.cpp`"),
    "commands": ("`gcc-graph no_such M.gart`", "`gcc-graph run M.gart --cut`"),
    "lone_options": ("`--no" "-such`",),
    "targets": ("`ninja -C build/release no_such`",),
    "tests": ("`ctest --preset release -R NoSuchTest`", "`NoSuch.Test`"),
    "proofs": ("| a promise | `models_no_such""_thing` |",),
}


def blind(checks):
    """The checks that let a broken reference pass."""
    for check, texts in zip(checks, BROKEN.values()):
        for text in texts:
            if not list(check("docs/testing.md", text)):
                yield f"check_papers.py takes {text} for right"


def main():
    build = sys.argv[1]
    if not TOOL or not os.path.exists(TOOL):
        print("SKIP: there is no gcc-graph")
        return 77
    found = []
    lines = read("README.md").count("\n")
    if lines > README_LINES:
        found.append(f"README.md has {lines} lines, more than {README_LINES}")
    checks = [files, commands, lone_options, targets(build), tests(build), proofs(build)]
    if build_targets(build) is not None and test_names(build) is not None:
        found += blind(checks)
    for path in papers():
        if path != "CHANGELOG.md":  # tells of what was
            found += [f"{path} {what}" for check in checks for what in check(path, read(path))]
    found += undocumented()
    print("\n".join(dict.fromkeys(found)))
    print(f"{len(papers())} papers, {len(subcommands())} commands, {len(test_names(build) or [])} tests")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
