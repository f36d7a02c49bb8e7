#!/usr/bin/env python3
"""gcc-graph serve: text in OpenAI's form, whole and by server-sent events. The texts equal those of gcc-graph generate."""
import http.client
import json
import os
import shutil
import signal
import socket
import threading
import time
import unittest

import numpy as np

from serve_case import Server, binary_request, curl
from text_case import ANSWER, PROMPT, TextCase

GREEDY = {"model": "recite", "prompt": PROMPT, "max_tokens": 60, "temperature": 0}


def events_of(content):
    """The JSON objects of server-sent events, which must end with [DONE]."""
    lines = content.decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""], lines[-2:]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


class Completions(TextCase):
    OPTIONS = ["--generations", "3", "--log-requests"]

    def complete(self, chat=False, server=None, **body):
        path = "/v1/chat/completions" if chat else "/v1/completions"
        return (server or self.server).json("POST", path, body)

    def accepted_text(self, **body):
        status, reply = self.complete(**body)
        self.assertEqual(status, 200, reply)
        return reply["choices"][0]["text"]

    def events(self, path="/v1/completions", **body):
        status, headers, content = self.server.ask("POST", path, json.dumps({**body, "stream": True}))
        self.assertEqual((status, headers["Content-Type"]), (200, "text/event-stream; charset=utf-8"), content)
        return events_of(content)

    def test_models(self):
        status, reply = self.server.json("GET", "/v1/models")
        self.assertEqual((status, reply["object"], [m["id"] for m in reply["data"]]), (200, "list", ["endless", "recite"]))
        self.assertLess(abs(time.time() - reply["data"][0]["created"]), 3600)
        self.assertEqual(self.server.json("GET", "/v1/models/recite")[1], reply["data"][1])
        for name in ("rows", "nobody"):
            status, reply = self.server.json("GET", "/v1/models/" + name)
            self.assertEqual((status, reply["error"]["code"], reply["error"]["param"]), (404, "model_not_found", "model"))

    def test_the_whole_text(self):
        status, reply = self.complete(**GREEDY)
        self.assertEqual(status, 200, reply)
        count = len(self.prompt_ids)
        self.assertEqual(reply["choices"], [{"index": 0, "text": ANSWER, "logprobs": None, "finish_reason": "stop"}])
        self.assertEqual(reply["usage"], {"prompt_tokens": count, "completion_tokens": len(self.answer_ids) + 1, "total_tokens": count + len(self.answer_ids) + 1})
        self.assertEqual((reply["object"], reply["model"], reply["id"][:5]), ("text_completion", "recite", "cmpl-"))
        for prompt in ([PROMPT], self.prompt_ids, [self.prompt_ids]):
            self.assertEqual(self.accepted_text(**{**GREEDY, "prompt": prompt}), ANSWER)
        self.assertEqual(self.accepted_text(**{**GREEDY, "model": "recite@1"}), ANSWER)

    def test_events(self):
        events = self.events(**GREEDY, stream_options={"include_usage": True})
        self.assertEqual("".join(e["choices"][0]["text"] for e in events[:-1]), ANSWER)
        self.assertGreater(len(events), 10)
        self.assertEqual([e["choices"][0]["finish_reason"] for e in events[:-1]], [None] * (len(events) - 2) + ["stop"])
        self.assertEqual({e["usage"] for e in (dict(e, usage=str(e["usage"])) for e in events[:-1])}, {"None"})
        self.assertEqual((events[-1]["choices"], events[-1]["usage"]["completion_tokens"]), ([], len(self.answer_ids) + 1))
        self.assertEqual(len({e["id"] for e in events}), 1)
        self.assertNotIn("usage", self.events(**GREEDY)[0])

    def test_chat(self):
        messages = [{"role": "developer", "content": "Be"}, {"role": "user", "content": [{"type": "text", "text": "The "}, {"type": "text", "text": "dog"}]}]
        count = len(self.tokenizer.encode("<s><|user|>system: Be<|user|>user: The dog fox", add_special_tokens=False).ids)
        asked = {"model": "endless", "messages": messages, "max_completion_tokens": 20, "temperature": 0}
        status, reply = self.complete(True, **asked)
        self.assertEqual((status, reply["object"], reply["usage"]["prompt_tokens"]), (200, "chat.completion", count), reply)
        message = reply["choices"][0]["message"]
        self.assertEqual((message["role"], message["refusal"], reply["choices"][0]["finish_reason"]), ("assistant", None, "length"))
        self.assertIn("dog and a fox", message["content"])
        events = self.events("/v1/chat/completions", **asked)
        self.assertEqual(events[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertEqual("".join(e["choices"][0]["delta"].get("content", "") for e in events), message["content"])
        self.assertEqual((events[-1]["choices"][0]["delta"], events[-1]["object"]), ({}, "chat.completion.chunk"))
        status, reply = self.complete(True, **{**asked, "messages": [{"role": "tool", "content": "4"}]})
        self.assertEqual((status, reply["error"]["param"]), (400, "messages"))
        self.assertIn("this model has no tools", reply["error"]["message"])

    def test_sampled_texts_are_those_of_the_tool(self):
        for options in ({"temperature": 1.5, "seed": 7}, {"temperature": 0.4, "seed": -3, "top_p": 0.9}, {"temperature": 1, "seed": 1, "top_k": 9, "min_p": 0.01}):
            seed = str(options["seed"] % 2**64)
            names = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if name != "seed"]
            told = json.loads(self.accepted("generate", "endless.gart", PROMPT, "--tokenizer", "text/tokenizer.json", "--max-tokens", "30", "--json", "--seed", seed, *names))
            asked = {"model": "endless", "prompt": PROMPT, "max_tokens": 30, **options}
            self.assertEqual(self.accepted_text(**asked), told["text"])
        texts = {self.accepted_text(model="endless", prompt=PROMPT, max_tokens=8) for _ in range(4)}
        self.assertGreater(len(texts), 1, "without a seed, texts differ")
        self.assertEqual(self.accepted_text(**{**GREEDY, "temperature": 1, "top_p": 0}), ANSWER)

    def test_stop_and_length(self):
        for stop, want in (("日本! Then", " the fox said: Grüße, 🙂 "), (["never", "said"], " the fox "), (" the fox", ""), ("over.!", ANSWER)):
            self.assertEqual(self.accepted_text(**GREEDY, stop=stop), want)
            self.assertEqual("".join(e["choices"][0]["text"] for e in self.events(**GREEDY, stop=stop)), want)
        status, reply = self.complete(**{**GREEDY, "max_tokens": 4})
        self.assertEqual((reply["choices"][0]["finish_reason"], reply["usage"]["completion_tokens"]), ("length", 4))
        short = {name: value for name, value in GREEDY.items() if name != "max_tokens"}
        self.assertEqual(self.complete(**short)[1]["usage"]["completion_tokens"], 16)

    def test_the_context_limits_the_text(self):
        os.makedirs(self.path("short"), exist_ok=True)
        for name in os.listdir(self.path("text")):
            shutil.copy(self.path("text/" + name), self.path("short"))
        count = len(self.prompt_ids)
        self.write("short/config.json", json.dumps({"max_position_embeddings": count + 4}).encode())
        server = Server(self.folder, "--tokenizer", "endless=short/tokenizer.json")
        try:
            asked = {"model": "endless", "temperature": 0}
            self.assertEqual(self.complete(server=server, **asked, prompt=PROMPT, max_tokens=99)[1]["usage"]["completion_tokens"], 5)
            status, reply = self.complete(server=server, **asked, prompt=PROMPT * 3)
            self.assertEqual(status, 400)
            self.assertIn(f"reads at most {count + 4}", reply["error"]["message"])
        finally:
            server.end()

    def test_refusals(self):
        message = {"role": "user", "content": "x"}
        for chat, change, param in (
                (False, {"prompt": None}, "prompt"), (False, {"prompt": ["a", "b"]}, "prompt"), (False, {"prompt": [1, -2]}, "prompt"), (False, {"prompt": {}}, "prompt"),
                (False, {"model": None}, "model"), (False, {"model": 3}, "model"), (False, {"max_tokens": 0}, "max_tokens"), (False, {"max_tokens": 1.5}, "max_tokens"),
                (False, {"temperature": 2.5}, "temperature"), (False, {"temperature": "1"}, "temperature"), (False, {"top_p": -1}, "top_p"), (False, {"n": 2}, "n"),
                (False, {"best_of": 3}, "best_of"), (False, {"echo": True}, "echo"), (False, {"logprobs": 1}, "logprobs"), (False, {"suffix": "x"}, "suffix"),
                (False, {"presence_penalty": 1}, "presence_penalty"), (False, {"logit_bias": {"5": 1}}, "logit_bias"), (False, {"seed": 1.5}, "seed"), (False, {"seed": 2**64}, "seed"),
                (False, {"stop": [""]}, "stop"), (False, {"stop": ["x"] * 17}, "stop"), (False, {"stop": 3}, "stop"), (False, {"stream": 1}, "stream"),
                (False, {"stream_options": {"include_usage": True}}, "stream_options"), (False, {"stream": True, "stream_options": {"other": 1}}, "other"),
                (False, {"messages": [message]}, "messages"), (False, {"temprature": 1}, "temprature"), (True, {"prompt": "x"}, "prompt"), (True, {"messages": []}, "messages"),
                (True, {"messages": ["x"]}, "messages[0]"), (True, {"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
                (True, {"messages": [{"role": "user"}]}, "messages[0].content"), (True, {"messages": [{**message, "tool_calls": [1]}]}, "messages[0].tool_calls"),
                (True, {"messages": [message, {"role": "user", "content": [{"type": "image_url"}]}]}, "messages[1].content"), (True, {"tools": [{}]}, "tools"),
                (True, {"response_format": {"type": "json_object"}}, "response_format"), (True, {"logprobs": True}, "logprobs"),
                (True, {"max_tokens": 3, "max_completion_tokens": 4}, "max_completion_tokens")):
            with self.subTest(change):
                body = {"model": "endless", "messages": [message], "max_tokens": 1} if chat else GREEDY
                status, reply = self.complete(chat, **{**body, **change})
                self.assertEqual((status, reply["error"]["type"], reply["error"]["param"]), (400, "invalid_request_error", param), reply)
                self.assertIn(f"'{param}'", reply["error"]["message"])
        for name, says in (("nobody", "--tokenizer nobody=FILE"), ("rows", "--tokenizer rows=FILE"), ("recite@9", "has no model 'recite' version 9"), ("../x", "model")):
            status, reply = self.complete(**{**GREEDY, "model": name})
            self.assertEqual((status, reply["error"]["code"], reply["error"]["param"]), (404, "model_not_found", "model"), reply)
            self.assertIn(says, reply["error"]["message"])
        for method, path, body, status in (("GET", "/v1/completions", None, 405), ("POST", "/v1/models", "{}", 405), ("POST", "/v1/embeddings", "{}", 404),
                                           ("POST", "/v1/completions", "{", 400), ("POST", "/v1/completions", "[]", 400), ("POST", "/v1/completions", b'{"model": "\xff"}', 400)):
            got, _, content = self.server.ask(method, path, body)
            self.assertEqual((got, type(json.loads(content)["error"])), (status, dict), content)
        # Parameters that ask for the usual behaviour are accepted.
        usual = {"n": 1, "presence_penalty": 0, "frequency_penalty": 0.0, "logit_bias": {}, "user": "me", "stream": False, "stop": None, "echo": False, "suffix": None}
        self.assertEqual(self.accepted_text(**GREEDY, **usual), ANSWER)
        self.assertEqual(self.server.logged(lambda line: line.get("user"))["user"], "me")

    def test_faults_during_the_text(self):
        """The model reads 256 positions. A fault before the first event has its own status; a later one is the last event."""
        asked = {"model": "recite", "max_tokens": 60, "temperature": 0, "prompt": [5] * 300}
        for stream in (False, True):
            status, reply = self.complete(**asked, stream=stream)
            self.assertEqual((status, type(reply["error"]["message"])), (400, str))
        status, _, content = self.server.ask("POST", "/v1/completions", json.dumps({**asked, "prompt": [5] * 250, "stream": True}))
        last = json.loads(content.decode().split("\n\n")[-2].removeprefix("data: "))
        self.assertEqual((status, last["error"]["type"]), (200, "invalid_request_error"), last)
        self.assertNotIn(b"[DONE]", content)
        self.assertEqual(self.complete(**{**asked, "prompt": [5] * 250})[0], 400)

    def wait_for(self, holds, seconds=30):
        end = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), end, "this takes too long")
            time.sleep(0.01)

    def begin(self, **body):
        """A connection on which a text has begun, with the first bytes of the reply."""
        one = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        content = json.dumps({"model": "endless", "prompt": PROMPT, "temperature": 0, "max_tokens": 10**6, **body}).encode()
        one.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content))
        return one, one.recv(100) if body.get("stream") else b""

    def test_a_client_that_leaves_ends_its_text(self):
        """Five texts of a million tokens, three of which run at a time: all end when their clients leave."""
        for stream in (True, False):
            held = [self.begin(stream=stream)[0] for _ in range(3)]
            held += [self.begin()[0] for _ in range(2)]  # these wait
            self.wait_for(lambda: self.metric("gart_generations") == 5)
            body, headers = binary_request({"x": np.zeros((1, 4), np.float32)})
            for _ in range(20):  # other requests are answered meanwhile
                self.assertEqual(self.server.ask("POST", "/v2/models/rows/infer", body, headers)[0], 200)
            for one in reversed(held):
                one.close()
            self.wait_for(lambda: self.metric("gart_generations") == 0)
            before = self.metric("gart_generated_tokens_total")
            time.sleep(0.1)
            self.assertEqual(self.metric("gart_generated_tokens_total"), before)
        self.assertEqual(self.accepted_text(**GREEDY), ANSWER)

    def test_many_at_once(self):
        texts, lock = [], threading.Lock()

        def work(i):
            for _ in range(6):
                if i % 2:
                    text = "".join(e["choices"][0]["text"] for e in self.events(**GREEDY))
                else:
                    text = self.accepted_text(**GREEDY)
                with lock:
                    texts.append(text)
        threads = [threading.Thread(target=work, args=(i,)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(texts), set(texts)), (72, {ANSWER}))

    def test_a_full_queue(self):
        server = Server(self.folder, *self.tokenizers("recite"), "--generations", "1", "--queue", "2", "--lanes", "1")
        statuses, lock = [], threading.Lock()

        def work():
            status, _ = self.complete(server=server, **GREEDY)
            with lock:
                statuses.append(status)
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.end()
        self.assertEqual(set(statuses), {200, 429})

    def test_the_connection_stays(self):
        """A connection serves requests after a stream, also those that were sent before its end."""
        one = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        for _ in range(3):
            for stream in (True, False):
                one.request("POST", "/v1/completions", json.dumps({**GREEDY, "stream": stream}))
                content = one.getresponse().read()
                self.assertEqual("".join(e["choices"][0]["text"] for e in (events_of(content) if stream else [json.loads(content)])), ANSWER)
        one.close()
        body = json.dumps({**GREEDY, "stream": True}).encode()
        request = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        raw = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        raw.sendall(request * 3 + b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got = b"".join(iter(lambda: raw.recv(4096), b""))
        raw.close()
        self.assertEqual((got.count(b"[DONE]"), got.count(b"0\r\n\r\n"), got.count(b"HTTP/1.1 200"), got[-2:]), (3, 3, 4, b"{}"))

    def test_http_1_0(self):
        body = json.dumps({**GREEDY, "stream": True}).encode()
        one = socket.create_connection(("127.0.0.1", self.server.port), timeout=60)
        one.sendall(b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        got = b"".join(iter(lambda: one.recv(4096), b""))
        one.close()
        head, content = got.split(b"\r\n\r\n", 1)
        self.assertNotIn(b"chunked", head)
        self.assertEqual("".join(e["choices"][0]["text"] for e in events_of(content)), ANSWER)

    def test_curl(self):
        done = curl(self, "-sN", f"http://127.0.0.1:{self.server.port}/v1/completions", "-d", json.dumps({**GREEDY, "stream": True}))
        self.assertEqual("".join(e["choices"][0]["text"] for e in events_of(done.stdout)), ANSWER)

    def test_a_dead_tokenizer_starts_again(self):
        server = Server(self.folder, *self.tokenizers("recite"))
        try:
            with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children", encoding="utf-8") as file:
                children = file.read().split()
            self.assertEqual(len(children), 1)
            os.kill(int(children[0]), signal.SIGKILL)
            self.assertEqual(self.complete(server=server, **GREEDY)[1]["choices"][0]["text"], ANSWER)
        finally:
            self.assertEqual(server.end(), 0)

    def test_sigterm_finishes_the_text(self):
        server = Server(self.folder, *self.tokenizers("endless"))
        asked = {"model": "endless", "prompt": PROMPT, "temperature": 0, "max_tokens": 2000, "stream": True}
        got = []
        thread = threading.Thread(target=lambda: got.append(server.ask("POST", "/v1/completions", json.dumps(asked))))
        thread.start()
        self.wait_for(lambda: self.metric("gart_generations", server) == 1)
        self.assertEqual(server.end(), 0)
        thread.join()
        self.assertEqual(events_of(got[0][2])[-1]["choices"][0]["finish_reason"], "length")

    def test_a_text_does_not_delay_the_end(self):
        server = Server(self.folder, *self.tokenizers("endless"), "--drain-seconds", "1")
        asked = {"model": "endless", "prompt": PROMPT, "temperature": 0, "max_tokens": 10**6, "stream": True}
        one = server.connect()
        one.request("POST", "/v1/completions", json.dumps(asked))
        one.getresponse().read(100)
        begin = time.monotonic()
        self.assertEqual(server.end(), 1, "a request was left")
        self.assertLess(time.monotonic() - begin, 20)
        one.close()

    def test_the_server_refuses_to_start(self):
        for value, says in (("recite", "expected ID=FILE"), ("recite=nothing.json", "there is no such file"), ("recite=models/store.sqlite", "expected a tokenizer.json")):
            self.refused("serve", "--store", "models", "--port", "0", "--tokenizer", value, says=says)

    def test_the_token(self):
        self.write("token", b"secret\n")
        server = Server(self.folder, *self.tokenizers("recite"), "--token-file", "token")
        try:
            for token, status in (("secret", 200), ("other", 401)):
                got, _, content = server.ask("POST", "/v1/completions", json.dumps(GREEDY), {"Authorization": "Bearer " + token})
                self.assertEqual(got, status)
            self.assertEqual(json.loads(content)["error"]["code"], "invalid_api_key")
        finally:
            server.end()


if __name__ == "__main__":
    unittest.main()
