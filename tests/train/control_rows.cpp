// If, Loop, and operators that are expanded into loops.
#include "tests/train/gradient_rows.h"

namespace gcg::test {

namespace {

const std::vector<GradientCase> kRows = {
    {.what = "If",
     .graph = R"(graph g(%c: bool[], %x: f64[a,3], %z: f64[3], %unread: f64[2]) -> (%y) {
  %y = If(%c | %x, %z, %unread) graph then(%x: f64[a,3], %z: f64[3], %u: f64[2]) -> (%p) {
    %q = Mul(%x, %z)
    %p = Sin(%q)
  } graph else(%x: f64[a,3], %z: f64[3], %u: f64[2]) -> (%p) {
    %q = Exp(%x)
    %p = Mul(%q, %x)
  }
})",
     .integer_limit = 2},
    {.what = "Loop with a known number of iterations", .graph = R"(graph g(%x: f64[a,3], %w: f64[3]) -> (%y, %s) {
  constant %n: i64[] = {3}
  %y, %s = Loop(%n, _, %x | %w) graph body(%i: i64[], %c: bool[], %v: f64[a,3], %w: f64[3]) -> (%c2, %v2, %row) {
    %c2 = Identity(%c)
    %m = Mul(%v, %w)
    %v2 = Sin(%m)
    %row = ReduceMean(%v2) {keepdims = 0}
  }
})"},
    {.what = "Loop whose condition ends it",
     .graph = R"(graph g(%x: f64[3], %w: f64[3], %n: i64[]) -> (%y, %s) {
  constant %one: i64[] = {1}
  constant %start: i64[] = {0}
  %most = Add(%n, %one)
  %count, %y, %s = Loop(_, _, %start, %x | %w, %most) graph body(%i: i64[], %c: bool[], %k: i64[], %v: f64[3], %w: f64[3], %most: i64[]) -> (%c2, %k2, %v2, %w2) {
    constant %one: i64[] = {1}
    %k2 = Add(%k, %one)
    %c2 = Less(%k2, %most)
    %f = Cast(%k2) {to = 11}
    %m = Mul(%v, %w)
    %v2 = Add(%m, %f)
    %w2 = Mul(%v2, %w)
  }
})",
     .low = -1,
     .high = 1,
     .integer_limit = 3},
    {.what = "Scan",
     .graph = R"(graph g(%s: f64[3], %x: f64[a,3]) -> (%y, %z) {
  %y, %z = Scan(%s, %x) {num_scan_inputs = 1} graph body(%s: f64[3], %r: f64[3]) -> (%s2, %o) {
    %p = Mul(%s, %r)
    %s2 = Add(%p, %r)
    %o = Exp(%p)
  }
})",
     .low = -1,
     .high = 1},
    {.what = "Loop that reads rows",
     .graph = R"(graph g(%x: f64[5,3], %z: f64[4,3], %v: f64[3]) -> (%y, %s) {
  constant %n: i64[] = {4}
  %y, %s = Loop(%n, _, %v | %x, %z) graph body(%i: i64[], %c: bool[], %v: f64[3], %x: f64[5,3], %z: f64[4,3]) -> (%c2, %v2, %o) {
    %c2 = Identity(%c)
    constant %back: i64[] = {-1}
    %at = Sub(%back, %i)
    constant %two: i64[] = {2}
    %same = Mod(%i, %two)
    %r = Gather(%x, %at)
    %t = Gather(%z, %same)
    %p = Mul(%v, %r)
    %v2 = Add(%p, %t)
    %o = Sin(%v2)
  }
})",
     .low = -1,
     .high = 1},
    {.what = "LSTM",
     .graph = R"(graph g(%x: f64[a,b,2], %w: f64[1,12,2], %r: f64[1,12,3], %bias: f64[1,24]) -> (%y, %h, %c) {
  %y, %h, %c = LSTM(%x, %w, %r, %bias) {hidden_size = 3}
})",
     .low = -1,
     .high = 1},
    {.what = "GRU",
     .graph = R"(graph g(%x: f64[a,b,2], %w: f64[1,9,2], %r: f64[1,9,3], %bias: f64[1,18]) -> (%y, %h) {
  %y, %h = GRU(%x, %w, %r, %bias) {hidden_size = 3, linear_before_reset = 1}
})",
     .low = -1,
     .high = 1},
};

}  // namespace

std::vector<GradientCase> control_rows() { return kRows; }

}  // namespace gcg::test
