#!/usr/bin/env python3
"""Requests for text to gcc-graph serve by openai, OpenAI's client. SKIP without the package."""
import importlib.util
import sys

if importlib.util.find_spec("openai") is None:
    print("SKIP: openai is not installed (pip install openai)")
    sys.exit(77)

import asyncio
import threading
import time
import unittest

import openai

from serve_case import Server
from text_case import ANSWER, PROMPT, TextCase

GREEDY = {"model": "recite", "prompt": PROMPT, "max_tokens": 60, "temperature": 0}
CHAT = {"model": "endless", "messages": [{"role": "system", "content": "Be"}, {"role": "user", "content": "The dog"}], "max_tokens": 20, "temperature": 0}


class OpenAiClient(TextCase):
    def setUp(self):
        self.client = self.client_of(self.server)

    def client_of(self, server, key="none"):
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key=key, max_retries=0)
        self.addCleanup(client.close)
        return client

    def test_models(self):
        self.assertEqual([m.id for m in self.client.models.list()], ["endless", "recite"])
        self.assertEqual(self.client.models.retrieve("recite").owned_by, "gcc-graph")

    def test_completions(self):
        done = self.client.completions.create(**GREEDY, seed=3, top_p=1, n=1, stop=["never"], user="me")
        self.assertEqual((done.choices[0].text, done.choices[0].finish_reason), (ANSWER, "stop"))
        self.assertEqual(done.usage.total_tokens, done.usage.prompt_tokens + done.usage.completion_tokens)
        pieces = list(self.client.completions.create(**GREEDY, stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(p.choices[0].text for p in pieces if p.choices), ANSWER)
        self.assertEqual(pieces[-1].usage, done.usage)
        self.assertEqual(self.client.completions.create(**{**GREEDY, "temperature": 1}, extra_body={"top_k": 1}).choices[0].text, ANSWER)

    def test_chat(self):
        done = self.client.chat.completions.create(**CHAT)
        pieces = list(self.client.chat.completions.create(**CHAT, stream=True))
        self.assertEqual("".join(p.choices[0].delta.content or "" for p in pieces), done.choices[0].message.content)
        self.assertEqual((pieces[0].choices[0].delta.role, pieces[-1].choices[0].finish_reason), ("assistant", "length"))
        done = self.client.chat.completions.create(**CHAT, stop=["fox"])
        with self.client.chat.completions.stream(**CHAT, stop=["fox"]) as stream:  # the client's own assembly of the pieces
            self.assertEqual(stream.get_final_completion().choices[0].message.content, done.choices[0].message.content)

    def test_many_asynchronous_requests(self):
        async def ask():
            async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{self.server.port}/v1", api_key="none", max_retries=0) as client:
                return await asyncio.gather(*[client.completions.create(**GREEDY) for _ in range(20)])
        self.assertEqual({done.choices[0].text for done in asyncio.run(ask())}, {ANSWER})

    def test_leaving_a_stream_ends_the_text(self):
        stream = self.client.completions.create(**{**GREEDY, "model": "endless", "max_tokens": 10**6}, stream=True)
        next(iter(stream))
        self.assertEqual(self.metric("gart_generations"), 1)
        stream.close()
        end = time.monotonic() + 30
        while self.metric("gart_generations") and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(self.metric("gart_generations"), 0)

    def test_errors(self):
        for kind, says, change in ((openai.NotFoundError, "nobody", {"model": "nobody"}), (openai.BadRequestError, "'n' is 2", {"n": 2}),
                                   (openai.BadRequestError, "'echo'", {"echo": True}), (openai.BadRequestError, "temperature", {"temperature": 9})):
            with self.assertRaisesRegex(kind, says) as caught:
                self.client.completions.create(**{**GREEDY, **change})
            self.assertEqual(caught.exception.param, next(iter(change)))
        with self.assertRaises(openai.APIError) as caught:  # the model reads 256 positions; the fault comes in the stream
            list(self.client.completions.create(**{**GREEDY, "prompt": [5] * 250}, stream=True))
        self.assertEqual(caught.exception.type, "invalid_request_error")

    def test_the_token(self):
        self.write("token", b"secret\n")
        server = Server(self.folder, *self.tokenizers("recite"), "--token-file", "token")
        with self.assertRaises(openai.AuthenticationError):
            self.client_of(server, "other").completions.create(**GREEDY)
        self.assertEqual(self.client_of(server, "secret").completions.create(**GREEDY).choices[0].text, ANSWER)
        server.end()

    def test_a_full_queue(self):
        server = Server(self.folder, *self.tokenizers("endless"), "--generations", "1", "--queue", "1")
        client, asked = self.client_of(server), {**GREEDY, "model": "endless"}
        stream = client.completions.create(**{**asked, "max_tokens": 10**6}, stream=True)  # one runs
        waits = threading.Thread(target=lambda: client.completions.create(**asked))  # one waits
        waits.start()
        while self.metric("gart_generations", server) < 2:
            time.sleep(0.01)
        with self.assertRaises(openai.RateLimitError):
            client.completions.create(**asked)
        stream.close()
        waits.join()
        self.assertEqual(server.end(), 0)


if __name__ == "__main__":
    unittest.main()
