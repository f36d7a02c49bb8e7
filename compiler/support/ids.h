// Strong integer ids: a NodeId cannot be passed where a ValueId is meant.
#pragma once

#include <cstdint>
#include <functional>

namespace gcg {

template <class Tag>
struct Id {
  int32_t index = -1;

  constexpr Id() = default;
  constexpr explicit Id(int64_t i) : index(static_cast<int32_t>(i)) {}

  /// False for the default id, which stands for "none" (an omitted optional input).
  constexpr bool valid() const { return index >= 0; }
  constexpr explicit operator bool() const { return valid(); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;
using BufferId = Id<struct BufferTag>;
using StepId = Id<struct StepTag>;
using KernelId = Id<struct KernelTag>;

}  // namespace gcg

template <class Tag>
struct std::hash<gcg::Id<Tag>> {
  size_t operator()(gcg::Id<Tag> id) const { return std::hash<int32_t>()(id.index); }
};
