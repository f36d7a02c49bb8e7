#!/usr/bin/env python3
"""listed_programs.py FOLDER: makes FOLDER a PATH of links to the programs that a bare Debian has once tools/lib/setup.sh has run, and no others. A test
that calls anything else then fails on every machine, not only on a bare one. Without dpkg nothing is made."""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")
FIELDS = ("Package", "Essential", "Priority", "Depends", "Pre-Depends", "Provides")


def listed_packages():
    """The names in setup.sh's list."""
    with open(os.path.join(ROOT, "tools", "lib", "setup.sh")) as setup:
        rows = re.search(r"^packages=\(\n(.*?)^\)", setup.read(), re.M | re.S)[1]
    return re.sub(r"#.*", "", rows).split()


def names_of(relations):
    """Package names of a dependency field, alternatives included."""
    return [re.split(r"[ (:]", name.strip())[0] for name in re.split(r"[,|]", relations) if name.strip()]


def installed():
    """For each package: whether a bare system has it, and its dependencies. None without dpkg."""
    if not shutil.which("dpkg-query"):
        return None
    rows = subprocess.run(["dpkg-query", "-W", "-f", "\t".join(f"${{{f}}}" for f in FIELDS) + "\n"], capture_output=True, text=True, check=True).stdout
    packages = {}
    for row in rows.splitlines():
        name, essential, priority, depends, earlier, provides = row.split("\t")
        fact = (essential == "yes" or priority == "required", names_of(depends) + names_of(earlier))
        for each in [name, *names_of(provides)]:
            known = packages.setdefault(each, (False, []))
            packages[each] = (known[0] or (fact[0] and each == name), known[1] + ([name] if each != name else fact[1]))
    return packages


def missing_packages():
    """The packages of the list that this machine lacks."""
    packages = installed() or {}
    return [name for name in listed_packages() if name not in packages]


def closure(packages):
    """The packages of a bare system, those of the list, and all their dependencies."""
    todo, found = [name for name, (bare, _) in packages.items() if bare] + listed_packages(), set()
    while todo:
        name = todo.pop()
        if name in packages and name not in found:
            found.add(name)
            todo += packages[name][1]
    return found


def programs():
    """The path of each program, by name; None without dpkg."""
    packages = installed()
    if packages is None:
        return None
    names = sorted(closure(packages))
    files = subprocess.run(["dpkg-query", "-L", *names], capture_output=True, text=True).stdout.splitlines()
    owned = {os.path.realpath(f) for f in files if os.path.dirname(f) in PROGRAM_FOLDERS or "/bin/" in f}
    found = {}
    for folder in reversed(PROGRAM_FOLDERS):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if os.path.realpath(path) in owned:  # no package owns the links of update-alternatives
                found[name] = path
    return found


if __name__ == "__main__":
    there = programs()
    if there:
        shutil.rmtree(sys.argv[1], ignore_errors=True)
        os.makedirs(sys.argv[1])
        for program, place in there.items():
            os.symlink(place, os.path.join(sys.argv[1], program))
