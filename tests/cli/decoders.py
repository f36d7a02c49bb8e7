"""Small language models of random weights, as exporters write them, and their greedy tokens by onnxruntime."""
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HEADS, GROUPS, HEAD, WIDTH, VOCABULARY, LAYERS, POSITIONS = 4, 2, 16, 64, 96, 2, 64
CACHES = [f"{layer}.{which}" for layer in range(LAYERS) for which in ("key", "value")]


class Decoder:
    """Nodes and weights of one model."""

    def __init__(self, bits=32, seed=0):
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.bits, self.random = bits, np.random.default_rng(seed)

    def node(self, op, *inputs, domain="", outputs=1, names=None, **attributes):
        names = names or [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"{op}_{len(self.nodes)}", domain=domain, **attributes))
        return names[0] if len(names) == 1 else names

    def constant(self, array, name=None):
        name = name or f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def input(self, name, elements, shape):
        self.inputs.append(helper.make_tensor_value_info(name, elements, shape))
        return name

    def output(self, name, shape, elements=TensorProto.FLOAT):
        self.outputs.append(helper.make_tensor_value_info(name, elements, shape))

    def random_weight(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32) / np.sqrt(shape[0], dtype=np.float32)

    def product(self, x, rows, columns):
        if self.bits == 32:
            return self.node("MatMul", x, self.constant(self.random_weight(rows, columns)))
        numbers = self.random.integers(0, 256, (columns, rows // 32, 16), dtype=np.uint8)
        scales = (0.05 * self.random.standard_normal(columns * rows // 32)).astype(np.float32)
        return self.node("MatMulNBits", x, self.constant(numbers), self.constant(scales), domain="com.microsoft", K=rows, N=columns,
                         bits=self.bits, block_size=32)

    def embedding(self):
        ids = self.input("input_ids", TensorProto.INT64, ["batch", "tokens"])
        return self.node("Gather", self.constant(self.random_weight(VOCABULARY, WIDTH) * np.float32(8)), ids)

    def finish(self, x, past, present):
        logits = self.product(x, WIDTH, VOCABULARY)
        self.node("Identity", logits, names=["logits"])
        self.outputs.insert(0, helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "tokens", VOCABULARY]))
        for name in CACHES:
            if past is not None:
                self.input(f"past_key_values.{name}", TensorProto.FLOAT, ["batch", GROUPS, past, HEAD])
            self.output(f"present.{name}", ["batch", GROUPS, present, HEAD])
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, ir_version=10,
                                 opset_imports=[helper.make_opsetid("", 24 if any(n.op_type == "TensorScatter" for n in self.nodes) else 21), helper.make_opsetid("com.microsoft", 1)])


def as_builder(bits=32, past="past_sequence_length", present="total_sequence_length", mask="total_sequence_length", windows=(), keeps=False):
    """GroupQueryAttention, as onnxruntime-genai's builder writes it. With a fixed `past` and `present` the caches are static. `windows`: the
    number of tokens that each layer reads (0: all); `keeps`: the caches of such layers keep only these."""
    d = Decoder(bits)
    x = d.embedding()
    mask = d.input("attention_mask", TensorProto.INT64, ["batch", mask])
    last = d.node("Cast", d.node("Sub", d.node("ReduceSum", mask, d.constant(np.array([1])), keepdims=0), d.constant(np.array([1]))),
                  to=TensorProto.INT32)
    total = d.node("Cast", d.node("Gather", d.node("Shape", mask), d.constant(np.array(1)), axis=0), to=TensorProto.INT32)
    angles = np.arange(POSITIONS)[:, None] * 100.0 ** (-np.arange(HEAD // 2) / (HEAD // 2))
    cosines, sines = d.constant(np.cos(angles).astype(np.float32)), d.constant(np.sin(angles).astype(np.float32))
    for layer in range(LAYERS):
        qkv = d.product(x, WIDTH, (HEADS + 2 * GROUPS) * HEAD)
        caches = [f"past_key_values.{layer}.key", f"past_key_values.{layer}.value"]
        window = windows[layer] if windows else 0
        local = {"local_window_size": window, "sliding_window_cache": int(keeps)} if window else {}
        y = d.node("GroupQueryAttention", qkv, "", "", *caches, last, total, cosines, sines, domain="com.microsoft", num_heads=HEADS,
                   kv_num_heads=GROUPS, do_rotary=1, **local, names=[f"attention.{layer}", f"present.{layer}.key", f"present.{layer}.value"])[0]
        x = d.node("Add", x, d.product(y, HEADS * HEAD, WIDTH))
        x = d.node("LayerNormalization", x, d.constant(np.ones(WIDTH, np.float32)))
    return d.finish(x, past, present)


def as_optimum(bits=32, past="past_sequence_length", reads=True, mask="past_sequence_length + tokens", room=0):
    """Plain operators and caches that grow by Concat, as optimum and torch.onnx export them. `reads`: False for a first
    model without past, whose caches are outputs only. `room`: if not 0, the caches have this many rows and
    TensorScatter updates them, as mobius exports them."""
    d = Decoder(bits)
    x = d.embedding()
    mask = d.input("attention_mask", TensorProto.INT64, ["batch", room or mask])
    first = d.input("write_indices", TensorProto.INT64, ["batch"]) if room else None
    places = d.input("position_ids", TensorProto.INT64, ["batch", "tokens"])
    x = d.node("Add", x, d.node("Gather", d.constant(d.random_weight(POSITIONS, WIDTH) * np.float32(8)), places))
    there = d.node("Range", d.constant(np.array(0)), d.node("Gather", d.node("Shape", mask), d.constant(np.array(1)), axis=0),
                   d.constant(np.array(1)))
    early = d.node("LessOrEqual", there, d.node("Unsqueeze", places, d.constant(np.array([1, 3]))))
    counts = d.node("And", early, d.node("Unsqueeze", d.node("Cast", mask, to=TensorProto.BOOL), d.constant(np.array([1, 2]))))
    for layer in range(LAYERS):
        def heads(number):
            split = d.node("Reshape", d.product(x, WIDTH, number * HEAD), d.constant(np.array([0, 0, number, HEAD])))
            return d.node("Transpose", split, perm=[0, 2, 1, 3])
        q, k, v = heads(HEADS), heads(GROUPS), heads(GROUPS)
        grown = []
        for which, rows in (("key", k), ("value", v)):
            name = f"{layer}.{which}"
            parts = [f"past_key_values.{name}", rows] if reads else [rows]
            if room:
                all_rows = d.node("TensorScatter", *parts, first, axis=2, names=[f"present.{name}"])
            else:
                all_rows = d.node("Concat", *parts, axis=2, names=[f"present.{name}"])
            wide = d.node("Expand", d.node("Unsqueeze", all_rows, d.constant(np.array([2]))), d.constant(np.array([1, 1, HEADS // GROUPS, 1, 1])))
            grown.append(d.node("Reshape", wide, d.constant(np.array([0, HEADS, -1, HEAD]))))
        scores = d.node("MatMul", q, d.node("Transpose", grown[0], perm=[0, 1, 3, 2]))
        scaled = d.node("Mul", scores, d.constant(np.array(HEAD ** -0.5, np.float32)))
        hidden = d.node("Where", counts, scaled, d.constant(np.array(-1e30, np.float32)))
        y = d.node("MatMul", d.node("Softmax", hidden, axis=-1), grown[1])
        flat = d.node("Reshape", d.node("Transpose", y, perm=[0, 2, 1, 3]), d.constant(np.array([0, 0, HEADS * HEAD])))
        x = d.node("Add", x, d.product(flat, HEADS * HEAD, WIDTH))
        x = d.node("LayerNormalization", x, d.constant(np.ones(WIDTH, np.float32)))
    return d.finish(x, (room or past) if reads else None, room or "present_sequence_length")


class Reference:
    """Runs a model in onnxruntime and feeds it with its own caches. `room`: the extent of static caches."""

    def __init__(self, path, room=0):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.outputs = [o.name for o in self.session.get_outputs()]
        self.caches = {i.name: np.zeros([1, GROUPS, room, HEAD], np.float32) for i in self.session.get_inputs() if "past" in i.name}
        self.length = 0

    def logits(self, ids):
        """Feeds `ids` after those of earlier calls, and returns the logits of the last id."""
        total = self.length + len(ids)
        feeds = dict(self.caches)
        for i in self.session.get_inputs():
            if i.name == "input_ids":
                feeds[i.name] = np.array([ids], np.int64)
            elif i.name == "attention_mask":
                width = i.shape[1] if isinstance(i.shape[1], int) else total
                feeds[i.name] = (np.arange(width) < total).astype(np.int64)[None]
            elif i.name == "write_indices":
                feeds[i.name] = np.array([self.length])
            elif i.name == "position_ids":
                feeds[i.name] = np.arange(self.length, total)[None]
        got = dict(zip(self.outputs, self.session.run(None, feeds)))
        self.caches = {name: got[name.replace("past_key_values", "present")] for name in self.caches}
        self.length = total
        return got["logits"][0, -1]

    def greedy(self, ids, count):
        out = []
        while len(out) < count:
            out.append(int(self.logits(ids).argmax()))
            ids = out[-1:]
        return out


def save(model, path):
    onnx.checker.check_model(model)
    onnx.save(model, path)
