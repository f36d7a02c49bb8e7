// A cache that keeps the last keys or values only, as com.microsoft.GroupQueryAttention lays it out.
#pragma once

#include "compiler/ops/expansion.h"

namespace gcg {

/// A cache with C rows, of which attention reads the last W <= C. After t tokens, the rows 0, 1, ... are the last
/// t - G * ceil((t - C) / G) tokens, or all tokens if t <= C, where G = C - W + 1. So G tokens at a time are evicted.
class WindowCache {
 public:
  /// `past`: the cache [B, heads, C, size], C >= W = `window`, or the run fails. `before`, `after`: the tokens before
  /// and after this run, [B]. `added`: the new rows, a scalar.
  WindowCache(Expansion& x, ValueId past, int64_t window, ValueId before, ValueId after, ValueId added);

  /// The cache's rows and the new ones, [B, heads, C + added, size].
  ValueId joined(ValueId past, ValueId rows) const { return x_.concat({past, rows}, 2); }
  /// The position of each joined row, [B, C + added]. Rows that hold no token have a position after all others.
  ValueId places() const;
  /// The next cache, which holds some of the joined rows.
  ValueId kept(ValueId joined) const;

 private:
  ValueId number(int64_t value) const { return x_.constant(Tensor::scalar_i64(value)); }
  /// The number of rows after that many tokens, [B, 1].
  ValueId resident(ValueId tokens) const;

  Expansion& x_;
  ValueId capacity_, slack_, all_;          // C, G, C + added
  ValueId before_, after_, past_resident_;  // [B, 1]
};

}  // namespace gcg
