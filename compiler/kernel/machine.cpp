#include "compiler/kernel/machine.h"

#include <array>

#include "compiler/kernel/cpu_levels.h"

namespace gcg {
namespace {

struct GpuRow {
  int sm;
  Machine machine;
};

Machine gpu(const char* name, int processors, double gigahertz, double scalar_rate, double half_rate,
            double bytes_per_second, int64_t shared_kilobytes, int threads) {
  Machine m{name, processors, gigahertz, scalar_rate, bytes_per_second};
  m.half_rate = half_rate;
  m.shared_bytes = shared_kilobytes << 10;
  m.shared_block_bytes = m.shared_bytes - kReservedShared;
  m.threads = threads;
  m.has_async_copies = true;
  return m;
}

Machine without_async_copies(Machine m) {
  m.has_async_copies = false;
  m.shared_block_bytes = m.shared_bytes;
  return m;
}

Machine overlapping(Machine m, double warpgroup_rate = 0) {
  m.overlaps_launches = true;
  m.warpgroup_rate = warpgroup_rate;
  return m;
}

/// Measured on an H200, driver 580.159, 2026-11-27: reads of 24 MB from the L2 cache; chains of empty kernels of 1, 132
/// and 1056 blocks and of kernels that copy 64 KB, with full and with programmatic edges; forks of 2, 4 and 8 kernels.
/// A fork costs 0.3 to 0.4 us per stream and also turns programmatic edges into full ones.
Machine as_measured(Machine m) {
  m.l2_bytes_per_clock = 32;
  m.memory_latency = 0.8;
  m.nodes = {.shortest = 1, .block_start = 0.0006, .overlapped = 0.2, .overlapping = 2, .fork = 1};
  return m;
}

Machine sharing_memory(Machine m) {
  m.shares_memory = true;
  return m;
}

// Rates follow from the vendor's peak rates; for sm_90 the rate is the part of the peak that mma.sync can reach. Sizes:
// CUDA C++ Programming Guide, "Compute Capabilities".
const std::array kGpus = {
    GpuRow{75, without_async_copies(gpu("T4", 40, 1.59, 64, 512, 320e9, 64, 1024))},
    GpuRow{80, gpu("A100", 108, 1.41, 64, 1024, 1800e9, 164, 2048)},
    GpuRow{86, gpu("RTX 3060", 28, 1.78, 128, 256, 360e9, 100, 1536)},
    GpuRow{87, sharing_memory(gpu("AGX Orin", 16, 1.3, 128, 1024, 204e9, 164, 1536))},
    GpuRow{89, gpu("RTX 4090", 128, 2.52, 128, 256, 1008e9, 100, 1536)},
    GpuRow{90, as_measured(overlapping(gpu("H200", 132, 1.83, 128, 1228, 4300e9, 228, 2048), 2048))},
    GpuRow{100, overlapping(gpu("B200", 148, 1.85, 128, 1024, 7000e9, 228, 2048))},
    GpuRow{103, overlapping(gpu("B300", 148, 1.92, 128, 1024, 8000e9, 228, 2048))},
    GpuRow{110, sharing_memory(overlapping(gpu("AGX Thor", 20, 1.57, 128, 1024, 273e9, 228, 1536)))},
    GpuRow{120, overlapping(gpu("RTX 5090", 170, 2.41, 128, 256, 1792e9, 100, 1536))},
    GpuRow{121, overlapping(gpu("GB10", 48, 2.42, 128, 256, 273e9, 100, 1536))},
};

/// PTX runs on every GPU from sm_80 on; some of them have less shared memory than sm_80.
const Machine kOfPtx = gpu("any from sm_80 on", 108, 1.41, 64, 1024, 1800e9, 100, 1536);

const Machine kTypical = gpu("a GPU", 100, 1.5625, 64, 1024, 2000e9, 100, 1024);

Machine cpu(const char* name, double scalar_rate, int vector_bytes, int vector_registers, int64_t l2_kilobytes) {
  Machine m{name, 1, 3, scalar_rate};
  m.vector_bytes = vector_bytes;
  m.vector_registers = vector_registers;
  m.l2_bytes = l2_kilobytes << 10;
  return m;
}

const Machine kAvx2 = cpu("a core with AVX2", 16, 32, 16, 256);
const Machine kAvx512 = cpu("a core with AVX-512", 32, 64, 32, 1024);
const Machine kNeon = cpu("a core with NEON", 8, 16, 32, 512);

}  // namespace

const Machine& machine_of(const Target& target) {
  if (const CpuLevel* level = find_cpu_level(target.name)) {
    const Isa isa = level->isa;
    return isa == Isa::neon ? kNeon : isa == Isa::avx2 ? kAvx2 : kAvx512;
  }
  if (target.is_ptx()) return kOfPtx;
  const GpuRow* best = &kGpus.front();
  for (const GpuRow& row : kGpus)
    if (row.sm <= target.sm) best = &row;
  return best->machine;
}

const Machine& typical_gpu() { return kTypical; }

}  // namespace gcg
