#include "compiler/ops/window_cache.h"

#include <limits>

#include "compiler/ops/microsoft.h"

namespace gcg {

WindowCache::WindowCache(Expansion& x, ValueId past, int64_t window, ValueId before, ValueId after, ValueId added)
    : x_(x), capacity_(x.extent_of(past, 2)), before_(x.unsqueeze(before, 1)), after_(x.unsqueeze(after, 1)) {
  // C - W is read from a table 0, 1, ..., C - W, which is empty if C < W. Then the run fails.
  const ValueId room = x.subtract(capacity_, number(window)), one = number(1);
  slack_ = x.add(x.node("Gather", {positions(x, x.add(room, one)), room}), one);
  all_ = x.add(capacity_, added);
  past_resident_ = resident(before_);
}

ValueId WindowCache::resident(ValueId tokens) const {
  const ValueId over = x_.node("Max", {x_.subtract(tokens, capacity_), number(0)});
  const ValueId evictions = x_.node("Div", {x_.add(over, x_.subtract(slack_, number(1))), slack_});
  return x_.subtract(tokens, x_.multiply(evictions, slack_));
}

ValueId WindowCache::places() const {
  const ValueId row = positions(x_, all_);
  const ValueId old = x_.add(row, x_.subtract(before_, past_resident_)),
                added = x_.add(x_.subtract(row, capacity_), before_);
  const ValueId empty =
      x_.node("Where", {x_.node("Less", {row, past_resident_}), old, number(std::numeric_limits<int64_t>::max() / 2)});
  return x_.node("Where", {x_.node("Less", {row, capacity_}), empty, added});
}

ValueId WindowCache::kept(ValueId joined) const {
  // The token in each row of the next cache, and where it is among the joined rows.
  const ValueId token = x_.add(x_.subtract(after_, resident(after_)), positions(x_, capacity_));
  const ValueId old = x_.subtract(token, x_.subtract(before_, past_resident_)),
                added = x_.add(x_.subtract(token, before_), capacity_);
  const ValueId from = x_.node("Where", {x_.node("Less", {token, before_}), old, added});
  const ValueId last = x_.subtract(all_, number(1));  // rows without a token repeat the last one
  const ValueId rows =
      x_.node("GatherND", {x_.transpose(joined, {0, 2, 1, 3}), x_.unsqueeze(x_.node("Min", {from, last}), 2)},
              {{"batch_dims", int64_t{1}}});
  return x_.transpose(rows, {0, 2, 1, 3});
}

}  // namespace gcg
