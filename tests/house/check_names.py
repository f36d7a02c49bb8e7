#!/usr/bin/env python3
"""One meaning per name: a type name occurs once in the headers of a namespace. If several namespaces have the same
name, docs/glossary.md gives one meaning for all of them. The headers that libgcc_graph installs may repeat the
compiler's names."""
import collections
import os
import re
import sys

from check_rules import CODE, bare, of_folder
from style_tools import ROOT, sources

INSTALLED = "tools/api/include"
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s+([\w:]+)|extern\b")
TYPE = re.compile(r"(?:template\s*<[^{]*>\s*)?(?:struct|class|enum class|enum|union)\s+(?:\[\[\w+\]\]\s+|alignas\(\w+\)\s+|[A-Z_]+_API\s+)*(\w+)(?=\s*$|\s+final\b|\s*:[^:])")
ALIAS = re.compile(r"(?:template\s*<[^{]*>\s*)?using\s+(\w+)\s*=")
GLOSSARY = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| .+ \|$", re.M)


def types(text):
    """(namespace, name) of each type that a header defines outside of other types."""
    text, open_braces, begin = bare(text), [], 0
    for match in re.finditer(r"[{};]", text):
        head, begin = text[begin:match.start()].strip(), match.end()
        outside = all(kind is not None for kind in open_braces)
        if match.group(0) == "}":
            open_braces.pop()
            continue
        if match.group(0) == "{":
            space = NAMESPACE.match(head)
            named = None if space else TYPE.match(head)
            open_braces.append(space.group(1) or "" if space else None)
        else:
            named = ALIAS.match(head)
        if outside and named:
            yield "::".join(s for s in open_braces if s), named.group(1)


def definitions(texts):
    """name -> [(namespace, path)] for texts by path. Installed headers count only for names that no other header
    defines."""
    found = collections.defaultdict(list)
    for path, text in texts.items():
        for space, name in types(text):
            found[name].append((space, path))
    return {name: [(s, p) for s, p in places if not p.startswith(INSTALLED)] or places for name, places in found.items()}


def faults(texts, listed):
    found = definitions(texts)
    shared = set()
    for name, places in sorted(found.items()):
        spaces = [space for space, _ in places]
        for space in sorted({s for s in spaces if spaces.count(s) > 1}):
            yield f"{name} is defined twice in {space}: {', '.join(p for s, p in places if s == space)}"
        if len(set(spaces)) > 1:
            shared.add(name)
            if name not in listed:
                yield f"{name} has {len(places)} definitions, and docs/glossary.md does not say what all of them are: {', '.join(p for _, p in places)}"
    for name in sorted(listed - shared):
        yield f"docs/glossary.md: {name} stands in one namespace at most"


# The check must find forbidden names.
HEADER = "namespace gcg { struct A { struct In {}; }; using B = int; struct Forward; }"
assert list(types(HEADER)) == [("gcg", "A"), ("gcg", "B")]
assert list(faults({"compiler/a.h": HEADER, "compiler/b.h": "namespace gcg { class A {}; }"}, set()))
assert list(faults({"compiler/a.h": HEADER, "runtime/b.h": "namespace gart { class A {}; }"}, set()))
assert list(faults({"compiler/a.h": HEADER}, {"A"}))
assert not list(faults({"compiler/a.h": HEADER, "runtime/b.h": "namespace gart { class A {}; }"}, {"A"}))
assert not list(faults({"compiler/a.h": HEADER, INSTALLED + "/b.h": "namespace gcc_graph { class A {}; }"}, set()))


def main():
    texts = {}
    for path in sources():
        if path.endswith((".h", ".hpp")) and of_folder(path, *CODE):
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                texts[path] = f.read()
    assert len(texts) > 300, "the headers were not found"
    with open(os.path.join(ROOT, "docs/glossary.md"), encoding="utf-8") as f:
        listed = set(re.findall(r"\w+", " ".join(GLOSSARY.findall(f.read()))))
    found = list(faults(texts, listed))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(texts)} headers, {len(definitions(texts))} types, {len(listed)} names that several namespaces share")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
