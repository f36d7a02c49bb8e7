#!/usr/bin/env python3
"""Checks the rules for plain English (CONTRIBUTING, "Write plain English") as far as a program can. Covers comments,
docstrings, documents, commit subjects, and the strings of the product (messages, diagnostics, help texts).

  check_words.py            checks
  check_words.py --draw N [SEED]   prints N comments and N sentences of the documents, drawn at random, for a reader
"""
import ast
import os
import random
import re
import subprocess
import sys

from style_tools import ROOT, sources

# Files that the rules apply to. Generated tables are not prose.
HASH_COMMENTS = (".sh", ".cmake", ".cmake.in", "CMakeLists.txt", ".toml", ".clang-tidy")
COMMENTS = (".h", ".cpp", ".cuh", ".c", ".inc", ".py", ".fbs") + HASH_COMMENTS
DOCUMENTS = (".md",)
FOLDERS = ("artifact_schema/", "codegen/", "compiler/", "docs/", "examples/", "runtime/", "tests/", "tools/",
           "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CMakeLists.txt", ".clang-tidy")
STRINGS = ("artifact_schema/", "codegen/", "compiler/", "examples/", "runtime/", "tools/")  # a test's strings quote and name cases
CODE = (".h", ".cpp", ".cuh", ".c", ".inc")
GENERATED = ("docs/operators.md", "tests/bench/results/", "artifact_schema/released/")  # the released schemas never change

# The first commit whose subject is checked comes after this one.
SUBJECTS_SINCE = "8af34a4aac2deb5a020b87fd17712ffd7b65baec"
LONGEST_SUBJECT = 72
# The first commit whose subject has to begin with an imperative comes after this one. Verbs in -s, -ed or -ing are not imperatives.
IMPERATIVE_SINCE = "77e6c421"
IMPERATIVE = re.compile(r"(?!\w+(?:ing|ed|[^s]s)\b)[A-Z]\w+,? |(?:Embed|Feed|Need|Speed|Shed|Bring|String|Ring|Focus|Bias|Alias) ")

START = r"(?:^|(?<=[.;:?!] )|(?<=\| ))"
PATTERNS = {
    "begins with 'Of'": re.compile(START + r"Of [a-z]"),
    "begins with 'What', 'Who' or 'Whose' and is no question": re.compile(START + r"(?:What|Who|Whose) [^?.]*(?:\.|$)"),
    "'what' or 'who' as a noun": re.compile(r"\b(?:to|for|from|by|with|of|than|and|or) who(?:ever)?\b(?! (?:is|are)\b)|\bthat which\b|\bso many (?:as|that)\b"),
}

