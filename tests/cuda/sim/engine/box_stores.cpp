// Copies of tensor boxes from shared memory (PTX ISA, cp.async.bulk.tensor with a bulk group, commit_group and
// wait_group.read). The bytes are read at the thread's wait; until then no thread may change them.
#include <cstring>

#include "tests/cuda/sim/engine/block.h"
#include "tests/cuda/sim/engine/box_lines.h"

namespace gart_sim {
namespace {
constexpr size_t kPiece = AsyncShadow::kPiece;
}

void BlockRunner::store_box(const BoxCall& call, Site site) {
  const std::string where = " at " + at(site);
  const BoxCopy store = decode(call, "a box store", site);
  if (store.map.is_im2col) fault(Finding::async_copy, 719, "a box store of images" + where);
  const size_t end = store.target + store.map.box_bytes();
  for (size_t piece = store.target / kPiece; piece < end / kPiece; ++piece) {
    const std::string byte = " byte " + std::to_string(piece * kPiece) + " of shared memory";
    if (block_->unfenced_writer[piece] != 0)
      fault(Finding::async_copy, 719,
            "a box store reads" + byte + ", which " +
                thread_name(threads_[block_->first_thread + block_->unfenced_writer[piece] - 1]) +
                " wrote with no proxy fence since" + where);
    block_->async.begin_store(piece);
  }
  touch_shared(*block_, store.target, end - store.target, Access::read, "a box store");
  touch_tensor(store, Access::write, "a box store");
  current_->stores.stores.push_back(store);
  ++current_->stores.uncommitted;
}

void BlockRunner::store_commit() {
  current_->stores.committed.push_back(current_->stores.uncommitted);
  current_->stores.uncommitted = 0;
}

void BlockRunner::finish_store(const BoxCopy& store) {
  each_line(store, [&](size_t offset, const auto& at) {
    const LinePart part = inside(store.map, at);
    auto* const target = reinterpret_cast<unsigned char*>(part.address);
    for (size_t i = part.first; i < part.first + part.bytes; ++i) {
      const size_t place = swizzled(store.target, (offset + i) / kPiece * kPiece, store.map.swizzle);
      target[i - part.first] = block_->dynamic[place + (offset + i) % kPiece];
    }
  });
  const size_t bytes = store.map.box_bytes();
  for (size_t piece = store.target / kPiece; piece < (store.target + bytes) / kPiece; ++piece)
    block_->async.end_store(piece);
  touch_shared(*block_, store.target, bytes, Access::read, "a box store");
}

void BlockRunner::store_wait(unsigned groups_left) {
  BoxStores& own = current_->stores;
  size_t stores = 0, groups = 0;
  for (; own.committed.size() - groups > groups_left; ++groups) stores += own.committed[groups];
  for (size_t i = 0; i < stores; ++i) finish_store(own.stores[i]);
  own.stores.erase(own.stores.begin(), own.stores.begin() + static_cast<std::ptrdiff_t>(stores));
  own.committed.erase(own.committed.begin(), own.committed.begin() + static_cast<std::ptrdiff_t>(groups));
}

}  // namespace gart_sim
