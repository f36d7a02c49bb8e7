#!/usr/bin/env python3
"""Scripts may call only programs that a bare Debian has after tools/lib/setup.sh, unless they first check that the
program exists (`command -v`, shutil.which). tools/test.sh enforces the same for all tests by their PATH
(tools/lib/listed_programs.py)."""
import ast
import os
import re
import sys

from style_tools import ROOT, SKIPPED, sources

sys.path.insert(0, os.path.join(ROOT, "tools", "lib"))
import listed_programs  # noqa: E402

BUILTIN = set(""". : [ [[ alias bg break builtin case cd command continue declare do done echo elif else esac eval exec exit export false fi for function
getopts hash if in let local mapfile printf pwd read readonly return select set shift shopt source test then time times trap true type ulimit umask unset
until wait while { } !""".split())
OPTIONAL = {"nvidia-smi"}  # a driver brings it; without one its answer is empty, which gpu-check.sh says
RUNS_ANOTHER = {"exec", "env", "as_root", "sudo", "timeout", "nice", "xargs", "time"}  # its first word that is no option or number
OPENS_COMMAND = {"then", "do", "else", "elif", "if", "while", "until", "!", "{", "time"}
TOKEN = re.compile(r"""(?P<comment>(?<![^\s;|&(])\#[^\n]*)|<<-?\s*'?(?P<here>\w+)'?[^\n]*\n.*?\n\s*(?P=here)(?=\n)|(?P<single>'[^']*')|(?P<double>")
  |(?P<sum>\$?\(\((?:[^()]|\([^()]*\))*\)\))|(?P<list>(?<==)\((?:[^()]|\([^()]*\))*\))|(?P<inner>\$\(|<\()|(?P<variable>\$\{[^}]*\}|\$[\w@*?!\#-])|(?P<end>;;|\|\||&&|[;|\n(]|&(?!>))|(?P<close>\))
  |(?P<redirection>\d*>>?&?\d*|\d*<)|(?P<blank>(?:\\\n|[ \t])+)|(?P<text>(?:\\.|[^\s;|&()'"$<>])+|.)""", re.X | re.S)


class Words:
    """Reads shell text. `commands` are the literal words in command position."""

    def __init__(self, text):
        self.text, self.at, self.commands = text, 0, set()

    def quoted(self):
        """Reads to the end of a double-quoted text."""
        while self.at < len(self.text):
            inner = TOKEN.match(self.text, self.at)
            if inner.lastgroup in ("sum", "inner"):
                self.at = inner.end()
                self.read() if inner.lastgroup == "inner" else None
            elif self.text[self.at] == '"':
                self.at += 1
                return
            else:
                self.at += 2 if self.text[self.at] == "\\" else 1

    def read(self):
        """Reads to the bracket that closes this text."""
        word, literal, wanted, patterns = "", True, True, False
        while self.at < len(self.text):
            found = TOKEN.match(self.text, self.at)
            kind, self.at = found.lastgroup, found.end()
            if kind in ("text", "single", "double", "variable", "inner", "sum", "list"):
                if wanted and not word and (default := re.match(r"\$\{\w+:-([A-Za-z_][\w.+-]*) ", found[0])):
                    self.commands.add(default[1])
                literal = literal and kind == "text"
                word += found[0] if kind == "text" else "'"
                self.quoted() if kind == "double" else self.read() if kind == "inner" else None
                continue
            if word:
                wanted, patterns = self.ended(word, literal, wanted, patterns)
                word, literal = "", True
            if kind == "close":
                if not patterns:
                    return
                wanted, patterns = True, False
            elif kind == "end":
                wanted, patterns = not (patterns and found[0] == "|"), patterns or found[0] == ";;"
            elif kind == "redirection" and wanted:
                wanted = None  # the next word is the file name, then comes the command

    def ended(self, word, literal, wanted, patterns):
        """Returns whether a command may follow this word, and whether labels of `case` follow."""
        if word in ("in", "esac"):
            return word == "esac", word == "in" and self.case
        self.case = word == "case" or (self.case and word != "for")
        if wanted is None or patterns:
            return wanted is None, patterns
        if not wanted:
            return False, patterns
        if word in OPENS_COMMAND or re.match(r"[A-Za-z_]\w*\+?=", word):
            return True, patterns
        if literal and re.fullmatch(r"[A-Za-z_][\w.+-]*", word):
            self.commands.add(word)
            return word in RUNS_ANOTHER, patterns
        return word.startswith("-") or word.isdigit(), patterns

    case = False


def called(text):
    """The programs that a script calls without defining them or checking that they exist."""
    words = Words(text)
    while words.at < len(text):
        words.read()
    asked = set(re.findall(r"command -v ([\w-]+)", text))
    defined = set(re.findall(r"(?:^|[;{])\s*([\w-]+)\(\)", text, re.M))
    return words.commands - asked - defined - BUILTIN - OPTIONAL


def called_by_python(text):
    """The programs that occur as words in the calls of a module."""
    found = set()
    for call in ast.walk(ast.parse(text)):
        words = call.args[0] if isinstance(call, ast.Call) and ast.unparse(call.func).startswith("subprocess.") and call.args else None
        first = words.elts[0] if isinstance(words, (ast.List, ast.Tuple)) and words.elts else words
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            found.add(first.value)
    return found - set(re.findall(r"which\(\"([\w-]+)\"\)", text))


SAMPLE = """make -j2 # gdb
if file x; then a=$(strace "$(perf stat)"); fi | jq . && FOO=1 ${PACK:-zstd -T0} && echo "awk $((1 + 2))"
case $x in nm|ltrace) curl "make"; ;; esac; command -v lsof; lsof; nice -n 5 bc 'dc'; list=(rsync) >objdump wget
"""
IN_SAMPLE = set("make file strace perf jq zstd curl bc wget".split())


def main():
    if called(SAMPLE) - {"nice"} != IN_SAMPLE or called_by_python("subprocess.run(['make'])") != {"make"}:
        print(f"this check finds {sorted(called(SAMPLE))} in its sample")
        return 1
    there = listed_programs.programs()
    missing = listed_programs.missing_packages()
    if there is None or missing:
        print("SKIP: " + ("there is no dpkg" if there is None else f"tools/lib/setup.sh has not installed {' '.join(missing)}"))
        return SKIPPED
    shared = set()
    scripts = [f for f in sources() if f.endswith((".sh", ".py"))]
    for name in [f for f in scripts if f.endswith(".sh")]:  # functions of a script that others source
        with open(os.path.join(ROOT, name)) as file:
            shared |= set(re.findall(r"^([\w-]+)\(\)", file.read(), re.M))
    wrong = 0
    for name in scripts:
        with open(os.path.join(ROOT, name)) as file:
            text = file.read()
        calls = called(text) - shared if name.endswith(".sh") else called_by_python(text)
        for program in sorted(calls - set(there)):
            print(f"{name}: calls {program}, which no package of tools/lib/setup.sh brings")
            wrong += 1
    print(f"{len(scripts)} scripts, {wrong} programs that nothing installs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
