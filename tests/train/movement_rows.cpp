// Test cases of operators that move elements.
#include "tests/train/gradient_rows.h"

namespace gcg::test {

namespace {

const std::vector<GradientCase> kRows = {
    {.what = "Reshape", .graph = R"(graph g(%x: f64[a,6]) -> (%y) {
  constant %s: i64[3] = {0, 2, -1}
  %z = Reshape(%x, %s)
  %y = Mul(%z, %z)
})"},
    {.what = "Flatten", .graph = R"(graph g(%x: f64[a,2,b]) -> (%y) {
  %z = Flatten(%x) {axis = 1}
  %y = Mul(%z, %z)
})"},
    {.what = "Squeeze and Unsqueeze", .graph = R"(graph g(%x: f64[a,1,b]) -> (%y) {
  constant %s: i64[1] = {1}
  constant %u: i64[2] = {0, 3}
  %z = Squeeze(%x, %s)
  %w = Unsqueeze(%z, %u)
  %y = Mul(%w, %w)
})"},
    {.what = "Expand", .graph = R"(graph g(%x: f64[a,1,3], %l: f64[b,1,2,1]) -> (%y) {
  %s = Shape(%l)
  %y = Expand(%x, %s)
})"},
    {.what = "Tile", .graph = R"(graph g(%x: f64[a,3]) -> (%y) {
  constant %r: i64[2] = {2, 3}
  %y = Tile(%x, %r)
})"},
    {.what = "Transpose", .graph = R"(graph g(%x: f64[a,b,3]) -> (%y) {
  %y = Transpose(%x) {perm = [2,0,1]}
})"},
    {.what = "Transpose in reverse", .graph = R"(graph g(%x: f64[a,b,3]) -> (%y) {
  %y = Transpose(%x)
})"},
    {.what = "Concat", .graph = R"(graph g(%x: f64[a,3], %z: f64[b,3], %w: f64[2,3]) -> (%y) {
  %y = Concat(%x, %z, %w) {axis = 0}
})"},
    {.what = "Split", .graph = R"(graph g(%x: f64[a,6]) -> (%p, %r) {
  constant %s: i64[3] = {1, 2, 3}
  %p, %q, %r = Split(%x, %s) {axis = 1}
})"},
    {.what = "DepthToSpace DCR", .graph = R"(graph g(%x: f64[a,8,2,b]) -> (%y) {
  %y = DepthToSpace(%x) {blocksize = 2}
})"},
    {.what = "DepthToSpace CRD", .graph = R"(graph g(%x: f64[a,8,2,b]) -> (%y) {
  %y = DepthToSpace(%x) {blocksize = 2, mode = "CRD"}
})"},
    {.what = "SpaceToDepth", .graph = R"(graph g(%x: f64[a,2,4,2]) -> (%y) {
  %y = SpaceToDepth(%x) {blocksize = 2}
})"},
    {.what = "Slice of known extents", .graph = R"(graph g(%x: f64[4,5]) -> (%y) {
  constant %s: i64[2] = {1, -3}
  constant %e: i64[2] = {3, 99}
  constant %a: i64[2] = {0, 1}
  constant %t: i64[2] = {1, 1}
  %y = Slice(%x, %s, %e, %a, %t)
})"},
    {.what = "Slice of open extents",
     .graph = R"(graph g(%x: f64[a,b]) -> (%y) {
  constant %s: i64[2] = {1, -2}
  constant %e: i64[2] = {99, -1}
  constant %a: i64[2] = {0, 1}
  constant %t: i64[2] = {1, 1}
  %y = Slice(%x, %s, %e, %a, %t)
})",
     .least = {{"a", 2}, {"b", 3}}},
    {.what = "Slice past the end", .graph = R"(graph g(%x: f64[a,5]) -> (%y) {
  constant %s: i64[2] = {0, 9}
  constant %e: i64[2] = {99, 99}
  constant %a: i64[2] = {0, 1}
  constant %t: i64[2] = {1, 1}
  %y = Slice(%x, %s, %e, %a, %t)
})"},
    {.what = "Slice with steps", .graph = R"(graph g(%x: f64[a,7]) -> (%y) {
  constant %s: i64[2] = {0, 1}
  constant %e: i64[2] = {99, 7}
  constant %a: i64[2] = {0, 1}
  constant %t: i64[2] = {2, 3}
  %y = Slice(%x, %s, %e, %a, %t)
})"},
    {.what = "Slice backward", .graph = R"(graph g(%x: f64[a,7]) -> (%y) {
  constant %s: i64[2] = {-1, 5}
  constant %e: i64[2] = {-99, 0}
  constant %a: i64[2] = {0, 1}
  constant %t: i64[2] = {-1, -2}
  %y = Slice(%x, %s, %e, %a, %t)
})"},
    {.what = "Slice at inputs",
     .graph = R"(graph g(%x: f64[7], %s: i64[1]) -> (%y) {
  constant %n: i64[1] = {3}
  %e = Add(%s, %n)
  %y = Slice(%x, %s, %e)
})",
     .integer_limit = 4},
    {.what = "Pad", .graph = R"(graph g(%x: f64[a,3]) -> (%y) {
  constant %p: i64[4] = {1, 0, 2, 3}
  %y = Pad(%x, %p)
})"},
    {.what = "Pad with a value", .graph = R"(graph g(%x: f64[a,3], %v: f64[]) -> (%y) {
  constant %p: i64[2] = {1, 2}
  constant %d: i64[1] = {1}
  %y = Pad(%x, %p, %v, %d)
})"},
    {.what = "Pad that crops", .graph = R"(graph g(%x: f64[a,5]) -> (%y) {
  constant %p: i64[4] = {1, -1, 0, -2}
  %y = Pad(%x, %p)
})"},
    {.what = "Pad reflect", .graph = R"(graph g(%x: f64[a,5]) -> (%y) {
  constant %p: i64[4] = {0, 2, 0, 3}
  %y = Pad(%x, %p) {mode = "reflect"}
})"},
    {.what = "Pad edge", .graph = R"(graph g(%x: f64[a,5]) -> (%y) {
  constant %p: i64[4] = {0, 2, 0, 3}
  %y = Pad(%x, %p) {mode = "edge"}
})"},
    {.what = "Pad wrap", .graph = R"(graph g(%x: f64[a,5]) -> (%y) {
  constant %p: i64[4] = {0, 2, 0, 3}
  %y = Pad(%x, %p) {mode = "wrap"}
})"},
    {.what = "Trilu", .graph = R"(graph g(%x: f64[a,4,4]) -> (%y) {
  constant %k: i64[] = {1}
  %y = Trilu(%x, %k) {upper = 0}
})"},
    {.what = "ReverseSequence", .graph = R"(graph g(%x: f64[4,2,3]) -> (%y) {
  constant %l: i64[2] = {3, 2}
  %y = ReverseSequence(%x, %l) {time_axis = 0, batch_axis = 1}
})"},
    {.what = "Gather of rows",
     .graph = R"(graph g(%x: f64[5,3], %i: i64[a,b]) -> (%y) {
  %y = Gather(%x, %i)
})",
     .integer_limit = 5},
    {.what = "Gather along another axis",
     .graph = R"(graph g(%x: f64[a,4,3], %i: i32[b]) -> (%y) {
  %y = Gather(%x, %i) {axis = 1}
})",
     .integer_limit = 4},
    {.what = "Gather of one element", .graph = R"(graph g(%x: f64[a,4,3]) -> (%y) {
  constant %i: i64[] = {-1}
  %y = Gather(%x, %i) {axis = 1}
})"},
    {.what = "Gather of one row", .graph = R"(graph g(%x: f64[a,4,b]) -> (%y) {
  constant %i: i64[1] = {2}
  %y = Gather(%x, %i) {axis = 1}
})"},
    {.what = "Gather of the last of open extents", .graph = R"(graph g(%x: f64[a,b]) -> (%y) {
  constant %i: i64[] = {-1}
  %y = Gather(%x, %i) {axis = 1}
})"},
    {.what = "GatherElements",
     .graph = R"(graph g(%x: f64[a,4], %i: i64[a,6]) -> (%y) {
  %y = GatherElements(%x, %i) {axis = 1}
})",
     .integer_limit = 4},
    {.what = "GatherND",
     .graph = R"(graph g(%x: f64[3,4,b], %i: i64[a,2]) -> (%y) {
  %y = GatherND(%x, %i)
})",
     .integer_limit = 3},
    {.what = "GatherND with batch dimensions",
     .graph = R"(graph g(%x: f64[a,4,b], %i: i64[a,1]) -> (%y) {
  %y = GatherND(%x, %i) {batch_dims = 1}
})",
     .integer_limit = 4},
    {.what = "ScatterElements that adds",
     .graph = R"(graph g(%x: f64[a,4], %i: i64[a,6], %u: f64[a,6]) -> (%y) {
  %y = ScatterElements(%x, %i, %u) {axis = 1, reduction = "add"}
})",
     .integer_limit = 4},
    {.what = "ScatterElements that replaces", .graph = R"(graph g(%x: f64[a,4], %u: f64[a,2]) -> (%y) {
  constant %z: i64[1,2] = {3, 1}
  %s = Shape(%u)
  %i = Expand(%z, %s)
  %y = ScatterElements(%x, %i, %u) {axis = 1}
})"},
    {.what = "TensorScatter", .graph = R"(graph g(%x: f64[2,6,3], %u: f64[2,a,3]) -> (%y) {
  constant %i: i64[2] = {1, 4}
  %s = TensorScatter(%x, %u, %i)
  %y = Mul(%s, %s)
})"},
    {.what = "TensorScatter that wraps", .graph = R"(graph g(%x: f64[2,3,6], %u: f64[2,3,a]) -> (%y) {
  constant %i: i64[2] = {1, 4}
  %s = TensorScatter(%x, %u, %i) {axis = 2, mode = "circular"}
  %y = Mul(%s, %s)
})"},
    {.what = "TensorScatter at the front", .graph = R"(graph g(%x: f64[2,6,3], %u: f64[2,a,3]) -> (%y) {
  %s = TensorScatter(%x, %u)
  %y = Mul(%s, %s)
})"},
    {.what = "ScatterND that adds",
     .graph = R"(graph g(%x: f64[4,b], %i: i64[a,1], %u: f64[a,b]) -> (%y) {
  %y = ScatterND(%x, %i, %u) {reduction = "add"}
})",
     .integer_limit = 4},
    {.what = "ScatterND that replaces", .graph = R"(graph g(%x: f64[4,b], %u: f64[2,b]) -> (%y) {
  constant %i: i64[2,1] = {3, 1}
  %y = ScatterND(%x, %i, %u)
})"},
    {.what = "Compress", .graph = R"(graph g(%x: f64[a,4]) -> (%y) {
  constant %c: bool[4] = {1, 0, 1, 1}
  %y = Compress(%x, %c) {axis = 1}
})"},
    {.what = "TopK",
     .graph = R"(graph g(%x: f64[a,5]) -> (%y) {
  constant %k: i64[1] = {3}
  %y, %i = TopK(%x, %k)
})",
     .distinct = true},
};

}  // namespace

std::vector<GradientCase> movement_rows() { return kRows; }

}  // namespace gcg::test
