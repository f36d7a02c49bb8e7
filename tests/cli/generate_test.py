#!/usr/bin/env python3
"""Generation: the greedy tokens of small decoders equal onnxruntime's, sampled ones follow the options, and faults give a message."""
import json
import os
import sys
import threading
import unittest

import numpy as np

import decoders
from cli_case import CliCase

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "python"))
import gart

PROMPT = [5, 17, 3, 60, 22, 9, 41]


def text_of(ids):
    return ",".join(map(str, ids))


class Generate(CliCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.compiled("builder", decoders.as_builder())
        cls.compiled("optimum", decoders.as_optimum())

    @classmethod
    def compiled(cls, name, model, *options):
        decoders.save(model, cls.path(name + ".onnx"))
        done = cls.tool("compile", name + ".onnx", "-o", name + ".gart", "--state", "auto", *options)
        assert done.returncode == 0, done.stderr

    def session(self, name):
        return gart.load(self.path(name + ".gart")).session()

    def agrees(self, name, room=0, count=40):
        """The greedy tokens equal onnxruntime's, in Python and in the tool, in one run and in chunks."""
        want = decoders.Reference(self.path(name + ".onnx"), room).greedy(PROMPT, count)
        self.assertGreater(len(set(want)), 5, "the reference repeats a few tokens, which shows little")
        self.assertEqual(self.session(name).generate(PROMPT, max_tokens=count), want)
        self.assertEqual(self.session(name).generate(PROMPT, max_tokens=count, chunk=3), want)
        ids = self.accepted("generate", name + ".gart", "--ids", text_of(PROMPT), "--max-tokens", str(count))
        self.assertEqual(ids, text_of(want) + "\n")
        return want

    def test_caches_that_grow(self):
        self.agrees("builder")
        self.agrees("optimum")

    def test_a_token_in_each_run(self):
        """Masks that are declared for one token, as older exports have them."""
        self.compiled("steps", decoders.as_optimum(mask="past_sequence_length + 1"))
        self.agrees("steps")

    def test_static_caches(self):
        """Past and present share a buffer, whose rows limit the number of tokens. The mask may be as long as the
        buffer."""
        for bits, mask in ((32, "total_sequence_length"), (4, 48)):
            with self.subTest(bits=bits, mask=mask):
                self.compiled("static", decoders.as_builder(bits, past=48, present=48, mask=mask))
                want = self.agrees("static", room=48)
                session = self.session("static")
                session.generate(PROMPT, max_tokens=3)
                self.assertEqual(session.state("past_key_values.0.key").shape, (1, 2, 9, 16))
                with self.assertRaisesRegex(gart.GartError, "(would have 49 along axis 2; its capacity is 48|has room for 48 tokens; 49 are too many)"):
                    session.generate([want[2]], max_tokens=100)
        self.refused("compile", "static.onnx", "-o", "x.gart", "--state", "auto", "--capacity", "64",
                     says="--capacity 64: state 'past_key_values.0.key' has room for 48 rows")
        feeds = {"input_ids": np.array([[1, 2]]), "attention_mask": np.ones((1, 48), np.int64)}
        with self.assertRaisesRegex(gart.GartError, "index"):
            self.session("static").run(feeds)

    def test_caches_that_are_updated(self):
        self.compiled("updated", decoders.as_optimum(room=48))
        self.assertIn("state past_key_values.0.key f32[batch,2,48,16], updated in place", self.accepted("inspect", "updated.gart"))
        want = self.agrees("updated", room=48)
        session = self.session("updated")
        self.assertEqual(session.generate(PROMPT, max_tokens=5), want[:5])
        self.assertEqual(session.generate(want[4:5], max_tokens=5), want[5:10])
        with self.assertRaisesRegex(gart.GartError, "input 'attention_mask' has room for 48 tokens; 49 are too many"):
            session.generate(want[9:10], max_tokens=100)
        session.save(self.path("updated.safetensors"))
        self.refused("generate", "updated.gart", "--ids", "1", "--session", "updated.safetensors",
                     says="no extent of its states tells how many tokens they hold: reset it")

    def test_a_first_model_without_past(self):
        """Two files, as optimum exports them: the first one has caches only as outputs, and fills the states that the other one reads."""
        decoders.save(decoders.as_optimum(reads=False, mask="tokens"), self.path("first.onnx"))
        self.compiled("pair", decoders.as_optimum(mask="past_sequence_length + 1"), "--entry", "prefill=first.onnx")
        want = decoders.Reference(self.path("optimum.onnx")).greedy(PROMPT, 40)
        session = self.session("pair")
        runs = []
        self.assertEqual(session.generate(PROMPT, max_tokens=40, on_token=runs.append), want)
        self.assertEqual(session.state("past_key_values.0.key").shape, (1, 2, 46, 16))
        self.assertEqual(self.accepted("generate", "pair.gart", "--ids", text_of(PROMPT), "--max-tokens", "40"), text_of(want) + "\n")
        logits = session.run({"input_ids": np.array([PROMPT]), "attention_mask": np.ones((1, 7), np.int64), "position_ids": np.arange(7)[None]},
                             entry="prefill")["logits"]
        self.assertEqual(int(logits[0, -1].argmax()), want[0])
        self.assertEqual(session.state("past_key_values.0.key").shape, (1, 2, 7, 16), "the run has replaced the rows")

    def test_windows(self):
        """Caches of layers that read only the last tokens keep these. Their tokens equal those of onnxruntime with whole caches."""
        decoders.save(decoders.as_builder(windows=(6, 0)), self.path("whole.onnx"))
        want = decoders.Reference(self.path("whole.onnx")).greedy(PROMPT, 40)
        self.compiled("window", decoders.as_builder(windows=(6, 0), keeps=True))
        for options in ({}, {"chunk": 3}, {"chunk": 1}):
            session = self.session("window")
            self.assertEqual(session.generate(PROMPT, max_tokens=40, **options), want, options)
            self.assertEqual(session.state("past_key_values.0.key").shape, (1, 2, 6, 16))
            self.assertEqual(session.state("past_key_values.1.key").shape, (1, 2, 46, 16))
        with self.assertRaisesRegex(gart.GartError, "lookup needs states that only grow by appended rows"):
            session.generate(want[-1:], lookup=4)
        session = self.session("window")
        self.assertEqual(session.generate(PROMPT, max_tokens=6), want[:6])
        fork = session.fork()
        for each in (session, fork):
            self.assertEqual(each.generate(want[5:6], max_tokens=34), want[6:])

    def test_windows_on_request(self):
        """--cache-window lets all layers read and keep only the last tokens, so a session never runs out of room."""
        decoders.save(decoders.as_builder(windows=(6, 9)), self.path("nine.onnx"))
        want = decoders.Reference(self.path("nine.onnx")).greedy(PROMPT, 40)
        self.compiled("nine", decoders.as_builder(windows=(6, 0)), "--cache-window", "9")
        session = self.session("nine")
        self.assertEqual(session.generate(PROMPT, max_tokens=6), want[:6])
        self.assertEqual(session.generate(want[5:6], max_tokens=34), want[6:])
        self.assertEqual([session.state(f"past_key_values.{layer}.value").shape for layer in (0, 1)], [(1, 2, 6, 16), (1, 2, 9, 16)])
        done = self.tool("compile", "nine.onnx", "-o", "x.gart", "--state", "auto")
        self.assertRegex(done.stderr + done.stdout, r"'GroupQueryAttention_\d+' reads only the last 6 tokens, but its caches keep all tokens")
        self.refused("compile", "optimum.onnx", "-o", "x.gart", "--state", "auto", "--cache-window", "9",
                     says="--cache-window 9: 'decoder' has no GroupQueryAttention whose caches are states")
        self.refused("compile", "nine.onnx", "-o", "x.gart", "--cache-window", "9", says="--cache-window 9 needs states: use --state")

    def test_four_bits(self):
        self.compiled("builder4", decoders.as_builder(4))
        self.compiled("optimum4", decoders.as_optimum(4))
        self.agrees("builder4")
        self.agrees("optimum4")

    def test_a_conversation(self):
        """A session continues with the last token, which it has not read."""
        reference = decoders.Reference(self.path("builder.onnx"))
        first = reference.greedy(PROMPT, 6)
        second = reference.greedy([first[-1], 8, 2], 5)
        session = self.session("builder")
        self.assertEqual(session.generate(PROMPT, max_tokens=6), first)
        self.assertEqual(session.generate([first[-1], 8, 2], max_tokens=5), second)
        arguments = ("generate", "builder.gart", "--session", "chat.safetensors", "--max-tokens")
        self.assertEqual(self.accepted(*arguments, "6", "--ids", text_of(PROMPT)), text_of(first) + "\n")
        self.assertEqual(self.accepted(*arguments, "5", "--ids", f"{first[-1]},8,2"), text_of(second) + "\n")

    def test_json(self):
        report = json.loads(self.accepted("generate", "builder.gart", "--ids", text_of(PROMPT), "--max-tokens", "9", "--json"))
        self.assertEqual((len(report["ids"]), report["reason"]), (9, "max_tokens"))
        self.assertGreater(report["tokens_per_second"], 0)
        self.assertGreater(report["first_token_ms"], 0)
        stop = report["ids"][4]
        report = json.loads(self.accepted("generate", "builder.gart", "--ids", text_of(PROMPT), "--stop-ids", f"99,{stop}", "--json"))
        self.assertEqual((report["ids"][-1], report["reason"]), (stop, "stop_id"))

    def test_sampling(self):
        """Tokens are drawn with the probabilities that the options define, and the same seed draws the same tokens."""
        logits = decoders.Reference(self.path("builder.onnx")).logits(PROMPT).astype(np.float64)
        x = logits / 1.7
        p = np.exp(x - x.max())
        p[np.argsort(-p)[12:]] = 0
        order = np.argsort(-p)
        sums = np.cumsum(p[order]) / p.sum()
        p[order[1:][sums[:-1] >= 0.9]] = 0
        p[p < 0.15 * p.max()] = 0
        p /= p.sum()
        options = {"max_tokens": 1, "temperature": 1.7, "top_k": 12, "top_p": 0.9, "min_p": 0.15}
        session, draws = self.session("builder"), np.zeros(decoders.VOCABULARY)
        for seed in range(3000):
            session.reset()
            draws[session.generate(PROMPT, seed=seed, **options)[0]] += 1
        self.assertEqual(set(np.flatnonzero(draws)), set(np.flatnonzero(p)))
        self.assertLess(np.abs(draws / draws.sum() - p).max(), 4 * (0.25 / 3000) ** 0.5)
        texts = [self.accepted("generate", "builder.gart", "--ids", text_of(PROMPT), "--max-tokens", "30", "--temperature", "5", "--seed", s)
                 for s in ("1", "1", "2")]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_penalties(self):
        reference = decoders.Reference(self.path("builder.onnx"))
        ids, seen, want = PROMPT, set(PROMPT), []
        for _ in range(20):
            x = reference.logits(ids).copy()
            for token in seen:
                x[token] = x[token] / 1.3 if x[token] > 0 else x[token] * 1.3
            for token in set(want):
                x[token] -= 2
            want.append(int(x.argmax()))
            seen.add(want[-1])
            ids = want[-1:]
        self.assertEqual(self.session("builder").generate(PROMPT, max_tokens=20, repetition_penalty=1.3, presence_penalty=2), want)

    def test_callbacks(self):
        streamed, session = [], self.session("builder")
        want = self.session("builder").generate(PROMPT, max_tokens=10)

        def three(token):
            streamed.append(token)
            return len(streamed) < 3
        self.assertEqual(session.generate(PROMPT, max_tokens=10, on_token=three), want[:3])
        self.assertEqual(streamed, want[:3])

        def broken(token):
            raise KeyError(token)
        with self.assertRaises(KeyError):
            session.generate([streamed[-1]], on_token=broken)

        def cancelling(_):
            other = threading.Thread(target=session.cancel)
            other.start()
            other.join()
        with self.assertRaisesRegex(gart.GartError, "token 1 of the generation, after .* tokens: the generation was cancelled"):
            session.generate([streamed[-1]], on_token=cancelling)
        self.assertEqual(len(session.generate([streamed[-1]], max_tokens=2)), 2)

    def test_refusals(self):
        self.compiled("small", decoders.as_builder(), "--capacity", "9")
        self.refused("generate", "model.gart", "--ids", "1", says="model.gart has no states, so it would forget each token: compile the model with --state auto")
        self.refused("generate", "builder.gart", says="generate needs at least one token id")
        self.refused("generate", "builder.gart", "--ids", "1,,2", says="--ids 1,,2: expected token ids like 1,2,3")
        self.refused("generate", "builder.gart", "--ids", "1", "--top-p", "0", says="top_p must be above 0 and at most 1")
        self.refused("generate", "builder.gart", "--ids", "1", "--entry", "x", says="the model has no entry point 'x'")
        with self.assertRaisesRegex(gart.GartError, "token 3 of the generation, after 9 tokens: state '.*' would have 10 along axis 2; its capacity is 9"):
            self.session("small").generate(PROMPT)
        with self.assertRaisesRegex(gart.GartError, "generate needs at least one token id"):
            self.session("builder").generate([])
        with self.assertRaisesRegex(gart.GartError, "ids must be integers of one sequence, not float64"):
            self.session("builder").generate([1.5])

    def same_rows(self, a, b):
        """The caches of two sessions are equal in every bit."""
        for name in a.states:
            self.assertEqual(a.state(name).tobytes(), b.state(name).tobytes(), name)

    def similar_rows(self, a, b):
        """The caches of two sessions are equal up to rounding, because runs of several tokens add in another order than
        runs of one."""
        for name in a.states:
            np.testing.assert_allclose(a.state(name), b.state(name), rtol=1e-4, atol=1e-5, err_msg=name)

    def test_a_fork_goes_on_as_the_session_would(self):
        session = self.session("builder")
        first = session.generate(PROMPT, max_tokens=5)
        copy, other, loaded = session.fork(), session.fork(), self.session("builder")
        session.save(self.path("fork.safetensors"))
        loaded.load(self.path("fork.safetensors"))
        other.generate([8, 2, 70], max_tokens=9)
        want = session.generate(first[-1:], max_tokens=12)
        for again in (copy, loaded):
            self.assertEqual(again.generate(first[-1:], max_tokens=12), want)
            self.same_rows(again, session)

    def test_sessions_of_threads_do_not_see_each_other(self):
        """Each thread's tokens and caches have the same bits as if its prompt ran alone."""
        model = gart.load(self.path("builder.gart"))
        prompts = [PROMPT, PROMPT[::-1], [1], [90, 2]]
        alone = [model.session() for _ in prompts]
        want = [session.generate(prompt, max_tokens=30) for session, prompt in zip(alone, prompts)]
        wrong = []

        def work(at):
            for _ in range(10):
                session = model.session()
                if session.generate(prompts[at], max_tokens=30) != want[at]:
                    wrong.append(at)
                self.same_rows(session, alone[at])
        threads = [threading.Thread(target=work, args=(at,)) for at in (0, 1, 2, 3, 0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_ten_thousand_sessions(self):
        """Sessions release their memory: the process needs as much memory after 1,000 sessions as after 10,000."""
        model = gart.load(self.path("builder.gart"), threads=1)

        def resident(count):
            for _ in range(count):
                model.session().generate(PROMPT, max_tokens=2)
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        before, after = resident(1000), resident(9000)
        self.assertLess(after - before, 2 << 20)

    def test_lookup(self):
        """Guessed tokens (--lookup) change neither the result nor the caches, whatever the options."""
        want = self.session("builder").generate(PROMPT, max_tokens=50)
        text = PROMPT + want[:20]
        for options in ({}, {"temperature": 0.7, "seed": 3}, {"repetition_penalty": 1.2, "presence_penalty": 0.5}, {"stop_ids": want[22:23]}):
            for most in (1, 4, 16):
                plain, guessing = self.session("builder"), self.session("builder")
                for ids in (text, [3], PROMPT):
                    self.assertEqual(guessing.generate(ids, max_tokens=6, lookup=most, **options), plain.generate(ids, max_tokens=6, **options))
                    self.similar_rows(guessing, plain)
        guessing, streamed = self.session("builder"), []
        self.assertEqual(guessing.generate(PROMPT, max_tokens=50, lookup=8, on_token=streamed.append), want)
        self.assertEqual(streamed, want)

    def test_lookup_at_the_end_of_the_room(self):
        """A guess for which the cache has no room is left out."""
        self.compiled("small", decoders.as_builder(), "--capacity", "20")
        reference = self.session("builder").generate([7] * 9, max_tokens=12)
        self.assertEqual(self.session("small").generate([7] * 9, max_tokens=12, lookup=16), reference)
        with self.assertRaisesRegex(gart.GartError, "token 12 of the generation, after 20 tokens: state '.*' would have 21 along axis 2; its capacity is 20"):
            self.session("small").generate([7] * 9, max_tokens=13, lookup=16)

    def test_lookup_is_refused_where_it_cannot_work(self):
        self.compiled("updated", decoders.as_optimum(room=48))
        with self.assertRaisesRegex(gart.GartError, "lookup needs states that only grow by appended rows: state '.*' cannot be shortened to 0 rows"):
            self.session("updated").generate(PROMPT, lookup=4)
        self.compiled("steps", decoders.as_optimum(mask="past_sequence_length + 1"))
        with self.assertRaisesRegex(gart.GartError, "lookup needs a model that reads any number of tokens in a run, but this one reads 1"):
            self.session("steps").generate(PROMPT, lookup=4)
        with self.assertRaisesRegex(gart.GartError, "lookup must be 0 or more"):
            self.session("builder").generate(PROMPT, lookup=-1)

    def test_prompts_compute_the_last_logits(self):
        """`--generate` adds an entry point that computes only the last row of the model's logits; it is equal up to
        rounding."""
        for name, model in (("builder", decoders.as_builder()), ("four", decoders.as_builder(4)), ("optimum", decoders.as_optimum())):
            decoders.save(model, self.path("last.onnx"))
            self.accepted("compile", "last.onnx", "-o", "last.gart", "--generate")
            self.assertIn("extend", self.accepted("inspect", "last.gart"))
            self.agrees("last")
            feeds = {"input_ids": np.array([PROMPT]), "attention_mask": np.ones((1, 7), np.int64)}
            if name == "optimum":
                feeds["position_ids"] = np.arange(7)[None]
            own, last = self.session("last"), self.session("last")
            row = last.run(feeds, entry="extend")["logits"]
            self.assertEqual(row.shape, (1, 1, decoders.VOCABULARY))
            np.testing.assert_allclose(row, own.run(feeds)["logits"][:, -1:], rtol=1e-4, atol=1e-5)
            self.same_rows(own, last)

    def test_a_table_that_is_a_view_of_the_last_products_weights(self):
        """Tied embeddings in 4 bits, as onnxruntime-genai's builder writes them: the table is a Reshape of the packed weights."""
        random = np.random.default_rng(1)
        weights = [("w", random.integers(0, 256, (48, 2, 16), dtype=np.uint8)), ("s", random.standard_normal((48, 2)).astype(np.float32)),
                   ("shape", np.array([48, 32]))]
        make, value = decoders.helper.make_node, decoders.helper.make_tensor_value_info
        nodes = [make("Reshape", ["w", "shape"], ["table"]),
                 make("GatherBlockQuantized", ["table", "ids", "s"], ["x"], domain="com.microsoft", bits=4, block_size=32, gather_axis=0, quantize_axis=1),
                 make("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=64, N=48, bits=4, block_size=32)]
        graph = decoders.helper.make_graph(nodes, "tied", [value("ids", decoders.TensorProto.INT64, ["n"])],
                                           [value("y", decoders.TensorProto.FLOAT, ["n", 48])], [decoders.numpy_helper.from_array(w, name) for name, w in weights])
        imports = [decoders.helper.make_opsetid("", 21), decoders.helper.make_opsetid("com.microsoft", 1)]
        decoders.save(decoders.helper.make_model(graph, ir_version=10, opset_imports=imports), self.path("tied.onnx"))
        self.accepted("compile", "tied.onnx", "-o", "tied.gart")
        ids = {"ids": np.array([3, 47, 0, 3])}
        want = decoders.onnxruntime.InferenceSession(self.path("tied.onnx"), providers=["CPUExecutionProvider"]).run(None, ids)[0]
        np.testing.assert_allclose(gart.load(self.path("tied.gart")).run(ids)["y"], want, rtol=1e-4, atol=1e-3)

    def test_inputs_that_nobody_knows(self):
        model = decoders.as_optimum()
        for value in model.graph.input:
            if value.name == "position_ids":
                value.name = "speaker"
        for node in model.graph.node:
            node.input[:] = ["speaker" if name == "position_ids" else name for name in node.input]
        self.compiled("speaker", model)
        self.refused("generate", "speaker.gart", "--ids", "1", says=("input speaker i64[batch,tokens]", "is not known to generate; known: input_ids, "))

    def test_nan(self):
        model = decoders.as_builder()
        broken = np.zeros((decoders.VOCABULARY, decoders.WIDTH), np.float32)
        broken[33] = np.nan
        embedding = next(w for w in model.graph.initializer if list(w.dims) == [decoders.VOCABULARY, decoders.WIDTH])
        embedding.CopyFrom(decoders.numpy_helper.from_array(broken, embedding.name))
        self.compiled("nan", model)
        with self.assertRaisesRegex(gart.GartError, "token 0 of the generation, after 2 tokens: logit 0 is NaN"):
            self.session("nan").generate([1, 33])

    def test_nan_in_a_later_step(self):
        """The error names the token. The session then holds the tokens before this one, with guesses and without."""
        want = self.session("builder").generate(PROMPT, max_tokens=20)
        bad = next(token for at, token in enumerate(want) if token not in PROMPT and at >= 3 and token not in want[:at])
        at = want.index(bad)
        model = decoders.as_builder()
        embedding = next(w for w in model.graph.initializer if list(w.dims) == [decoders.VOCABULARY, decoders.WIDTH])
        rows = decoders.numpy_helper.to_array(embedding).copy()
        rows[bad] = np.nan
        embedding.CopyFrom(decoders.numpy_helper.from_array(rows, embedding.name))
        self.compiled("later", model)
        for lookup in (0, 4):
            session, streamed = self.session("later"), []
            with self.assertRaisesRegex(gart.GartError, f"token {at + 1} of the generation, after {len(PROMPT) + at + 1} tokens: logit 0 is NaN"):
                session.generate(PROMPT, max_tokens=20, lookup=lookup, on_token=streamed.append)
            self.assertEqual(streamed, want[:at + 1])
            self.assertEqual(session.state("past_key_values.0.key").shape[2], len(PROMPT) + at + 1)


if __name__ == "__main__":
    unittest.main()
