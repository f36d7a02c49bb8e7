// A recorded operator, or an evaluated value. A node holds the nodes that it reads; a computed node holds only its
// value.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gcc_graph/lazy.h"
#include "tools/lazy/intern.h"

namespace gcc_graph::lazy {

/// The elements of a value in memory; counted in bytes_live.
struct Buffer {
  /// 64-byte aligned and uninitialized. `maker`: the operator that will write the elements; null: the caller writes
  /// them. Throws Error if no memory is available.
  static Buffer* allocate(const Type& type, const Op* maker);
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();

  std::atomic<int64_t> refs{1};
  const Type* type = nullptr;
  const Op* maker = nullptr;
  void* data = nullptr;
  // Used for a matrix that products read; guarded by cut_mutex():
  int64_t readings = 0;                    // number of runs of compiled code that read it
  Buffer* panels[2] = {nullptr, nullptr};  // the packed matrix, and the packed transpose; null: not packed yet
};

/// "4096 bytes of values are held, the largest: f32[32,32] of Tanh": for out-of-memory messages.
std::string held_values();

struct Node {
  // The number that a handle's reference adds to `refs`; a node's reference adds 1.
  static constexpr int64_t kHandle = (int64_t{1} << 32) + 1;

  std::atomic<int64_t> refs{kHandle};
  const Op* op = nullptr;         // null: an evaluated value, or a placeholder, which never becomes ready
  const Type* type = nullptr;     // null: a node with several results, each of which has a node of its own
  const Extents* ints = nullptr;  // static operands
  Buffer* value = nullptr;        // null: not computed, or in `scalar`
  union {
    Node* near[2] = {nullptr, nullptr};  // inputs, if there are at most two
    Node** far;                          // inputs otherwise
  };
  uint32_t count = 0;  // number of inputs
  uint32_t position = 0;
  uint64_t walk = 0;  // the walk that set `position`; guarded by cut_mutex()
  union {
    uint64_t scalar = 0;  // value of an evaluated array of rank 0
    Node* next;           // link in the list of nodes to free
  };
  int64_t serial = 0;
  Source source;
  std::atomic<bool> ready{false};

  std::span<Node* const> inputs() const { return {count <= 2 ? near : far, count}; }
  bool is_held() const { return refs.load(std::memory_order_relaxed) >> 32 != 0; }
  const void* data() const { return value != nullptr ? value->data : static_cast<const void*>(&scalar); }
};

Node* new_node();
/// A node of an operator; it holds its inputs.
Node* new_node(const Op* op, const Type* type, const Extents* ints, std::span<Node* const> inputs, Source source);
/// Makes blank nodes with one handle each.
void new_nodes(std::span<Node*> nodes);
/// Sets the contents of a blank node. The caller counts the references to its inputs.
void fill_node(Node& node, const Op* op, const Type* type, const Extents* ints, std::span<Node* const> inputs,
               Source source);
/// Makes sure that later nodes of this thread get larger serial numbers than all existing nodes.
void begin_serials();
/// Drops `references`: kHandle for a handle's reference, or 1 for a node's. Frees all nodes that become unreachable,
/// without recursion.
void drop(Node* node, int64_t references);
inline void retain(Node* node, int64_t references) { node->refs.fetch_add(references, std::memory_order_relaxed); }

/// Stores the value. Drops inputs that only this node held, unless a tape exists.
void set_value(Node* node, Buffer* value);

struct Counters {
  std::atomic<int64_t> recorded{0}, live{0}, bytes{0}, peak{0}, tapes{0};
};
Counters& counters();

}  // namespace gcc_graph::lazy
