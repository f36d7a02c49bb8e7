"""Shared by the tests of text: a store with models that recite, and a server with their tokenizers."""
import json
import os

import onnx

from serve_case import MODELS, Server
from cli_case import CliCase
from reciting import ANSWER, PROMPT, byte_level, reciting

TEMPLATE = "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'tool' %}{{ raise_exception('this model has no tools') }}{% endif %}" \
           "<|user|>{{ m['role'] }}: {{ m['content'] }}{% endfor %}{% if add_generation_prompt %} fox{% endif %}"


class TextCase(CliCase):
    OPTIONS = []

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.makedirs(cls.path("text"), exist_ok=True)
        cls.tokenizer = byte_level(cls.path("text/tokenizer.json"))
        cls.prompt_ids, whole = cls.tokenizer.encode(PROMPT).ids, cls.tokenizer.encode(PROMPT + ANSWER).ids
        cls.end = cls.tokenizer.token_to_id("</s>")
        cls.write("text/generation_config.json", json.dumps({"eos_token_id": cls.end}).encode())
        cls.write("text/tokenizer_config.json", json.dumps({"bos_token": "<s>", "chat_template": TEMPLATE}).encode())
        cls.answer_ids = whole[len(cls.prompt_ids):]
        line = cls.tokenizer.encode("a dog and a fox, ", add_special_tokens=False).ids
        vocabulary = cls.tokenizer.get_vocab_size()
        cls.line = cls.tokenizer.decode(line)
        cls.add("recite", reciting([*cls.answer_ids, cls.end, 5, 6], len(cls.prompt_ids) - 1, vocabulary))
        cls.add("endless", reciting(line, 0, vocabulary, period=len(line)))  # never ends
        cls.save("rows.onnx", MODELS["rows"][0])
        cls.add("rows", None)
        cls.server = Server(cls.folder, *cls.tokenizers("recite", "endless"), *cls.OPTIONS)

    @classmethod
    def add(cls, name, model):
        if model is not None:
            onnx.save(model, cls.path(name + ".onnx"))
        for command in (["compile", name + ".onnx", "-o", name + ".gart", *(["--state", "auto"] if model is not None else [])],
                        ["store", "add", "--store", "models", "--model", name, name + ".gart"]):
            done = cls.tool(*command)
            assert done.returncode == 0, done.stderr

    @staticmethod
    def tokenizers(*names):
        return [word for name in names for word in ("--tokenizer", name + "=text/tokenizer.json")]

    @classmethod
    def tearDownClass(cls):
        cls.server.end()
        super().tearDownClass()

    def metric(self, name, server=None):
        text = (server or self.server).ask("GET", "/metrics")[2].decode()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name)
