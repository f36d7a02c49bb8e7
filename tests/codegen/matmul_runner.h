// Compiles one kernel and runs it from read-only executable memory, as the runtime does.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "artifact_schema/kernel_abi.h"
#include "codegen/cpu/cpu_backend.h"
#include "compiler/kernel/backend.h"
#include "compiler/support/error.h"
#include "tests/codegen/amx_emulator.h"

namespace gcg::test {

/// True if this machine can execute code for the target. Tiles are emulated if they are the only missing feature.
inline bool can_run(const std::string& target) {
#if defined(__x86_64__)
  if (target == "x86-64-v4-amx") return can_run("x86-64-v4-bf16") && provide_amx();
  if (target == "x86-64-v4-bf16") return can_run("x86-64-v4-vnni") && __builtin_cpu_supports("avx512bf16");
  if (target == "x86-64-v4-vnni") return can_run("x86-64-v4") && __builtin_cpu_supports("avx512vnni");
  if (target == "x86-64-v4") return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
  if (target == "x86-64-v3") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return false;
#else
  return target == "aarch64";
#endif
}

/// Whole pages that end where an inaccessible page begins: reading or writing past the end is a fault.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const auto aligned = (static_cast<size_t>(bytes) + 63) / 64 * 64;
    length_ = (aligned + page - 1) / page * page + page;
    base_ = static_cast<char*>(mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    GCG_CHECK(base_ != MAP_FAILED, "cannot map ", length_, " bytes");
    mprotect(base_ + length_ - page, page, PROT_NONE);
    data_ = base_ + length_ - page - aligned;
  }
  ~GuardedBuffer() { munmap(base_, length_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  float* floats() { return reinterpret_cast<float*>(data_); }

 private:
  char* base_ = nullptr;
  char* data_ = nullptr;  // 64-byte aligned
  size_t length_ = 0;
};

class MappedKernel {
 public:
  MappedKernel(const Kernel& kernel, const std::string& target) {
    verify_kernel(kernel);
    CompiledBlob blob = cpu::make_cpu_backend()->compile({&kernel}, *find_target(target), 1);
    GCG_CHECK(blob.imports.empty(), "kernel ", kernel.name, " calls imported functions");
    info_ = blob.kernels.front();
    length_ = blob.code.size();
    code_ = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    GCG_CHECK(code_ != MAP_FAILED, "cannot map ", length_, " bytes");
    std::memcpy(code_, blob.code.data(), length_);
    mprotect(code_, length_, PROT_READ | PROT_EXEC);
  }
  ~MappedKernel() { munmap(code_, length_); }
  MappedKernel(const MappedKernel&) = delete;
  MappedKernel& operator=(const MappedKernel&) = delete;

  const CompiledKernel& info() const { return info_; }
  int64_t tasks(const SymbolValues& symbols) const { return info_.tasks.evaluate(symbols); }
  std::vector<int64_t> params(const SymbolValues& symbols) const {
    std::vector<int64_t> values;
    for (const Dim& d : info_.params) values.push_back(d.evaluate(symbols));
    return values;
  }
  int32_t run(const std::vector<void*>& buffers, const std::vector<int64_t>& parameters, void* scratch, int64_t begin,
              int64_t end) const {
    const gart_kernel_args args{buffers.data(), parameters.data(), scratch, nullptr};
    return reinterpret_cast<gart_kernel>(static_cast<char*>(code_) + info_.offset)(&args, begin, end);
  }

 private:
  CompiledKernel info_;
  void* code_ = nullptr;
  size_t length_ = 0;
};

}  // namespace gcg::test
