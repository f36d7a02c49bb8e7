#include "tools/lazy/node.h"

#include <cstdlib>
#include <mutex>
#include <vector>

#include "compiler/support/error.h"

namespace gcc_graph::lazy {

Counters& counters() {
  static Counters all;
  return all;
}

Buffer* Buffer::allocate(int64_t bytes) {
  constexpr int64_t kAlignment = 64;
  auto* buffer = new Buffer;
  buffer->bytes = bytes;
  buffer->data = std::aligned_alloc(kAlignment, static_cast<size_t>((bytes + kAlignment) / kAlignment * kAlignment));
  if (buffer->data == nullptr) {
    delete buffer;
    throw Error(gcg::concat("out of memory: a value of ", bytes, " bytes beside ", counters().bytes.load(),
                            " bytes of values that are held"));
  }
  const int64_t live = counters().bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (live > counters().peak.load(std::memory_order_relaxed)) counters().peak.store(live, std::memory_order_relaxed);
  return buffer;
}

void Buffer::release() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  counters().bytes.fetch_sub(bytes, std::memory_order_relaxed);
  std::free(data);
  delete this;
}

namespace {

/// Nodes of a thread that are free for use.
class Pool {
 public:
  ~Pool() {
    while (first_ != nullptr) delete take();
  }
  Node* take() {
    Node* node = first_;
    if (node == nullptr) return new Node;
    first_ = node->next;
    --count_;
    return node;
  }
  void give(Node* node) {
    if (count_ >= kMost) {
      delete node;
      return;
    }
    node->next = first_;
    first_ = node;
    ++count_;
  }

 private:
  static constexpr int kMost = 4096;
  Node* first_ = nullptr;
  int count_ = 0;
};

thread_local Pool pool;

}  // namespace

Node* new_node() {
  static thread_local int64_t serials = 0, last = 0;  // taken by the thousand
  if (serials == last) {
    static std::atomic<int64_t> all{1};
    serials = all.fetch_add(1024);
    last = serials + 1024;
  }
  Node* node = pool.take();
  node->refs.store(Node::kHandle, std::memory_order_relaxed);
  node->op = nullptr;
  node->type = nullptr;
  node->ints = nullptr;
  node->value = nullptr;
  node->near[0] = node->near[1] = nullptr;
  node->count = 0;
  node->walk = 0;
  node->scalar = 0;
  node->serial = serials++;
  node->source = {};
  node->ready.store(false, std::memory_order_relaxed);
  counters().live.fetch_add(1, std::memory_order_relaxed);
  return node;
}

void drop(Node* node, int64_t references) {
  if (node->refs.fetch_sub(references, std::memory_order_acq_rel) != references) return;
  Node* dead = node;
  dead->next = nullptr;
  while (dead != nullptr) {
    Node* gone = dead;
    dead = gone->next;
    for (Node* input : gone->inputs())
      if (input->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        input->next = dead;
        dead = input;
      }
    if (gone->count > 2) delete[] gone->far;
    if (gone->value != nullptr) gone->value->release();
    counters().live.fetch_sub(1, std::memory_order_relaxed);
    pool.give(gone);
  }
}

namespace {

void forget_inputs(Node* node) {
  Node* const near[2] = {node->near[0], node->near[1]};
  Node** const far = node->count > 2 ? node->far : nullptr;
  const std::span<Node* const> inputs(far != nullptr ? far : near, node->count);
  node->count = 0;
  node->op = nullptr;
  for (Node* input : inputs) drop(input, 1);
  delete[] far;
}

std::mutex tape_mutex;
std::vector<Node*> on_tape;  // computed while there was one; each holds a reference

}  // namespace

void set_value(Node* node, Buffer* value) {
  node->value = value;
  node->ready.store(true, std::memory_order_release);
  if (counters().tapes.load(std::memory_order_relaxed) > 0) {
    const std::lock_guard lock(tape_mutex);
    retain(node, 1);
    on_tape.push_back(node);
  } else {
    forget_inputs(node);
  }
}

Tape::Tape() { counters().tapes.fetch_add(1); }

Tape::~Tape() {
  std::vector<Node*> computed;
  {
    const std::lock_guard lock(tape_mutex);
    if (counters().tapes.fetch_sub(1) == 1) computed.swap(on_tape);
  }
  for (Node* node : computed) {
    forget_inputs(node);
    drop(node, 1);
  }
}

}  // namespace gcc_graph::lazy
