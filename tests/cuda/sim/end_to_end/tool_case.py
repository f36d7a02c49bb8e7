"""Shared by the tests of the command line tool on the simulated GPU: a folder per test, and functions that run the
tool."""
import os
import subprocess
import tempfile
import unittest

import model_check


class ToolCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gcc-graph-")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def tool(cls, *arguments, **environment):
        return subprocess.run([model_check.tool(), *arguments], capture_output=True, text=True, check=False,
                              env=dict(os.environ, **environment))
