// Products of a warpgroup. Each thread's wait computes its part from the contents of shared memory at that time. PTX
// ISA, "Asynchronous warpgroup level matrix multiply-accumulate": the accumulator's fragment of m64nNk16 and similar
// shapes, the shared memory layouts and their descriptors, wgmma.fence, commit_group and wait_group. CUTLASS's GMMA
// layouts and descriptors (cute/arch/mma_sm90_desc.hpp) were compared with these rules by a program.
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "tests/cuda/sim/engine/block.h"
#include "tests/cuda/sim/engine/block_adder.h"
#include "tests/cuda/sim/engine/warp.h"

namespace gart_sim {
namespace {

constexpr uint32_t kInFlight = 0x7fa00000;  // A signalling NaN.

auto find(WideProducts& wide, const uint32_t* sums) {
  return std::find_if(wide.values.begin(), wide.values.end(), [sums](const auto& v) { return v.first == sums; });
}

}  // namespace

void BlockRunner::note_unfenced(size_t offset, size_t bytes) {
  if (launch_.module->sm != 90) return;
  for (size_t piece = offset / 16; piece <= (offset + bytes - 1) / 16; ++piece) {
    if (block_->unfenced_writer[piece] != current_->index + 1) current_->unfenced.push_back(piece);
    block_->unfenced_writer[piece] = current_->index + 1;
  }
}

void BlockRunner::proxy_fence() {
  for (const size_t piece : current_->unfenced)
    if (block_->unfenced_writer[piece] == current_->index + 1) block_->unfenced_writer[piece] = 0;
  current_->unfenced.clear();
}

void BlockRunner::wgmma(const WideProduct& product, Site site) {
  WideProducts& wide = current_->wide;
  if (current_->index / 128 * 128 + 128 > launch_.block.x)
    fault(Finding::async_product, 719, "a product of an incomplete warpgroup at " + at(site));
  if (!wide.is_fenced)
    fault(Finding::async_product, 719, "a product without a fence since the last wait at " + at(site));
  if (find(wide, product.values()) == wide.values.end()) {
    wide.values.emplace_back(product.values(),
                             std::vector<uint32_t>(product.values(), product.values() + product.columns / 2));
    std::fill_n(product.values(), product.columns / 2, kInFlight);
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
      multiply(wide.products.front(), find(wide, wide.products.front().values())->second, site);
      wide.products.erase(wide.products.begin());
    }
    wide.committed.erase(wide.committed.begin());
  }
  std::erase_if(wide.values, [&](auto& v) {
    const auto same = [&](const WideProduct& p) { return p.values() == v.first; };
    if (std::any_of(wide.products.begin(), wide.products.end(), same)) return false;
    for (size_t i = 0; i < v.second.size(); ++i)
      if (v.first[i] != kInFlight)
        fault(Finding::async_product, 719, "a sum was written while its product was under way, before " + at(site));
    std::copy(v.second.begin(), v.second.end(), v.first);
    return true;
  });
}

// `bytes` bytes of a tile, at an address that is a multiple of `bytes`. The address decides how chunks of 16 are
// swizzled. `touches`: records the access for the warp, because many of its lanes read the same bytes.
const unsigned char* BlockRunner::wide_bytes(uint64_t address, unsigned swizzle, unsigned bytes, bool touches,
                                             Site site) {
  address ^= (address >> 7 & (swizzle / 16 - 1)) << 4;
  if (address + bytes > launch_.shared_bytes)
    fault(Finding::out_of_bounds, 700, "a product reads past the shared memory at " + at(site));
  if (const unsigned writer = block_->unfenced_writer[address / 16])
    fault(Finding::async_product, 719,
          "a product reads byte " + std::to_string(address) + " of shared memory, which " +
              thread_name(threads_[block_->first_thread + writer - 1]) + " wrote with no proxy fence since, at " +
              at(site));
  if (touches) touch_shared(*block_, address, bytes, Access::read, "a product of a warpgroup");
  return block_->dynamic + address;
}

// A row of a tile over all depths of a product, 32 bytes. If not `across`, lines of 128, 64 or 32 bytes run along the
// depth; the next 8 lines follow after `stride` bytes. If `across` (only for 16-bit elements), lines have 64 rows; the
// next 64 rows follow after `leading` bytes, the next 8 depths after `stride` bytes.
WideProduct::Line BlockRunner::wide_line(uint64_t descriptor, bool across, unsigned row, bool touches, Site site) {
  const auto field = [descriptor](unsigned shift) { return static_cast<unsigned>(descriptor >> shift & 0x3fffu) << 4; };
  const unsigned begin = field(0), leading = field(16), stride = field(32),
                 layout = static_cast<unsigned>(descriptor >> 62);
  const unsigned line_bytes = layout == 1 ? 128 : layout == 2 ? 64 : layout == 3 ? 32 : 0;
  if (line_bytes == 0 || (across && line_bytes != 128))
    fault(Finding::async_product, 719, "a tile whose layout is not simulated at " + at(site));
  WideProduct::Line line;
  for (unsigned i = 0; !across && i < 32; i += 16)
    memcpy(&line[i], wide_bytes(begin + row / 8 * stride + row % 8 * line_bytes + i, line_bytes, 16, touches, site),
           16);
  for (unsigned k = 0; across && k < 16; ++k) {
    const unsigned address = begin + row / 64 * leading + k / 8 * stride + k % 8 * 128 + row % 64 * 2;
    memcpy(&line[2 * k], wide_bytes(address, line_bytes, 2, touches, site), 2);
  }
  return line;
}

// The thread's part: rows g and g + 8 of its warp's 16, columns 2t and 2t + 1 of every 8.
void BlockRunner::multiply(const WideProduct& p, std::vector<uint32_t>& sums, Site site) {
  const unsigned thread = current_->index % 128, g = thread % 32 / 4, t = thread % 4;
  const unsigned depths = 32 / element_bytes(p.kind), per_add = 16 / element_bytes(p.kind);
  float rows[2][32], factors[32];
  for (unsigned h = 0; h < 2; ++h) {
    const WideProduct::Line line =
        p.left != nullptr ? p.rows[h] : wide_line(p.a, p.a_across, thread / 32 * 16 + h * 8 + g, t == 0, site);
    load_elements(p.kind, line.data(), depths, rows[h]);
  }
  if (!p.adds) std::fill(sums.begin(), sums.end(), 0u);
  for (unsigned column = 2 * t; column < p.columns; column += column % 2 ? 7 : 1) {
    load_elements(p.kind, wide_line(p.b, p.b_across, column, g == 0, site).data(), depths, factors);
    for (unsigned h = 0; h < 2; ++h) {
      uint32_t& sum = sums[column / 8 * 4 + h * 2 + column % 2];
      if (p.kind == Mma::s8_k32) {  // exact: the products' sum stays below 2^24
        sum += static_cast<uint32_t>(static_cast<int>(std::inner_product(rows[h], rows[h] + depths, factors, 0.0f)));
      } else {
        sum = std::bit_cast<uint32_t>(add_products(std::bit_cast<float>(sum), rows[h], factors, depths, per_add));
      }
    }
  }
}

}  // namespace gart_sim
