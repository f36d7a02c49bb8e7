// A recorded operator, or a value that was given. Nodes hold what they read; computed ones hold their value alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "gcc_graph/lazy.h"
#include "tools/lazy/intern.h"

namespace gcc_graph::lazy {

/// Elements in memory; counted in bytes_live.
struct Buffer {
  /// 64-byte aligned and not filled. Throws Error where there is no memory.
  static Buffer* allocate(int64_t bytes);
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();

  std::atomic<int64_t> refs{1};
  int64_t bytes = 0;
  void* data = nullptr;
};

struct Node {
  static constexpr int64_t kHandle = (int64_t{1} << 32) + 1;  // a reference of the program's, not of a node

  std::atomic<int64_t> refs{kHandle};
  const Op* op = nullptr;         // null: given
  const Type* type = nullptr;     // null: of a node with several results, which have nodes of their own
  const Extents* ints = nullptr;  // static operands
  Buffer* value = nullptr;        // null: not computed, or in `scalar`
  union {
    Node* near[2] = {nullptr, nullptr};  // what it reads
    Node** far;                          // where those are more
  };
  uint32_t count = 0;  // of what it reads
  uint32_t position = 0;
  uint64_t walk = 0;  // the walk that gave it its position; under the engine's lock
  union {
    uint64_t scalar = 0;  // of a given value of rank 0
    Node* next;           // of those being freed
  };
  int64_t serial = 0;
  Source source;
  std::atomic<bool> ready{false};

  std::span<Node* const> inputs() const { return {count <= 2 ? near : far, count}; }
  bool is_held() const { return refs.load(std::memory_order_relaxed) >> 32 != 0; }
  const void* data() const { return value != nullptr ? value->data : static_cast<const void*>(&scalar); }
};

Node* new_node();
/// Drops `references` (kHandle, or 1 for a node's); frees what nobody reaches then, without recursion.
void drop(Node* node, int64_t references);
inline void retain(Node* node, int64_t references) { node->refs.fetch_add(references, std::memory_order_relaxed); }

/// The value is there: what was only read for it goes, but under a tape.
void set_value(Node* node, Buffer* value);

struct Counters {
  std::atomic<int64_t> recorded{0}, live{0}, bytes{0}, peak{0}, tapes{0};
};
Counters& counters();

}  // namespace gcc_graph::lazy
