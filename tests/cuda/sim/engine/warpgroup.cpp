// Products of a warpgroup: computed by each thread's wait, from what shared memory then holds. PTX ISA, "Asynchronous
// warpgroup level matrix multiply-accumulate": the accumulator's fragment of m64nNk16 and its like, the shared memory
// layouts and their descriptors, wgmma.fence, commit_group and wait_group. CUTLASS's GMMA layouts and descriptors
// (cute/arch/mma_sm90_desc.hpp) were compared with these by program.
#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/cuda/sim/engine/block.h"
#include "tests/cuda/sim/engine/block_adder.h"
#include "tests/cuda/sim/engine/warp.h"

namespace gart_sim {
namespace {

constexpr uint32_t kInFlight = 0x7fa00000;  // A signalling NaN.

auto find(WideProducts& wide, const float* sums) {
  return std::find_if(wide.values.begin(), wide.values.end(), [sums](const auto& v) { return v.first == sums; });
}

}  // namespace

void BlockRunner::note_unfenced(size_t offset, size_t bytes) {
  if (launch_.module->sm != 90) return;
  for (size_t piece = offset / 16; piece <= (offset + bytes - 1) / 16; ++piece) {
    if (unfenced_writer_[piece] != current_->index + 1) current_->unfenced.push_back(piece);
    unfenced_writer_[piece] = current_->index + 1;
  }
}

void BlockRunner::proxy_fence() {
  for (const size_t piece : current_->unfenced)
    if (unfenced_writer_[piece] == current_->index + 1) unfenced_writer_[piece] = 0;
  current_->unfenced.clear();
}

void BlockRunner::wgmma(const WideProduct& product, Site site) {
  WideProducts& wide = current_->wide;
  if (current_->index / 128 * 128 + 128 > launch_.block.x)
    fault(Finding::async_product, 719, "a product of an incomplete warpgroup at " + at(site));
  if (!wide.is_fenced)
    fault(Finding::async_product, 719, "a product without a fence since the last wait at " + at(site));
  if (product.a >> 62 != 1 || product.b >> 62 != 1)
    fault(Finding::async_product, 719, "a tile that is not swizzled by 128 bytes at " + at(site));
  if (find(wide, product.sums) == wide.values.end()) {
    wide.values.emplace_back(product.sums, std::vector<float>(product.sums, product.sums + product.columns / 2));
    std::fill_n(product.sums, product.columns / 2, std::bit_cast<float>(kInFlight));
  }
  wide.products.push_back(product);
  ++wide.uncommitted;
}

void BlockRunner::wgmma_commit() {
  WideProducts& wide = current_->wide;
  wide.committed.push_back(wide.uncommitted);
  wide.uncommitted = 0;
}

void BlockRunner::wgmma_wait(unsigned groups_left, Site site) {
  WideProducts& wide = current_->wide;
  wide.is_fenced = false;
  while (wide.committed.size() > groups_left) {
    for (size_t i = 0; i < wide.committed.front(); ++i) {
      multiply(wide.products.front(), find(wide, wide.products.front().sums)->second, site);
      wide.products.erase(wide.products.begin());
    }
    wide.committed.erase(wide.committed.begin());
  }
  std::erase_if(wide.values, [&](auto& v) {
    const auto same = [&](const WideProduct& p) { return p.sums == v.first; };
    if (std::any_of(wide.products.begin(), wide.products.end(), same)) return false;
    for (size_t i = 0; i < v.second.size(); ++i)
      if (std::bit_cast<uint32_t>(v.first[i]) != kInFlight)
        fault(Finding::async_product, 719, "a sum was written while its product was under way, before " + at(site));
    std::copy(v.second.begin(), v.second.end(), v.first);
    return true;
  });
}

// Element (row, depth) of a tile. Along the depth: lines of 64 depths, 8 of them every `stride` bytes. Across: lines of
// 64 rows, every `leading` bytes the next 64 rows, every `stride` bytes the next 8 depths. Chunks are swizzled by
// address.
float BlockRunner::wide_element(uint64_t descriptor, bool across, unsigned row, unsigned depth, bool is_bf16,
                                Site site) {
  const auto field = [descriptor](unsigned shift) { return static_cast<unsigned>(descriptor >> shift & 0x3fffu) << 4; };
  const unsigned begin = field(0), leading = field(16), stride = field(32);
  unsigned address = across ? begin + row / 64 * leading + depth / 8 * stride + depth % 8 * 128 + row % 64 * 2
                            : begin + row / 8 * stride + row % 8 * 128 + depth * 2;
  address ^= (address >> 7 & 7u) << 4;
  if (address + 2 > launch_.shared_bytes)
    fault(Finding::out_of_bounds, 700, "a product reads past the shared memory at " + at(site));
  if (unfenced_writer_[address / 16] != 0)
    fault(Finding::async_product, 719,
          "a product reads byte " + std::to_string(address) + " of shared memory, which " +
              thread_name(unfenced_writer_[address / 16] - 1) + " wrote with no proxy fence since, at " + at(site));
  if (address % 16 == 0) touch_shared(address, 16, Access::read, "a product of a warpgroup");
  uint16_t bits;
  memcpy(&bits, dynamic_ + address, 2);
  return is_bf16 ? std::bit_cast<float>(uint32_t{bits} << 16) : f16_to_f32(bits);
}

// The thread's part: rows g and g + 8 of its warp's 16, columns 2t and 2t + 1 of every 8.
void BlockRunner::multiply(const WideProduct& p, std::vector<float>& sums, Site site) {
  constexpr unsigned kDepths = 16;
  const unsigned thread = current_->index % 128, g = thread % 32 / 4, t = thread % 4;
  float rows[2][kDepths];
  for (unsigned h = 0; h < 2; ++h)
    for (unsigned k = 0; k < kDepths; ++k)
      rows[h][k] = wide_element(p.a, p.a_across, thread / 32 * 16 + h * 8 + g, k, p.is_bf16, site);
  for (unsigned column = 2 * t; column < p.columns; column += column % 2 ? 7 : 1) {
    float factors[kDepths];
    for (unsigned k = 0; k < kDepths; ++k) factors[k] = wide_element(p.b, p.b_across, column, k, p.is_bf16, site);
    for (unsigned h = 0; h < 2; ++h) {
      float& sum = sums[column / 8 * 4 + h * 2 + column % 2];
      sum = add_products(sum, rows[h], factors, kDepths, 8);
    }
  }
}

}  // namespace gart_sim
