#!/usr/bin/env python3
"""Progress of compile: on a terminal the stage, the count of kernels and the time left; elsewhere nothing."""
import os
import pty
import subprocess
import unittest

from cli_case import TOOL, CliCase


class Progress(CliCase):
    def on_terminal(self, *more):
        """Standard error of a compilation for two targets, as a terminal shows it."""
        ours, theirs = pty.openpty()
        command = [TOOL, "compile", "model.onnx", "-o", "again.gart", "--target", "x86-64-v3,x86-64-v4", *more]
        with subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=theirs) as compilation:
            os.close(theirs)
            shown = b""
            try:
                while block := os.read(ours, 4096):
                    shown += block
            except OSError:  # Linux reports the closed terminal as an error
                pass
            os.close(ours)
        self.assertEqual(compilation.returncode, 0, shown)
        return shown.decode()

    def test_terminal_shows_stage_count_and_time_left(self):
        shown = self.on_terminal()
        for stage in ("import", "passes", "plan x86-64-v3", "artifact", "write"):
            self.assertIn(stage, shown)
        for target in ("x86-64-v3", "x86-64-v4"):
            self.assertRegex(shown, rf"code {target} 1/\d+")
        self.assertRegex(shown, r"code x86-64-v3 1/\d+, about \d+ s left \.\.\.")
        last = shown.split("code x86-64-v4 ")[-1].split(" ...")[0]
        done, kernels = last.split("/")
        self.assertEqual(done, kernels, "after the last kernel no time is left")

    def test_progress_is_one_line_which_is_cleared(self):
        shown = self.on_terminal()
        self.assertNotIn("\n", shown)
        self.assertTrue(shown.endswith("\r\x1b[K"), repr(shown[-20:]))

    def test_quiet_and_pipes_show_nothing(self):
        self.assertEqual(self.on_terminal("--quiet"), "")
        done = self.tool("compile", "model.onnx", "-o", "again.gart")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
