// A recorded operator, or a value that was given. Nodes hold what they read; computed ones hold their value alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gcc_graph/lazy.h"
#include "tools/lazy/intern.h"

namespace gcc_graph::lazy {

/// Elements in memory; counted in bytes_live.
struct Buffer {
  /// 64-byte aligned and not filled, for what `maker` (null: the caller's own) makes. Throws Error where there is no
  /// memory.
  static Buffer* allocate(const Type& type, const Op* maker);
  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release();

  std::atomic<int64_t> refs{1};
  const Type* type = nullptr;
  const Op* maker = nullptr;
  void* data = nullptr;
  // Of a matrix that products read, under cut_mutex():
  int64_t readings = 0;                    // runs of compiled code that read it
  Buffer* panels[2] = {nullptr, nullptr};  // packed, as it is and transposed; null: not yet
};

/// "4096 bytes of values are held, the largest: f32[32,32] of Tanh": for messages about memory that is not there.
std::string held_values();

struct Node {
  static constexpr int64_t kHandle = (int64_t{1} << 32) + 1;  // a reference of the program's, not of a node

  std::atomic<int64_t> refs{kHandle};
  const Op* op = nullptr;         // null: given, or a placeholder, which never is ready
  const Type* type = nullptr;     // null: of a node with several results, which have nodes of their own
  const Extents* ints = nullptr;  // static operands
  Buffer* value = nullptr;        // null: not computed, or in `scalar`
  union {
    Node* near[2] = {nullptr, nullptr};  // what it reads
    Node** far;                          // where those are more
  };
  uint32_t count = 0;  // of what it reads
  uint32_t position = 0;
  uint64_t walk = 0;  // the walk that gave it its position; under cut_mutex()
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
/// Of an operator; what it reads is held by it.
Node* new_node(const Op* op, const Type* type, const Extents* ints, std::span<Node* const> inputs, Source source);
/// Blank ones, one handle to each.
void new_nodes(std::span<Node*> nodes);
/// Says what a blank node is; its references to what it reads are the caller's to count.
void fill_node(Node& node, const Op* op, const Type* type, const Extents* ints, std::span<Node* const> inputs,
               Source source);
/// What this thread makes from now on has larger serial numbers than whatever is there.
void begin_serials();
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
