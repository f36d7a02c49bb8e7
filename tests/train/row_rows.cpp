// Test cases of products, reductions, normalisations and losses.
#include "tests/train/gradient_rows.h"

namespace gcg::test {

namespace {

const std::vector<GradientCase> kRows = {
    {.what = "MatMul [a,4] [4,b] ", .graph = R"(graph g(%a: f64[a,4], %b: f64[4,b]) -> (%y) { %y = MatMul(%a, %b) })"},
    {.what = "MatMul [s,a,4] [4,b] ",
     .graph = R"(graph g(%a: f64[s,a,4], %b: f64[4,b]) -> (%y) { %y = MatMul(%a, %b) })"},
    {.what = "MatMul [s,a,4] [s,4,b] ",
     .graph = R"(graph g(%a: f64[s,a,4], %b: f64[s,4,b]) -> (%y) { %y = MatMul(%a, %b) })"},
    {.what = "MatMul [s,1,a,4] [t,4,b] ",
     .graph = R"(graph g(%a: f64[s,1,a,4], %b: f64[t,4,b]) -> (%y) { %y = MatMul(%a, %b) })"},
    {.what = "MatMul [4] [4] ", .graph = R"(graph g(%a: f64[4], %b: f64[4]) -> (%y) { %y = MatMul(%a, %b) })"},
    {.what = "MatMul [4] [s,4,b] ", .graph = R"(graph g(%a: f64[4], %b: f64[s,4,b]) -> (%y) { %y = MatMul(%a, %b) })"},
    {.what = "MatMul [s,a,4] [4] ", .graph = R"(graph g(%a: f64[s,a,4], %b: f64[4]) -> (%y) { %y = MatMul(%a, %b) })"},
    {.what = "MatMul [a,4] [s,4,b] ",
     .graph = R"(graph g(%a: f64[a,4], %b: f64[s,4,b]) -> (%y) { %y = MatMul(%a, %b) })"},
    {.what = "Gemm 0 0",
     .graph =
         R"(graph g(%a: f64[a,4], %b: f64[4,b], %c: f64[b]) -> (%y) { %y = Gemm(%a, %b, %c) {transA = 0, transB = 0, alpha = 0.5, beta = 2.0} })"},
    {.what = "Gemm 0 1",
     .graph =
         R"(graph g(%a: f64[a,4], %b: f64[b,4], %c: f64[b]) -> (%y) { %y = Gemm(%a, %b, %c) {transA = 0, transB = 1, alpha = 0.5, beta = 2.0} })"},
    {.what = "Gemm 1 0",
     .graph =
         R"(graph g(%a: f64[4,a], %b: f64[4,b], %c: f64[b]) -> (%y) { %y = Gemm(%a, %b, %c) {transA = 1, transB = 0, alpha = 0.5, beta = 2.0} })"},
    {.what = "Gemm 1 1",
     .graph =
         R"(graph g(%a: f64[4,a], %b: f64[b,4], %c: f64[b]) -> (%y) { %y = Gemm(%a, %b, %c) {transA = 1, transB = 1, alpha = 0.5, beta = 2.0} })"},
    {.what = "Einsum ij,jk->ik",
     .graph = R"(graph g(%a: f64[a,b], %b: f64[b,c]) -> (%y) { %y = Einsum(%a, %b) {equation = "ij,jk->ik"} })"},
    {.what = "Einsum bhid,bhjd->bhij",
     .graph =
         R"(graph g(%a: f64[a,b,c,d], %b: f64[a,b,e,d]) -> (%y) { %y = Einsum(%a, %b) {equation = "bhid,bhjd->bhij"} })"},
    {.what = "Einsum ij->ji", .graph = R"(graph g(%a: f64[a,b]) -> (%y) { %y = Einsum(%a) {equation = "ij->ji"} })"},
    {.what = "Einsum i,j->ij",
     .graph = R"(graph g(%a: f64[a], %b: f64[b]) -> (%y) { %y = Einsum(%a, %b) {equation = "i,j->ij"} })"},
    {.what = "Einsum ij->", .graph = R"(graph g(%x: f64[a,b]) -> (%y) { %y = Einsum(%x) {equation = "ij->"} })"},
    {.what = "Einsum ii->i", .graph = R"(graph g(%x: f64[3,3]) -> (%y) { %y = Einsum(%x) {equation = "ii->i"} })"},
    {.what = "Einsum ii,ij->j",
     .graph = R"(graph g(%x: f64[3,3], %z: f64[3,b]) -> (%y) { %y = Einsum(%x, %z) {equation = "ii,ij->j"} })"},
    {.what = "Einsum ...ij,jk->...ik",
     .graph =
         R"(graph g(%x: f64[a,b,3,c], %z: f64[c,2]) -> (%y) { %y = Einsum(%x, %z) {equation = "...ij,jk->...ik"} })"},
    {.what = "Einsum iij->j", .graph = R"(graph g(%x: f64[3,3,b]) -> (%y) { %y = Einsum(%x) {equation = "iij->j"} })"},
    {.what = "Einsum ij,jk,kl->il",
     .graph =
         R"(graph g(%x: f64[a,b], %z: f64[b,c], %u: f64[c,d]) -> (%y) { %y = Einsum(%x, %z, %u) {equation = "ij,jk,kl->il"} })"},
    {.what = "Einsum i,i",
     .graph = R"(graph g(%x: f64[a], %z: f64[a]) -> (%y) { %y = Einsum(%x, %z) {equation = "i,i"} })"},
    {.what = "ReduceSum of two axes, keepdims 0",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceSum(%x, %axes) {keepdims = 0}
})",
     .distinct = true},
    {.what = "ReduceSum of two axes, keepdims 1",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceSum(%x, %axes) {keepdims = 1}
})",
     .distinct = true},
    {.what = "ReduceSum of all axes",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = ReduceSum(%x) {keepdims = 0} })",
     .distinct = true},
    {.what = "ReduceMean of two axes, keepdims 0",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceMean(%x, %axes) {keepdims = 0}
})",
     .distinct = true},
    {.what = "ReduceMean of two axes, keepdims 1",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceMean(%x, %axes) {keepdims = 1}
})",
     .distinct = true},
    {.what = "ReduceMean of all axes",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = ReduceMean(%x) {keepdims = 0} })",
     .distinct = true},
    {.what = "ReduceSumSquare of two axes, keepdims 0",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceSumSquare(%x, %axes) {keepdims = 0}
})",
     .distinct = true},
    {.what = "ReduceSumSquare of two axes, keepdims 1",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceSumSquare(%x, %axes) {keepdims = 1}
})",
     .distinct = true},
    {.what = "ReduceSumSquare of all axes",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = ReduceSumSquare(%x) {keepdims = 0} })",
     .distinct = true},
    {.what = "ReduceL1 of two axes, keepdims 0",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceL1(%x, %axes) {keepdims = 0}
})",
     .distinct = true},
    {.what = "ReduceL1 of two axes, keepdims 1",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceL1(%x, %axes) {keepdims = 1}
})",
     .distinct = true},
    {.what = "ReduceL1 of all axes",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = ReduceL1(%x) {keepdims = 0} })",
     .distinct = true},
    {.what = "ReduceL2 of two axes, keepdims 0",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceL2(%x, %axes) {keepdims = 0}
})",
     .distinct = true},
    {.what = "ReduceL2 of two axes, keepdims 1",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceL2(%x, %axes) {keepdims = 1}
})",
     .distinct = true},
    {.what = "ReduceL2 of all axes",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = ReduceL2(%x) {keepdims = 0} })",
     .distinct = true},
    {.what = "ReduceLogSumExp of two axes, keepdims 0",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceLogSumExp(%x, %axes) {keepdims = 0}
})",
     .distinct = true},
    {.what = "ReduceLogSumExp of two axes, keepdims 1",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceLogSumExp(%x, %axes) {keepdims = 1}
})",
     .distinct = true},
    {.what = "ReduceLogSumExp of all axes",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = ReduceLogSumExp(%x) {keepdims = 0} })",
     .distinct = true},
    {.what = "ReduceMax of two axes, keepdims 0",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceMax(%x, %axes) {keepdims = 0}
})",
     .distinct = true},
    {.what = "ReduceMax of two axes, keepdims 1",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceMax(%x, %axes) {keepdims = 1}
})",
     .distinct = true},
    {.what = "ReduceMax of all axes",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = ReduceMax(%x) {keepdims = 0} })",
     .distinct = true},
    {.what = "ReduceMin of two axes, keepdims 0",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceMin(%x, %axes) {keepdims = 0}
})",
     .distinct = true},
    {.what = "ReduceMin of two axes, keepdims 1",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceMin(%x, %axes) {keepdims = 1}
})",
     .distinct = true},
    {.what = "ReduceMin of all axes",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = ReduceMin(%x) {keepdims = 0} })",
     .distinct = true},
    {.what = "ReduceProd of two axes, keepdims 0",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceProd(%x, %axes) {keepdims = 0}
})",
     .distinct = true},
    {.what = "ReduceProd of two axes, keepdims 1",
     .graph = R"(graph g(%x: f64[a,3,b]) -> (%y) {
  constant %axes: i64[2] = {-1, 0}
  %y = ReduceProd(%x, %axes) {keepdims = 1}
})",
     .distinct = true},
    {.what = "ReduceProd of all axes",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = ReduceProd(%x) {keepdims = 0} })",
     .distinct = true},
    {.what = "ReduceLogSum",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) {
  constant %axes: i64[1] = {1}
  %y = ReduceLogSum(%x, %axes)
})",
     .low = 0.5,
     .high = 2},
    {.what = "ReduceProd of zeros", .graph = R"(graph g(%x: f64[a,3]) -> (%y) {
  constant %m: f64[3] = {0, 1, 2}
  %z = Mul(%x, %m)
  constant %axes: i64[1] = {1}
  %y = ReduceProd(%z, %axes)
})"},
    {.what = "ReduceSum of no axes", .graph = R"(graph g(%x: f64[a,3]) -> (%y) {
  constant %axes: i64[0] = {}
  %z = ReduceSum(%x, %axes) {noop_with_empty_axes = 1}
  %y = Mul(%z, %z)
})"},
    {.what = "CumSum 0 0", .graph = R"(graph g(%x: f64[a,4]) -> (%y) {
  constant %axis: i64[] = {1}
  %y = CumSum(%x, %axis) {exclusive = 0, reverse = 0}
})"},
    {.what = "CumSum 0 1", .graph = R"(graph g(%x: f64[a,4]) -> (%y) {
  constant %axis: i64[] = {1}
  %y = CumSum(%x, %axis) {exclusive = 0, reverse = 1}
})"},
    {.what = "CumSum 1 0", .graph = R"(graph g(%x: f64[a,4]) -> (%y) {
  constant %axis: i64[] = {1}
  %y = CumSum(%x, %axis) {exclusive = 1, reverse = 0}
})"},
    {.what = "CumSum 1 1", .graph = R"(graph g(%x: f64[a,4]) -> (%y) {
  constant %axis: i64[] = {1}
  %y = CumSum(%x, %axis) {exclusive = 1, reverse = 1}
})"},
    {.what = "Softmax -1", .graph = R"(graph g(%x: f64[a,b,3]) -> (%y) { %y = Softmax(%x) {axis = -1} })"},
    {.what = "Softmax 1", .graph = R"(graph g(%x: f64[a,b,3]) -> (%y) { %y = Softmax(%x) {axis = 1} })"},
    {.what = "LogSoftmax -1", .graph = R"(graph g(%x: f64[a,b,3]) -> (%y) { %y = LogSoftmax(%x) {axis = -1} })"},
    {.what = "LogSoftmax 1", .graph = R"(graph g(%x: f64[a,b,3]) -> (%y) { %y = LogSoftmax(%x) {axis = 1} })"},
    {.what = "LayerNormalization",
     .graph = R"(graph g(%x: f64[a,b,4], %s: f64[4], %b: f64[4]) -> (%y) { %y = LayerNormalization(%x, %s, %b) })"},
    {.what = "LayerNormalization of two axes without bias",
     .graph =
         R"(graph g(%x: f64[a,3,4], %s: f64[3,4]) -> (%y) { %y = LayerNormalization(%x, %s) {axis = 1, epsilon = 0.1} })"},
    {.what = "RMSNormalization",
     .graph = R"(graph g(%x: f64[a,b,4], %s: f64[4]) -> (%y) { %y = RMSNormalization(%x, %s) {epsilon = 0.01} })"},
    {.what = "SimplifiedLayerNormalization",
     .graph =
         R"(graph g(%x: f64[a,b,4], %s: f64[4]) -> (%y) { %y = SimplifiedLayerNormalization(%x, %s) {epsilon = 0.01} })"},
    {.what = "BatchNormalization",
     .graph =
         R"(graph g(%x: f64[a,3,b], %s: f64[3], %b: f64[3], %m: f64[3], %v: f64[3]) -> (%y) { %y = BatchNormalization(%x, %s, %b, %m, %v) })",
     .low = 0.5,
     .high = 2},
    {.what = "BatchNormalization in training mode",
     .graph =
         R"(graph g(%x: f64[a,3,5], %s: f64[3], %b: f64[3], %m: f64[3], %v: f64[3]) -> (%y) { %y = gart.TrainingBatchNormalization(%x, %s, %b, %m, %v) })"},
    {.what = "InstanceNormalization",
     .graph =
         R"(graph g(%x: f64[a,3,4,b], %s: f64[3], %b: f64[3]) -> (%y) { %y = InstanceNormalization(%x, %s, %b) {epsilon = 0.1} })"},
    {.what = "GroupNormalization",
     .graph =
         R"(graph g(%x: f64[a,6,b], %s: f64[6], %b: f64[6]) -> (%y) { %y = GroupNormalization(%x, %s, %b) {num_groups = 2, epsilon = 0.1} })"},
    {.what = "GroupNormalization with a scale per group",
     .graph =
         R"(graph g(%x: f64[a,6,b], %s: f64[2], %b: f64[2]) -> (%y) { %y = GroupNormalization(%x, %s, %b) {num_groups = 2, epsilon = 0.1, scale_per_group = 1} })"},
    {.what = "LpNormalization 1",
     .graph = R"(graph g(%x: f64[a,4]) -> (%y) { %y = LpNormalization(%x) {p = 1} })",
     .low = 0.2,
     .high = 2},
    {.what = "LpNormalization 2",
     .graph = R"(graph g(%x: f64[a,4]) -> (%y) { %y = LpNormalization(%x) {p = 2} })",
     .low = 0.2,
     .high = 2},
    {.what = "MeanVarianceNormalization",
     .graph = R"(graph g(%x: f64[a,2,3,b]) -> (%y) { %y = MeanVarianceNormalization(%x) })"},
    {.what = "LRN",
     .graph = R"(graph g(%x: f64[a,5,b]) -> (%y) { %y = LRN(%x) {size = 3, alpha = 0.5, beta = 0.75, bias = 1.0} })"},
    {.what = "LRN of an even size",
     .graph = R"(graph g(%x: f64[a,5,b]) -> (%y) { %y = LRN(%x) {size = 2, alpha = 0.5, beta = 0.75, bias = 1.0} })"},
    {.what = "NegativeLogLikelihoodLoss none",
     .graph =
         R"(graph g(%x: f64[a,4,b], %t: i64[a,b]) -> (%y) { %y = NegativeLogLikelihoodLoss(%x, %t) {reduction = "none"} })",
     .integer_limit = 4},
    {.what = "NegativeLogLikelihoodLoss sum",
     .graph =
         R"(graph g(%x: f64[a,4,b], %t: i64[a,b]) -> (%y) { %y = NegativeLogLikelihoodLoss(%x, %t) {reduction = "sum"} })",
     .integer_limit = 4},
    {.what = "NegativeLogLikelihoodLoss mean",
     .graph =
         R"(graph g(%x: f64[a,4,b], %t: i64[a,b]) -> (%y) { %y = NegativeLogLikelihoodLoss(%x, %t) {reduction = "mean"} })",
     .integer_limit = 4},
    {.what = "NegativeLogLikelihoodLoss with weights",
     .graph = R"(graph g(%x: f64[a,4], %t: i64[a]) -> (%y) {
  constant %w: f64[4] = {1, 2, 0.5, 3}
  %y = NegativeLogLikelihoodLoss(%x, %t, %w)
})",
     .integer_limit = 4},
    {.what = "NegativeLogLikelihoodLoss that ignores a label",
     .graph =
         R"(graph g(%x: f64[a,4], %t: i64[a]) -> (%y) { %y = NegativeLogLikelihoodLoss(%x, %t) {reduction = "sum", ignore_index = 2} })",
     .integer_limit = 4},
    {.what = "Attention",
     .graph =
         R"(graph g(%q: f64[a,2,s,4], %k: f64[a,2,t,4], %v: f64[a,2,t,3]) -> (%y) { %y = Attention(%q, %k, %v) })"},
    {.what = "causal Attention with a mask and shared keys",
     .graph =
         R"(graph g(%q: f64[a,4,s,4], %k: f64[a,2,s,4], %v: f64[a,2,s,3], %m: f64[s,s]) -> (%y) { %y = Attention(%q, %k, %v, %m) {is_causal = 1} })"},
    {.what = "FlexAttention", .graph = R"(graph g(%q: f64[a,4,s,4], %k: f64[a,2,t,4], %v: f64[a,2,t,3]) -> (%y) {
  %y = ai.onnx.preview.FlexAttention(%q, %k, %v) {scale = 0.25}
})"},
    {.what = "LinearAttention", .graph = R"(graph g(%q: f64[a,s,6], %k: f64[a,s,6], %v: f64[a,s,4]) -> (%y) {
  %y = LinearAttention(%q, %k, %v) {q_num_heads = 2, kv_num_heads = 2, update_rule = "linear", scale = 0.5}
})"},
    {.what = "RotaryEmbedding",
     .graph =
         R"(graph g(%x: f64[a,2,s,4], %c: f64[a,s,2], %t: f64[a,s,2]) -> (%y) { %y = RotaryEmbedding(%x, %c, %t) })"},
    {.what = "com.microsoft BiasGelu",
     .graph = R"(graph g(%x: f64[a,4], %b: f64[4]) -> (%y) { %y = com.microsoft.BiasGelu(%x, %b) })"},
};

}  // namespace

std::vector<GradientCase> row_rows() { return kRows; }

}  // namespace gcg::test
