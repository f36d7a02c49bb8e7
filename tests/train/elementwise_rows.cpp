// Elementwise operators.
#include "tests/train/gradient_rows.h"

namespace gcg::test {

namespace {

const std::vector<GradientCase> kRows = {
    {.what = "Abs", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Abs(%x) })"},
    {.what = "Asinh", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Asinh(%x) })"},
    {.what = "Atan", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Atan(%x) })"},
    {.what = "Cos", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Cos(%x) })"},
    {.what = "Cosh", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Cosh(%x) })"},
    {.what = "Erf", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Erf(%x) })"},
    {.what = "Exp", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Exp(%x) })"},
    {.what = "Neg", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Neg(%x) })"},
    {.what = "Sin", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Sin(%x) })"},
    {.what = "Sinh", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Sinh(%x) })"},
    {.what = "Sigmoid", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Sigmoid(%x) })"},
    {.what = "Tanh", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Tanh(%x) })"},
    {.what = "Softplus", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Softplus(%x) })"},
    {.what = "Softsign", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Softsign(%x) })"},
    {.what = "Mish", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Mish(%x) })"},
    {.what = "Relu", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Relu(%x) })"},
    {.what = "HardSwish", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = HardSwish(%x) })"},
    {.what = "Selu", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Selu(%x) })"},
    {.what = "Identity", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Identity(%x) })"},
    {.what = "Log", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Log(%x) })", .low = 0.5, .high = 3},
    {.what = "Sqrt", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Sqrt(%x) })", .low = 0.5, .high = 3},
    {.what = "Reciprocal", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Reciprocal(%x) })", .low = 0.5, .high = 3},
    {.what = "Acos", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Acos(%x) })", .low = -0.9, .high = 0.9},
    {.what = "Asin", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Asin(%x) })", .low = -0.9, .high = 0.9},
    {.what = "Atanh", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Atanh(%x) })", .low = -0.9, .high = 0.9},
    {.what = "Tan", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Tan(%x) })", .low = -0.9, .high = 0.9},
    {.what = "Acosh", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Acosh(%x) })", .low = 1.2, .high = 3},
    {.what = "Celu alpha = 0.7", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Celu(%x) {alpha = 0.7} })"},
    {.what = "Elu alpha = 0.7", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Elu(%x) {alpha = 0.7} })"},
    {.what = "LeakyRelu alpha = 0.3", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = LeakyRelu(%x) {alpha = 0.3} })"},
    {.what = "ThresholdedRelu alpha = 0.5",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = ThresholdedRelu(%x) {alpha = 0.5} })"},
    {.what = "Shrink lambd = 0.4, bias = 0.1",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Shrink(%x) {lambd = 0.4, bias = 0.1} })"},
    {.what = "HardSigmoid alpha = 0.3",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = HardSigmoid(%x) {alpha = 0.3} })"},
    {.what = "Swish alpha = 1.5", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Swish(%x) {alpha = 1.5} })"},
    {.what = "Swish alpha = 1.0", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Swish(%x) {alpha = 1.0} })"},
    {.what = "Gelu", .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Gelu(%x) })"},
    {.what = "Gelu approximate = 'tanh'",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Gelu(%x) {approximate = "tanh"} })"},
    {.what = "Selu alpha = 1.2, gamma = 0.8",
     .graph = R"(graph g(%x: f64[a,3]) -> (%y) { %y = Selu(%x) {alpha = 1.2, gamma = 0.8} })"},
    {.what = "Add [a,3] [a,3] ", .graph = R"(graph g(%a: f64[a,3], %b: f64[a,3]) -> (%y) { %y = Add(%a, %b) })"},
    {.what = "Add [a,3] [3] ", .graph = R"(graph g(%a: f64[a,3], %b: f64[3]) -> (%y) { %y = Add(%a, %b) })"},
    {.what = "Add [a,1,c] [b,1] ", .graph = R"(graph g(%a: f64[a,1,c], %b: f64[b,1]) -> (%y) { %y = Add(%a, %b) })"},
    {.what = "Add [] [a,b] ", .graph = R"(graph g(%a: f64[], %b: f64[a,b]) -> (%y) { %y = Add(%a, %b) })"},
    {.what = "Add [1,b] [a,1] ", .graph = R"(graph g(%a: f64[1,b], %b: f64[a,1]) -> (%y) { %y = Add(%a, %b) })"},
    {.what = "Sub [a,3] [a,3] ", .graph = R"(graph g(%a: f64[a,3], %b: f64[a,3]) -> (%y) { %y = Sub(%a, %b) })"},
    {.what = "Sub [a,3] [3] ", .graph = R"(graph g(%a: f64[a,3], %b: f64[3]) -> (%y) { %y = Sub(%a, %b) })"},
    {.what = "Sub [a,1,c] [b,1] ", .graph = R"(graph g(%a: f64[a,1,c], %b: f64[b,1]) -> (%y) { %y = Sub(%a, %b) })"},
    {.what = "Sub [] [a,b] ", .graph = R"(graph g(%a: f64[], %b: f64[a,b]) -> (%y) { %y = Sub(%a, %b) })"},
    {.what = "Sub [1,b] [a,1] ", .graph = R"(graph g(%a: f64[1,b], %b: f64[a,1]) -> (%y) { %y = Sub(%a, %b) })"},
    {.what = "Mul [a,3] [a,3] ", .graph = R"(graph g(%a: f64[a,3], %b: f64[a,3]) -> (%y) { %y = Mul(%a, %b) })"},
    {.what = "Mul [a,3] [3] ", .graph = R"(graph g(%a: f64[a,3], %b: f64[3]) -> (%y) { %y = Mul(%a, %b) })"},
    {.what = "Mul [a,1,c] [b,1] ", .graph = R"(graph g(%a: f64[a,1,c], %b: f64[b,1]) -> (%y) { %y = Mul(%a, %b) })"},
    {.what = "Mul [] [a,b] ", .graph = R"(graph g(%a: f64[], %b: f64[a,b]) -> (%y) { %y = Mul(%a, %b) })"},
    {.what = "Mul [1,b] [a,1] ", .graph = R"(graph g(%a: f64[1,b], %b: f64[a,1]) -> (%y) { %y = Mul(%a, %b) })"},
    {.what = "Div [a,3] [a,3] ",
     .graph = R"(graph g(%a: f64[a,3], %b: f64[a,3]) -> (%y) { %y = Div(%a, %b) })",
     .low = 0.5,
     .high = 2},
    {.what = "Div [a,3] [3] ",
     .graph = R"(graph g(%a: f64[a,3], %b: f64[3]) -> (%y) { %y = Div(%a, %b) })",
     .low = 0.5,
     .high = 2},
    {.what = "Div [a,1,c] [b,1] ",
     .graph = R"(graph g(%a: f64[a,1,c], %b: f64[b,1]) -> (%y) { %y = Div(%a, %b) })",
     .low = 0.5,
     .high = 2},
    {.what = "Div [] [a,b] ",
     .graph = R"(graph g(%a: f64[], %b: f64[a,b]) -> (%y) { %y = Div(%a, %b) })",
     .low = 0.5,
     .high = 2},
    {.what = "Div [1,b] [a,1] ",
     .graph = R"(graph g(%a: f64[1,b], %b: f64[a,1]) -> (%y) { %y = Div(%a, %b) })",
     .low = 0.5,
     .high = 2},
    {.what = "Max [a,3] [a,3] ", .graph = R"(graph g(%a: f64[a,3], %b: f64[a,3]) -> (%y) { %y = Max(%a, %b) })"},
    {.what = "Max [a,3] [3] ", .graph = R"(graph g(%a: f64[a,3], %b: f64[3]) -> (%y) { %y = Max(%a, %b) })"},
    {.what = "Max [a,1,c] [b,1] ", .graph = R"(graph g(%a: f64[a,1,c], %b: f64[b,1]) -> (%y) { %y = Max(%a, %b) })"},
    {.what = "Max [] [a,b] ", .graph = R"(graph g(%a: f64[], %b: f64[a,b]) -> (%y) { %y = Max(%a, %b) })"},
    {.what = "Max [1,b] [a,1] ", .graph = R"(graph g(%a: f64[1,b], %b: f64[a,1]) -> (%y) { %y = Max(%a, %b) })"},
    {.what = "Min [a,3] [1] ", .graph = R"(graph g(%a: f64[a,3], %b: f64[1]) -> (%y) { %y = Min(%a, %b) })"},
    {.what = "Pow [a,3] [a,3] ",
     .graph = R"(graph g(%a: f64[a,3], %b: f64[a,3]) -> (%y) { %y = Pow(%a, %b) })",
     .low = 0.3,
     .high = 2},
    {.what = "Pow [a,3] [3] ",
     .graph = R"(graph g(%a: f64[a,3], %b: f64[3]) -> (%y) { %y = Pow(%a, %b) })",
     .low = 0.3,
     .high = 2},
    {.what = "Pow [a,1,c] [b,1] ",
     .graph = R"(graph g(%a: f64[a,1,c], %b: f64[b,1]) -> (%y) { %y = Pow(%a, %b) })",
     .low = 0.3,
     .high = 2},
    {.what = "Pow [] [a,b] ",
     .graph = R"(graph g(%a: f64[], %b: f64[a,b]) -> (%y) { %y = Pow(%a, %b) })",
     .low = 0.3,
     .high = 2},
    {.what = "Pow [1,b] [a,1] ",
     .graph = R"(graph g(%a: f64[1,b], %b: f64[a,1]) -> (%y) { %y = Pow(%a, %b) })",
     .low = 0.3,
     .high = 2},
    {.what = "Mod [a,3] [3] ",
     .graph = R"(graph g(%a: f64[a,3], %b: f64[3]) -> (%y) { %y = Mod(%a, %b) {fmod = 1} })",
     .low = 0.5,
     .high = 3},
    {.what = "Pow by 3", .graph = R"(graph g(%x: f64[a,3]) -> (%y) {
  constant %p: f64[] = {3}
  %y = Pow(%x, %p)
})"},
    {.what = "Pow by 0", .graph = R"(graph g(%x: f64[a,3]) -> (%y) {
  constant %p: f64[] = {0}
  %y = Pow(%x, %p)
})"},
    {.what = "Pow by integers",
     .graph = R"(graph g(%x: f64[a,3], %p: i64[3]) -> (%y) { %y = Pow(%x, %p) })",
     .low = 0.5,
     .high = 2,
     .integer_limit = 4},
    {.what = "Sum of three",
     .graph = R"(graph g(%a: f64[a,b], %b: f64[b], %c: f64[a,1]) -> (%y) { %y = Sum(%a, %b, %c) })"},
    {.what = "Mean of three",
     .graph = R"(graph g(%a: f64[a,b], %b: f64[b], %c: f64[a,1]) -> (%y) { %y = Mean(%a, %b, %c) })"},
    {.what = "Max of three",
     .graph = R"(graph g(%a: f64[a,b], %b: f64[b], %c: f64[a,1]) -> (%y) { %y = Max(%a, %b, %c) })"},
    {.what = "Min of three",
     .graph = R"(graph g(%a: f64[a,b], %b: f64[b], %c: f64[a,1]) -> (%y) { %y = Min(%a, %b, %c) })"},
    {.what = "Where",
     .graph = R"(graph g(%c: bool[b], %a: f64[a,b], %b: f64[a,1]) -> (%y) { %y = Where(%c, %a, %b) })",
     .integer_limit = 2},
    {.what = "Cast to f32 and back", .graph = R"(graph g(%x: f64[a]) -> (%y) {
  %z = Cast(%x) {to = 11}
  %y = Mul(%z, %z)
})"},
    {.what = "Cast to integers has no gradient", .graph = R"(graph g(%x: f64[a]) -> (%y) {
  %i = Cast(%x) {to = 7}
  %f = Cast(%i) {to = 11}
  %y = Mul(%f, %x)
})"},
    {.what = "CastLike", .graph = R"(graph g(%x: f64[a], %l: f64[1]) -> (%y) { %y = CastLike(%x, %l) })"},
    {.what = "PRelu", .graph = R"(graph g(%x: f64[a,3,b], %s: f64[3,1]) -> (%y) { %y = PRelu(%x, %s) })"},
    {.what = "Clip", .graph = R"(graph g(%x: f64[a,9]) -> (%y) {
  constant %l: f64[] = {-1}
  constant %h: f64[] = {0.5}
  %y = Clip(%x, %l, %h)
})"},
    {.what = "Clip by inputs", .graph = R"(graph g(%x: f64[a,9], %h: f64[]) -> (%y) { %y = Clip(%x, _, %h) })"},
    {.what = "Floor has no gradient", .graph = R"(graph g(%x: f64[a]) -> (%y) {
  %f = Floor(%x)
  %y = Mul(%f, %x)
})"},
    {.what = "Dropout", .graph = R"(graph g(%x: f64[a]) -> (%y) { %y = Dropout(%x) })"},
    {.what = "Dropout in training", .graph = R"(graph g(%x: f64[a,9]) -> (%y) {
  constant %ratio: f32[] = {0.25}
  %d = gart.TrainingDropout(%x, %ratio)
  %y = Mul(%d, %x)
})"},
    {.what = "a value that is read several times", .graph = R"(graph g(%x: f64[a,b]) -> (%y) {
  %s = Sigmoid(%x)
  %p = Mul(%s, %x)
  %q = Mul(%p, %s)
  %y = Add(%q, %p)
})"},
};

}  // namespace

std::vector<GradientCase> elementwise_rows() { return kRows; }

}  // namespace gcg::test
