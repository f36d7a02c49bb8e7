#!/usr/bin/env python3
"""The examples of gart.lazy: a small GPT that continues prompts, and a network that grows while it trains."""
import os
import re
import subprocess
import sys
import unittest

from lazy_case import ROOT


def run(name, *arguments, typed=""):
    environment = {**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools", "python")}
    return subprocess.run([sys.executable, os.path.join(ROOT, "examples", name), *arguments], input=typed, env=environment, check=True, text=True,
                          stdout=subprocess.PIPE, timeout=240).stdout


class Examples(unittest.TestCase):
    def test_a_gpt_is_sampled_interactively(self):
        said = run("lazy_gpt.py", "--steps", "40", typed="the c\nand\n")
        self.assertLess(float(re.findall(r"loss ([\d.]+)", said)[-1]), 2)
        answers = said.split("> ")[1:]
        self.assertEqual([len(a.rstrip("\n")) for a in answers], [65, 63, 0], "two prompts, sixty letters each, and the end of what was typed")
        self.assertTrue(answers[0].startswith("the c"))

    def test_a_network_changes_while_it_trains(self):
        said = run("lazy_net.py")
        layers = [int(n) for n in re.findall(r"(\d+) layers", said)]
        self.assertGreater(layers[-1], layers[0])
        right, graphs = (int(n) for n in re.search(r"(\d+) of 256 points are right; (\d+) graphs", said).groups())
        self.assertGreater(right, 230)
        self.assertLessEqual(graphs, 2 * (layers[-1] - layers[0] + 2), "each network is compiled once, and once more for open extents at most")


if __name__ == "__main__":
    unittest.main()