# A message may begin in lower case, and has further patterns.
STRING_PATTERNS = {
    **{name: re.compile(pattern.pattern, re.I) for name, pattern in PATTERNS.items()},
    "'is no X': write 'is not a X'": re.compile(r"(?<!there )\b(?:is|are) no (?!longer|more|less|other)[a-z]"),
    "the verb before its subject": re.compile(r"[;,:] (?:known|declared|found|meant|needed|wanted) (?:is|are)\b"),
    "'of that name': write 'such' or 'named'": re.compile(r"\bof (?:that|the|such a) name\b"),
    "'anew': write 'again'": re.compile(r"\banew\b"),
}
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\((?P<raw>.*?)\)\1"|"(?P<text>(?:\\.|[^"\\\n])*)"|'(?:\\.|[^'\\\n])+'|\b\d[\w'.]*""", re.S)


def is_covered(path):
    return path.startswith(FOLDERS) and not path.startswith(GENERATED)


def comment_blocks(path, text):
    """(line, text) of each comment. Consecutive comment lines are one comment."""
    if path.endswith(".py"):
        yield from python_comments(text)
        return
    hashes = path.endswith(HASH_COMMENTS)
    mark = r"\s*(?:#(?!!))\s?" if hashes else r"\s*///?<?\s?"
    after_code = r"\S\s+#\s(.+)$" if hashes else r"[;{},)]\s+//[/<]*\s?(.+)$"
    block, first = [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        match = re.match(mark + r"(.*)", line)
        if match:
            first = first if block else number
            block.append(match.group(1).strip())
            continue
        if block:
            yield first, " ".join(block)
            block = []
        trailing = re.search(after_code, line)
        if trailing:
            yield number, trailing.group(1).strip()


def python_comments(text):
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"(?:[^\"'#]*\s)?#(?!!)\s?(.*)", line)
        if match:
            yield number, match.group(1).strip()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            yield getattr(node, "lineno", 1), " ".join(ast.get_docstring(node).split())


def strings(path, text):
    """(line, text) of each string. Neighbouring literals of C++ are one; X stands for a value in an f-string."""
    if path.endswith(".py"):
        yield from python_strings(text)
        return
    parts, first, end = [], 0, 0
    for token in TOKEN.finditer(text):
        literal = token["text"] if token["raw"] is None else token["raw"]
        if literal is None:
            continue
        if parts and re.sub(r"//[^\n]*|/\*.*?\*/", "", text[end:token.start()], flags=re.S).strip():
            yield first, "".join(parts)
            parts = []
        first = first if parts else text.count("\n", 0, token.start()) + 1
        parts.append(literal)
        end = token.end()
    if parts:
        yield first, "".join(parts)


def python_strings(text):
    tree = ast.parse(text)
    inside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside.update(id(part) for part in node.values)
            yield node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, node.value


def prose(text):
    """(line, text) of the paragraphs, items and table cells of Markdown, without code."""
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S | re.M)
    block, first = [], 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        begins = re.match(r"\s*(?:[*-]|\d+\.|\||#+)\s", line)
        if block and (begins or not line.strip()):
            yield first, " ".join(block)
            block = []
        if line.strip() and not re.match(r"    |\|[-|]+$", line):
            first = first if block else number
            block.append(re.sub(r"`[^`]*`", "X", re.sub(r"^\s*(?:[*-]|\d+\.|#+)\s", "", line)).strip("| "))


def is_prose(text):
    """False for rows of figures, single names, and the ends of namespaces, in which a reader finds nothing to judge."""
    return not text.startswith("namespace ") and len(re.findall(r"\b[A-Za-z]{2,}\b", text)) >= 4


def wrong_words(text, patterns=PATTERNS):
    return [name for name, pattern in patterns.items() if pattern.search(text)]


def check_text():
    found = []
    for path in sources():
        if not is_covered(path) or not path.endswith(COMMENTS + DOCUMENTS):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            text = f.read()
        for line, block in prose(text) if path.endswith(DOCUMENTS) else comment_blocks(path, text):
            found += [f"{path}:{line}: {name}: {block[:100]}" for name in wrong_words(block)]
        if path.startswith(STRINGS) and path.endswith(CODE + (".py",)):
            found += [f"{path}:{line}: {name}: string {block[:100]!r}" for line, block in strings(path, text)
                      for name in wrong_words(block, STRING_PATTERNS)]
    return found


def check_docstrings():
    """Every public function and class of the Python packages has a docstring."""
    found = []
    for path in sources():
        if not path.startswith("tools/python/gart/") or not path.endswith(".py"):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            tree = ast.parse(f.read())
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        for node in [n for scope in (tree, *classes) for n in scope.body]:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_") and not ast.get_docstring(node):
                found.append(f"{path}:{node.lineno}: {node.name} has no docstring")
    return found


def subjects_since(commit):
    """"hash subject" of each commit after this one; None if the history is not here."""
    log = subprocess.run(["git", "-C", ROOT, "log", "--no-merges", "--format=%h %s", f"{commit}..HEAD"], capture_output=True, text=True)
    return log.stdout.splitlines() if log.returncode == 0 else None


def check_subjects():
    all_subjects, recent = subjects_since(SUBJECTS_SINCE), subjects_since(IMPERATIVE_SINCE)
    if all_subjects is None or recent is None:
        print("the history is not here: subjects of commits are not checked")
        return []
    found = [f"commit {line}: {len(line.split(' ', 1)[1])} characters, more than {LONGEST_SUBJECT}" for line in all_subjects
             if len(line.split(" ", 1)[1]) > LONGEST_SUBJECT]
    return found + [f"commit {line}: does not begin with an imperative" for line in recent if not IMPERATIVE.match(line.split(" ", 1)[1])]


# Each pattern must find its forbidden example, and must not match plain sentences.
BROKEN = ("Of each input, the first.", "What a runtime would refuse is ours to find.", "Who loads the file runs the model.",
          "It runs. Of these, one is kept.", "a list for who asks", "that which is left")
RIGHT = ("Types per input; the last entry also applies to all that follow.", "Why is it so?", "What does a run cost?", "The rate of copies.")

BROKEN_STRINGS = ("Of a kernel in each timed run", "what has to be gained", "--dim: of an input, its extent", "Whose weights are kept",
                  "'x' is no extent", "booleans are no numbers", "no precision; known are: fp32", "there is no device of that name",
                  "Place the parts anew")
RIGHT_STRINGS = ("there is no operator 'Foo'", " of 3 bytes", "expected fp32 or tf32", "it is no longer on the device",
                 "launches of a kernel", "the file is not a folder")
BROKEN_SUBJECTS = ("Tests name the place", "Fixed a race", "Reading of weights", "wip: the loop", "reword a comment")
RIGHT_SUBJECTS = ("Train, list and place", "Pass sizes by value", "Embed the headers", "Read weights once", "Address both lists")
# A file name, a source, and the strings in this source.
SOURCES = (("x.cpp", """f("a " // "no"
  "b", 'c', 1'000, R"(raw)");  /* "no" */ g("d\\"e");""", ["a b", "raw", 'd\\"e']),
           ("x.py", '"""A docstring."""\nf("a " "b", f"c {d} e")  # "no"', ["c X e", "a b"]))


