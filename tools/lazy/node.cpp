#include "tools/lazy/node.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <vector>

#include "compiler/support/error.h"
#include "tools/lazy/block_pool.h"

namespace gcc_graph::lazy {

Counters& counters() {
  static Counters all;
  return all;
}

namespace {

/// The buffers that are large enough to be named in messages.
struct LargeBuffers {
  static constexpr int64_t kLeast = int64_t{1} << 20;
  std::mutex mutex;
  std::set<const Buffer*> all;
};

LargeBuffers& large_buffers() {
  static auto* buffers = new LargeBuffers;
  return *buffers;
}

}  // namespace

std::string held_values() {
  constexpr size_t kMost = 4;
  std::string text = gcg::concat(counters().bytes.load(), " bytes of values are held");
  LargeBuffers& large = large_buffers();
  const std::lock_guard lock(large.mutex);
  std::vector<const Buffer*> largest(large.all.begin(), large.all.end());
  std::sort(largest.begin(), largest.end(),
            [](const Buffer* a, const Buffer* b) { return a->type->bytes > b->type->bytes; });
  if (largest.size() > kMost) largest.resize(kMost);
  for (const Buffer* buffer : largest) {
    text += buffer == largest.front() ? ", the largest: " : ", ";
    text += gcg::concat(text_of(*buffer->type), buffer->maker != nullptr ? " of " + buffer->maker->name : " given");
  }
  return text;
}

Buffer* Buffer::allocate(const Type& type, const Op* maker) {
  auto* buffer = new Buffer;
  buffer->type = &type;
  buffer->maker = maker;
  const int64_t bytes = type.bytes;
  buffer->data = take_block(bytes);
  if (buffer->data == nullptr) {
    delete buffer;
    throw Error(gcg::concat("out of memory: ", bytes, " bytes for ", text_of(type),
                            maker != nullptr ? " of " + maker->name : "", " cannot be allocated; ", held_values()));
  }
  const int64_t live = counters().bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (live > counters().peak.load(std::memory_order_relaxed)) counters().peak.store(live, std::memory_order_relaxed);
  if (bytes >= LargeBuffers::kLeast) {
    const std::lock_guard lock(large_buffers().mutex);
    large_buffers().all.insert(buffer);
  }
  return buffer;
}

void Buffer::release() {
  if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (type->bytes >= LargeBuffers::kLeast) {
    const std::lock_guard lock(large_buffers().mutex);
    large_buffers().all.erase(this);
  }
  counters().bytes.fetch_sub(type->bytes, std::memory_order_relaxed);
  for (Buffer* packed : panels)
    if (packed != nullptr) packed->release();
  give_block(data, type->bytes);
  delete this;
}

namespace {

/// A thread's free nodes.
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
thread_local int64_t next_serial = 0, last_serial = 0;

}  // namespace

void begin_serials() {
  constexpr int64_t kAtATime = 1024;
  static std::atomic<int64_t> all{1};
  next_serial = all.fetch_add(kAtATime);
  last_serial = next_serial + kAtATime;
}

namespace {

/// Makes a blank node, which does not count as live yet.
Node* blank_node() {
  if (next_serial == last_serial) begin_serials();
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
  node->serial = next_serial++;
  node->source = {};
  node->ready.store(false, std::memory_order_relaxed);
  return node;
}

/// Drops a reference. Returns true for the last one, after which no other owner can see the node.
bool drop_last(Node* node, int64_t references) {
  return node->refs.load(std::memory_order_acquire) == references ||
         node->refs.fetch_sub(references, std::memory_order_acq_rel) == references;
}

}  // namespace

Node* new_node() {
  counters().live.fetch_add(1, std::memory_order_relaxed);
  return blank_node();
}

Node* new_node(const Op* op, const Type* type, const Extents* ints, std::span<Node* const> inputs, Source source) {
  Node* node = new_node();
  for (Node* input : inputs) retain(input, 1);
  fill_node(*node, op, type, ints, inputs, source);
  return node;
}

void new_nodes(std::span<Node*> nodes) {
  for (Node*& node : nodes) node = blank_node();
  counters().live.fetch_add(static_cast<int64_t>(nodes.size()), std::memory_order_relaxed);
}

void fill_node(Node& node, const Op* op, const Type* type, const Extents* ints, std::span<Node* const> inputs,
               Source source) {
  node.op = op;
  node.type = type;
  node.ints = ints;
  node.source = source;
  node.count = static_cast<uint32_t>(inputs.size());
  std::copy(inputs.begin(), inputs.end(), inputs.size() <= 2 ? node.near : node.far = new Node*[inputs.size()]);
}

void drop(Node* node, int64_t references) {
  if (!drop_last(node, references)) return;
  int64_t freed = 0;
  Node* dead = node;
  dead->next = nullptr;
  while (dead != nullptr) {
    Node* gone = dead;
    dead = gone->next;
    for (Node* input : gone->inputs())
      if (drop_last(input, 1)) {
        input->next = dead;
        dead = input;
      }
    if (gone->count > 2) delete[] gone->far;
    if (gone->value != nullptr) gone->value->release();
    pool.give(gone);
    ++freed;
  }
  counters().live.fetch_sub(freed, std::memory_order_relaxed);
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
std::vector<Node*> on_tape;  // values computed under a tape; each holds a reference

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
