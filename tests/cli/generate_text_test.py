#!/usr/bin/env python3
"""Text of a language model: the prompt's ids, text that is printed token by token, its end, and refusals. This test trains the tokenizers."""
import json
import os
import subprocess
import sys
import unittest

import numpy as np
import onnx

from cli_case import TOOL, CliCase
from reciting import ANSWER, PROMPT, byte_level, metaspace, reciting


class GenerateText(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kinds = {"bytes": byte_level, "spaces": metaspace}
        cls.made = {name: make(cls.path(name + ".json")) for name, make in cls.kinds.items()}
        for name, tokenizer in cls.made.items():
            prompt, whole = tokenizer.encode(PROMPT).ids, tokenizer.encode(PROMPT + ANSWER).ids
            assert whole[:len(prompt)] == prompt, "the prompt ends within a token"
            ids = whole[len(prompt):] + [tokenizer.token_to_id("</s>"), 5, 6]
            onnx.save(reciting(ids, len(prompt) - 1, tokenizer.get_vocab_size()), cls.path(name + ".onnx"))
            done = cls.tool("compile", name + ".onnx", "-o", name + ".gart", "--state", "auto")
            assert done.returncode == 0, done.stderr
        cls.end = cls.made["bytes"].token_to_id("</s>")

    def config(self, folder, **files):
        os.makedirs(self.path(folder), exist_ok=True)
        for name, content in files.items():
            self.write(os.path.join(folder, name.replace("_json", ".json").replace("_jinja", ".jinja")),
                       content if isinstance(content, bytes) else json.dumps(content).encode())
        return folder

    def told(self, name, *options):
        return json.loads(self.accepted("generate", name + ".gart", "--tokenizer", name + ".json", "--json", *options))

    def test_text_comes_as_the_model_says_it(self):
        for name in self.kinds:
            with self.subTest(name):
                folder = self.config("end", generation_config_json={"eos_token_id": [self.end, 9999]})
                out = self.accepted("generate", name + ".gart", PROMPT, "--tokenizer", name + ".json", "--config", folder)
                self.assertEqual(out, ANSWER + "\n")
                told = self.told(name, "--prompt", PROMPT, "--config", folder)
                self.assertEqual((told["text"], told["reason"], told["ids"][-1]), (ANSWER, "stop_id", self.end))
                self.assertEqual(told["prompt_tokens"], len(self.made[name].encode(PROMPT).ids))

    def test_it_ends_anywhere(self):
        """If generation stops at any token, the printed text is the tokenizer's text of these ids. A cut character is
        U+FFFD."""
        for name, tokenizer in self.made.items():
            prompt = tokenizer.encode(PROMPT).ids
            whole = self.told(name, PROMPT, "--max-tokens", "60")["ids"]
            before, cut = tokenizer.decode(prompt), 0
            wanted = {count: tokenizer.decode(prompt + whole[:count])[len(before):] for count in range(1, 40)}
            within = [count for count, want in wanted.items() if "\ufffd" in want]
            for count in sorted({*range(1, 40, 4), *within[:3], *within[-3:]}):
                text, want = self.told(name, PROMPT, "--max-tokens", str(count))["text"], wanted[count]
                cut += "\ufffd" in text
                if name == "spaces" and "\ufffd" in text:  # this decoder then drops whole characters that were already printed
                    self.assertTrue((PROMPT + ANSWER).startswith(PROMPT + text.rstrip("\ufffd")), text)
                else:
                    self.assertEqual(text, want, f"{name} {count}")
            self.assertGreater(cut, 0, "no cut was within a character")

    def test_pieces_are_whole_characters(self):
        """Runs the tool's tokenizer script by itself: it prints each piece as soon as its characters are complete."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "text", "tokenizer.py")
        for name, tokenizer in self.made.items():
            ids = tokenizer.encode(ANSWER, add_special_tokens=False).ids
            pieces, known = [], 0
            with subprocess.Popen([sys.executable, script, self.path(name + ".json")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                process.stdout.readline()
                for count in range(1, len(ids) + 1):
                    print(json.dumps({"do": "news", "with": [ids[:count], known, False]}), file=process.stdin, flush=True)
                    pieces.append(json.loads(process.stdout.readline())["text"])
                    known = count if pieces[-1] else known
                process.stdin.close()
            self.assertEqual("".join(pieces), tokenizer.decode(ids))
            self.assertFalse(any("\ufffd" in piece for piece in pieces))
            self.assertLess(sum(not piece for piece in pieces), len(pieces) / 2, "pieces are held back for long")

    def test_stop_texts(self):
        """The first stop text ends the output before it, even if it spans several tokens. A stop text that only begins is printed."""
        for stop, want in (("日本! Then", " the fox said: Grüße, 🙂 "), ("said", " the fox "), (" the fox", ""), ("over.!", ANSWER)):
            with self.subTest(stop):
                folder = self.config("end", generation_config_json={"eos_token_id": self.end})
                told = self.told("bytes", PROMPT, "--config", folder, "--stop", "never", "--stop", stop)
                self.assertEqual((told["text"], told["reason"]), (want, "stop_id" if want == ANSWER else "stop_text"))

    def test_the_folder_tells_the_end(self):
        """The first file that names the end token decides. The default folder is the tokenizer's or the model's."""
        other = self.made["bytes"].token_to_id("!")
        files = {"genai_config_json": {"model": {"eos_token_id": other, "context_length": 99}}, "generation_config_json": {"eos_token_id": self.end},
                 "tokenizer_config_json": {"eos_token": {"content": "</s>"}}}
        for names, last in ((list(files), other), (list(files)[1:], self.end), (list(files)[2:], self.end)):
            folder = self.config("of-" + names[0], **{name: files[name] for name in names})
            self.assertEqual(self.told("bytes", PROMPT, "--config", folder)["ids"][-1], last)
        for name in ("bytes.gart", "bytes.json"):
            self.write(os.path.join("of-generation_config_json", "tokenizer.json" if name.endswith("json") else name), self.read(name))
        self.assertEqual(self.accepted("generate", "of-generation_config_json/bytes.gart", PROMPT), ANSWER + "\n")
        ids = ",".join(map(str, self.made["bytes"].encode(PROMPT).ids))
        told = json.loads(self.accepted("generate", "bytes.gart", "--ids", ids, "--config", "of-generation_config_json", "--json"))
        self.assertEqual(told["ids"][-1], self.end)

    def test_the_context_is_not_exceeded(self):
        count = len(self.made["bytes"].encode(PROMPT).ids)
        folder = self.config("short", genai_config_json={"model": {"context_length": count + 4}})
        self.assertEqual(len(self.told("bytes", PROMPT, "--config", folder)["ids"]), 5)  # the model does not read the last one
        self.refused("generate", "bytes.gart", PROMPT * 3, "--tokenizer", "bytes.json", "--config", folder,
                     says=(f"the model reads at most {count + 4} (short/genai_config.json)",))

    def test_a_session_reads_one_text_after_the_other(self):
        """The second text follows the first answer, without another start token."""
        tokenizer = self.made["bytes"]
        arguments = ("generate", "bytes.gart", "--tokenizer", "bytes.json", "--session", "talk.safetensors", "--max-tokens", "7", "--json")
        first = json.loads(self.accepted(*arguments, PROMPT))
        second = json.loads(self.accepted(*arguments, " over"))
        from_file = np.frombuffer(self.read("talk.safetensors")[-4 * 64:], np.float32)
        read = tokenizer.encode(PROMPT).ids + first["ids"] + tokenizer.encode(" over", add_special_tokens=False).ids + second["ids"]
        self.assertEqual([int(x) for x in from_file[-len(read):]], read)

    def test_guesses_take_fewer_runs(self):
        """For a text that repeats itself, guesses give the same ids in at most 44 runs instead of 99."""
        tokenizer = self.made["bytes"]
        line = tokenizer.encode("a dog and a fox, ", add_special_tokens=False).ids
        onnx.save(reciting(line * 12, 0, tokenizer.get_vocab_size()), self.path("line.onnx"))
        self.accepted("compile", "line.onnx", "-o", "line.gart", "--state", "auto")
        arguments = ("generate", "line.gart", "--ids", "7", "--max-tokens", "100", "--json")
        plain, guessing = (json.loads(self.accepted(*arguments, *more)) for more in ((), ("--lookup", "8")))
        self.assertEqual(guessing["ids"], plain["ids"])
        self.assertEqual(plain["runs"], 99)
        self.assertLess(guessing["runs"], 45)

    def test_a_message_is_put_into_the_template(self):
        template = "{{ bos_token }}{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}{% if add_generation_prompt %} fox{% endif %}"
        words = {"bos_token": {"content": "<s>"}, "chat_template": template}
        for files in ({"tokenizer_config_json": words}, {"tokenizer_config_json": {"bos_token": "<s>"}, "chat_template_jinja": template.encode()}):
            folder = self.config("chat-" + str(len(files)), **files)
            told = self.told("bytes", "The dog", "--chat", "--config", folder)
            self.assertEqual(told["prompt_tokens"], len(self.made["bytes"].encode("<s><|user|>The dog fox", add_special_tokens=False).ids))
        self.refused("generate", "bytes.gart", "Hi", "--chat", "--tokenizer", "bytes.json", "--config", self.config("bare"),
                     says="bare has no chat template")
        broken = self.config("broken", chat_template_jinja=b"{{ raise_exception('roles must alternate') }}")
        self.refused("generate", "bytes.gart", "Hi", "--chat", "--tokenizer", "bytes.json", "--config", broken, says="roles must alternate")
        outside = self.config("outside", chat_template_jinja=b"{{ ().__class__.__base__.__subclasses__() }}")
        self.refused("generate", "bytes.gart", "Hi", "--chat", "--tokenizer", "bytes.json", "--config", outside, says="unsafe")

    def test_refusals(self):
        self.refused("generate", "bytes.gart", "Hi", says="text needs a tokenizer: name the model's tokenizer.json with --tokenizer")
        self.refused("generate", "bytes.gart", "Hi", "--tokenizer", "x.json", says="--tokenizer x.json: there is no such file")
        self.refused("generate", "bytes.gart", "Hi", "--ids", "1", says="--ids and a text are both given: expected one prompt")
        self.refused("generate", "bytes.gart", "--ids", "1", "--stop", "x", says="--stop needs --tokenizer")
        self.refused("generate", "bytes.gart", "--ids", "1", "--chat", says="--chat needs a text")
        self.refused("generate", "bytes.gart", "Hi", "--stop", "", "--tokenizer", "bytes.json", says="--stop '': expected a text")
        self.refused("generate", "bytes.gart", "Hi", "--tokenizer", "bytes.json", "--config", "nowhere", says="--config nowhere: there is no such folder")
        for content in (b"{}", b"[1]", b"\xff\xfe", b'{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}'):
            self.write("bad.json", content)
            self.refused("generate", "bytes.gart", "Hi", "--tokenizer", "bad.json", says="--tokenizer bad.json: expected a tokenizer.json: ")
        for content, says in ((b"[]", "is not a JSON object"), (b'{"eos_token_id": "x"}', 'eos_token_id "x" is not a token id')):
            folder = self.config("wrong", generation_config_json=content)
            self.refused("generate", "bytes.gart", "Hi", "--tokenizer", "bytes.json", "--config", folder, says=says)
        done = subprocess.run([TOOL.encode(), b"generate", b"bytes.gart", b"\xc3(", b"--tokenizer", b"bytes.json"], cwd=self.folder, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (1, b"gcc-graph: the text is not valid UTF-8\n"))

    def test_without_the_package(self):
        """The tool tries another Python. If none has the package, a message and `doctor` say how to install it."""
        os.makedirs(self.path("empty"), exist_ok=True)
        for named, found in ((sys.executable, True), (self.path("empty/python"), False)):
            env = {"PATH": self.path("empty"), "GCC_GRAPH_PYTHON": named, "VIRTUAL_ENV": "", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
            done = subprocess.run([TOOL, "generate", "bytes.gart", PROMPT, "--tokenizer", "bytes.json", "--max-tokens", "2"], cwd=self.folder,
                                  env=env, capture_output=True, text=True)
            doctor = json.loads(subprocess.run([TOOL, "doctor", "--json"], env=env, capture_output=True, text=True).stdout)["findings"]
            about = next(f for f in doctor if f["what"].startswith("generate reads and prints"))
            self.assertEqual(done.returncode == 0, found, done.stderr)
            self.assertEqual(about["state"], "ok" if found else "missing")
            if not found:
                self.assertIn("install it with python3 -m pip install tokenizers", done.stderr)
                self.assertIn("python3 -m pip install tokenizers", about["mend"])


if __name__ == "__main__":
    unittest.main()