BROKEN_FILES = (("CMakeLists.txt", "# Of each library, a copy.\n"), ("x.cmake", "set(a b)  # Of the copy, the name\n"), ("x.sh", "#!/bin/sh\n# What a copy costs.\n"))


def check_examples():
    found = [f"is not found: {text}" for text in BROKEN if not wrong_words(text)] + [f"is found: {text}" for text in RIGHT if wrong_words(text)]
    found += [f"is not found in a string: {text}" for text in BROKEN_STRINGS if not wrong_words(text, STRING_PATTERNS)]
    found += [f"is found in a string: {text}" for text in RIGHT_STRINGS if wrong_words(text, STRING_PATTERNS)]
    found += [f"subject is not found: {text}" for text in BROKEN_SUBJECTS if IMPERATIVE.match(text)]
    found += [f"subject is found: {text}" for text in RIGHT_SUBJECTS if not IMPERATIVE.match(text)]
    found += [f"{path}: no comment is found wrong" for path, source in BROKEN_FILES
              if not any(wrong_words(block) for _, block in comment_blocks(path, source))]
    for path, source, expected in SOURCES:
        got = [text for _, text in strings(path, source)]
        found += [f"{path}: the strings are {got}, not {expected}"] if got != expected else []
    return found


def draw(count, seed):
    rng, comments, sentences = random.Random(seed), [], []
    for path in sources():
        if is_covered(path) and path.endswith(COMMENTS + DOCUMENTS):
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                text = f.read()
            blocks = prose(text) if path.endswith(DOCUMENTS) else comment_blocks(path, text)
            (sentences if path.endswith(DOCUMENTS) else comments).extend((path, line, block) for line, block in blocks if is_prose(block))
    print(f"seed {seed}")
    for part in (comments, sentences):
        for path, line, block in rng.sample(part, min(count, len(part))):
            print(f"{path}:{line}: {block}")
        print()


def main():
    if sys.argv[1:2] == ["--draw"]:
        draw(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10 ** 6))
        return 0
    found = check_examples() + check_text() + check_docstrings() + check_subjects()
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
