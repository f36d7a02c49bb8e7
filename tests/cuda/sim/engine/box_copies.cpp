// Boxes of tensors on their way to shared memory, the barriers that they signal, and the registers that warpgroups give
// each other: sm_90's copies by TMA, mbarrier, setmaxnreg. The rules are those of the PTX ISA: "Swizzling modes" and
// "Tensor copies" (cp.async.bulk.tensor), "mbarrier" (phases, pending arrivals and bytes, expect_tx), "Async proxy"
// (fence.proxy.async before a barrier or a tile is used).
#include <algorithm>
#include <cstring>

#include "tests/cuda/sim/engine/block.h"

namespace gart_sim {
namespace {

constexpr unsigned char kPoison = 0xff;
constexpr size_t kPiece = 16;
constexpr unsigned kWarpgroup = 128;

// Where byte `offset` of a box lies whose first one is at `target`: 16-byte chunks change places by the address.
size_t swizzled(size_t target, size_t offset, unsigned swizzle) {
  const size_t address = target + offset, chunks = swizzle ? swizzle / kPiece - 1 : 0;
  return address ^ ((address >> 7 & chunks) << 4);
}

// Calls line(offset in the box, coordinates of its first element) for every line of the box.
template <class Line>
void each_line(const BoxCopy& copy, const Line& line) {
  const TensorMap& map = copy.map;
  const size_t line_bytes = size_t{map.box[0]} * map.element_bytes, lines = map.box_bytes() / line_bytes;
  for (size_t i = 0; i < lines; ++i) {
    auto at = copy.at;
    size_t rest = i;
    for (unsigned d = 1; d < map.rank; ++d) {
      at[d] += static_cast<int64_t>(rest % map.box[d]);
      rest /= map.box[d];
    }
    line(i * line_bytes, at);
  }
}

struct Part {
  uint64_t address = 0;
  size_t first = 0, bytes = 0;  // Of the line; the rest is outside of the tensor.
};
Part inside(const TensorMap& map, const std::array<int64_t, TensorMap::kMostDimensions>& at) {
  Part part;
  int64_t offset = static_cast<int64_t>(map.address);
  for (unsigned d = 1; d < map.rank; ++d) {
    if (at[d] < 0 || at[d] >= static_cast<int64_t>(map.extents[d])) return part;
    offset += at[d] * static_cast<int64_t>(map.strides[d]);
  }
  const int64_t begin = std::max<int64_t>(at[0], 0);
  const int64_t end = std::min<int64_t>(at[0] + map.box[0], static_cast<int64_t>(map.extents[0]));
  if (begin >= end) return part;
  part.first = static_cast<size_t>(begin - at[0]) * map.element_bytes;
  part.bytes = static_cast<size_t>(end - begin) * map.element_bytes;
  part.address = static_cast<uint64_t>(offset + begin * map.element_bytes);
  return part;
}

}  // namespace

void BlockRunner::phase_init(void* barrier, unsigned arrivals, Site site) {
  const auto address = reinterpret_cast<uint64_t>(barrier);
  const uint64_t offset = address - reinterpret_cast<uint64_t>(dynamic_);
  if (address % 8) fault(Finding::misaligned, 716, "a barrier that is not 8-aligned at " + at(site));
  if (offset + 8 > launch_.shared_bytes)
    fault(Finding::out_of_bounds, 700, "a barrier outside of dynamic shared memory at " + at(site));
  if (arrivals < 1 || arrivals >= 1u << 20)
    fault(Finding::async_copy, 719, "a barrier of " + std::to_string(arrivals) + " arrivals at " + at(site));
  touch(address, 8, Access::write, "a barrier's making");
  async_.activate(launch_.shared_bytes);
  PhaseBarrier& made = phase_barriers_[offset] = {};
  made.arrivals = made.pending = arrivals;
  made.maker = current_->index / 32;
  async_.release(made.maker, made.made);
}

PhaseBarrier& BlockRunner::phase_barrier(void* barrier, Site site) {
  const size_t offset = static_cast<size_t>(static_cast<unsigned char*>(barrier) - dynamic_);
  const auto found = phase_barriers_.find(offset);
  if (found == phase_barriers_.end()) fault(Finding::async_copy, 719, "a barrier that nobody has made, at " + at(site));
  const PhaseBarrier& made = found->second;
  const unsigned warp = current_->index / 32;
  if (warp != made.maker && async_.clocks(warp)[made.maker] < made.made[made.maker])
    fault(Finding::shared_race, 719,
          "a barrier that another warp makes, with no barrier of the block since, at " + at(site));
  return found->second;
}

void BlockRunner::phase_arrive(void* address, unsigned bytes, Site site) {
  PhaseBarrier& barrier = phase_barrier(address, site);
  if (barrier.pending == 0)
    fault(Finding::async_copy, 719, "one arrival more than the phase of its barrier has, at " + at(site));
  async_.release(current_->index / 32, barrier.arrived);
  --barrier.pending;
  barrier.announced += bytes;
  end_phase_if_complete(barrier);
}

void BlockRunner::phase_wait(void* address, unsigned parity, Site site) {
  PhaseBarrier& barrier = phase_barrier(address, site);
  Thread& self = *current_;
  if (parity > 1) fault(Finding::async_copy, 719, "a phase of parity " + std::to_string(parity) + " at " + at(site));
  if (barrier.phase % 2 == parity) {
    self.awaited = &barrier;
    self.awaited_parity = parity;
    self.site = site;
    wait(Thread::State::in_phase);
  }
  if (barrier.phase > 0) async_.acquire(self.index / 32, barrier.over);
}

// What its copies bring is there, and who waits goes on.
void BlockRunner::end_phase_if_complete(PhaseBarrier& barrier) {
  if (barrier.pending > 0 || barrier.announced != barrier.copied) return;
  for (const BoxCopy& copy : barrier.copies) land(copy);
  async_.release_copies(barrier.arrived);
  barrier.copies.clear();
  barrier.over = barrier.arrived;
  barrier.arrived = {};
  barrier.pending = barrier.arrivals;
  barrier.announced = barrier.copied = 0;
  ++barrier.phase;
  const size_t first = ready_.size();
  for (const unsigned index : order_) {
    Thread& thread = threads_[index];
    if (thread.state != Thread::State::in_phase || thread.awaited != &barrier) continue;
    thread.state = Thread::State::ready;
    ready_.push_back(index);
  }
  if (launch_.seed > 1) std::shuffle(ready_.begin() + static_cast<std::ptrdiff_t>(first), ready_.end(), random_);
}

void BlockRunner::check_box(const TensorMap& map, size_t target, const PhaseBarrier& barrier, Site site) {
  const std::string where = " at " + at(site);
  const unsigned bytes = map.box_bytes(), alignment = map.swizzle ? 8 * map.swizzle : 128;
  if (target > launch_.shared_bytes || bytes > launch_.shared_bytes - target)
    fault(Finding::out_of_bounds, 700, "the target of a box copy is not shared memory" + where);
  if (target % alignment)
    fault(Finding::misaligned, 716,
          "the target of a box copy is byte " + std::to_string(target) + ", not a multiple of " +
              std::to_string(alignment) + where);
  if (barrier.copied + bytes > barrier.announced) {
    fault(Finding::async_copy, 719,
          "a box copy of " + std::to_string(bytes) + " bytes whose barrier expects " +
              std::to_string(barrier.announced - barrier.copied) + " more" + where);
  }
  const unsigned warp = current_->index / 32;
  for (size_t piece = target / kPiece; piece < (target + bytes) / kPiece; ++piece) {
    const std::string byte = " byte " + std::to_string(piece * kPiece) + " of shared memory";
    if (async_.is_in_flight(piece)) fault(Finding::async_copy, 719, "two box copies to" + byte + " at a time" + where);
    if (const int other = async_.unordered(warp, piece); other >= 0) {
      fault(Finding::shared_race, 719,
            "a box copy overwrites" + byte + ", which " +
                (other < static_cast<int>(AsyncShadow::kWarps) ? "warp " + std::to_string(other)
                                                               : std::string("another one")) +
                " may still be at" + where);
    }
    if (unfenced_writer_[piece] != 0) {
      fault(Finding::async_copy, 719,
            "a box copy overwrites" + byte + ", which " + thread_name(unfenced_writer_[piece] - 1) +
                " wrote with no proxy fence since" + where);
    }
  }
}

void BlockRunner::copy_box(void* shared, const void* map_bytes, const int* coordinates, unsigned rank, void* address,
                           Site site) {
  BoxCopy copy;
  if (reinterpret_cast<uint64_t>(map_bytes) % 64)
    fault(Finding::misaligned, 716, "a tensor map that is not 64-aligned at " + at(site));
  if (!copy.map.decode(map_bytes))
    fault(Finding::async_copy, 719, "a box copy by what is no tensor map at " + at(site));
  if (copy.map.rank != rank) {
    fault(Finding::async_copy, 719,
          std::to_string(rank) + " coordinates for a map of " + std::to_string(copy.map.rank) + " dimensions at " +
              at(site));
  }
  PhaseBarrier& barrier = phase_barrier(address, site);
  const size_t place = static_cast<size_t>(static_cast<unsigned char*>(address) - dynamic_);
  if (unfenced_writer_[place / kPiece] != 0)
    fault(Finding::async_copy, 719, "a box copy to a barrier that was made with no proxy fence since, at " + at(site));
  copy.target = static_cast<size_t>(static_cast<unsigned char*>(shared) - dynamic_);
  copy.at = {};
  std::copy(coordinates, coordinates + rank, copy.at.begin());
  check_box(copy.map, copy.target, barrier, site);
  touch_source(copy);
  const unsigned bytes = copy.map.box_bytes();
  memset(dynamic_ + copy.target, kPoison, bytes);
  for (size_t piece = copy.target / kPiece; piece < (copy.target + bytes) / kPiece; ++piece) async_.begin_copy(piece);
  barrier.copied += bytes;
  barrier.copies.push_back(copy);
  end_phase_if_complete(barrier);
}

void BlockRunner::touch_source(const BoxCopy& copy) {
  each_line(copy, [&](size_t, const auto& at) {
    if (const Part part = inside(copy.map, at); part.bytes > 0)
      touch(part.address, part.bytes, Access::read, "a box copy");
  });
}

void BlockRunner::land(const BoxCopy& copy) {
  const unsigned line_bytes = copy.map.box[0] * copy.map.element_bytes;
  std::vector<unsigned char> line(line_bytes);
  each_line(copy, [&](size_t offset, const auto& at) {
    const Part part = inside(copy.map, at);
    std::fill(line.begin(), line.end(), static_cast<unsigned char>(0));
    if (part.bytes > 0) memcpy(line.data() + part.first, reinterpret_cast<const void*>(part.address), part.bytes);
    for (size_t i = 0; i < line_bytes; i += kPiece)
      memcpy(dynamic_ + swizzled(copy.target, offset + i, copy.map.swizzle), line.data() + i, kPiece);
  });
  for (size_t piece = copy.target / kPiece; piece < (copy.target + copy.map.box_bytes()) / kPiece; ++piece)
    async_.end_copy(piece);
}

void BlockRunner::touch_pieces(size_t offset, size_t bytes, const char* doing) {
  for (size_t piece = offset / kPiece; piece <= (offset + bytes - 1) / kPiece; ++piece) {
    const AsyncShadow::State state = async_.touch(current_->index / 32, piece);
    if (state == AsyncShadow::State::fine) continue;
    fault(Finding::async_copy, 719,
          std::string(*doing ? doing : "an access") + " to byte " + std::to_string(piece * kPiece) +
              " of shared memory, which a box copy " +
              (state == AsyncShadow::State::in_flight ? "is writing" : "has written to, with no wait for its phase"));
  }
}

// PTX ISA, setmaxnreg: counts are multiples of 8 from 24 to 256; .dec releases registers and .inc asks for more,
// relative to what the warp has; all warps of a warpgroup run the same one. CUTLASS has the same limits in
// arch/reg_reconfig.h.
void BlockRunner::set_registers(unsigned count, bool more, Site site) {
  Thread& self = *current_;
  if (count % 8 || count < 24 || count > 256)
    fault(Finding::registers, 719,
          std::to_string(count) + " registers at " + at(site) + ", not a multiple of 8 from 24 to 256");
  if (self.registers && (more ? count < self.registers : count > self.registers))
    fault(Finding::registers, 719, "registers are given back by taking them, or taken by giving, at " + at(site));
  self.registers = count;
}

// PTX ISA, setmaxnreg: registers come from and go to a pool of the block, and .inc waits until that has enough: taking
// more than the block began with would wait for ever. That it begins with a multiprocessor's 65536 registers (CUDA C++
// Programming Guide, "Compute capabilities"), shared by as many blocks as the launch bounds promise, in eights, is what
// ptxas assigns where there are launch bounds; of the real ptxas the assembler asks (codegen/cuda/assembler).
void BlockRunner::check_registers() {
  constexpr unsigned kAll = 65536;
  const Kernel& kernel = *launch_.kernel;
  const unsigned warps = (kernel.max_threads + 31) / 32;
  const unsigned at_start = std::min(256u, kAll / (32 * warps * std::max(kernel.min_blocks, 1u)) / 8 * 8);
  if (std::all_of(threads_.begin(), threads_.end(), [](const Thread& t) { return t.registers == 0; })) return;
  unsigned now = 0, before = 0;
  std::string trouble;
  for (size_t first = 0; first < threads_.size(); first += kWarpgroup) {
    const unsigned own = threads_[first].registers;
    for (size_t i = first; i < first + kWarpgroup; ++i) {
      if (i >= threads_.size() || threads_[i].registers != own) trouble = "the threads of a warpgroup do not agree";
    }
    now += own ? own : at_start;
    before += at_start;
  }
  if (now > before)
    trouble = std::to_string(now) + " registers per four warps are taken, there are " + std::to_string(before);
  if (trouble.empty()) return;
  report(Finding::registers, std::string(kernel.name) + ": " + trouble);
  result_.error = 719;
  is_stopped_ = true;
}

}  // namespace gart_sim
