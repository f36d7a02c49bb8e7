#include "tests/codegen/loop_harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <map>

#include "artifact_schema/imports.h"
#include "artifact_schema/kernel_abi.h"
#include "codegen/cpu/cpu_backend.h"
#include "compiler/support/error.h"

namespace gcg::test {
namespace {

/// The address of an import, by name.
const void* import_address(const std::string& name) {
  static const std::map<std::string, const void*> table = [] {
    std::map<std::string, const void*> t;
#define ADD_1(name)                                                                \
  t[#name] = reinterpret_cast<const void*>(static_cast<double (*)(double)>(name)); \
  t[#name "f"] = reinterpret_cast<const void*>(static_cast<float (*)(float)>(name##f));
#define ADD_2(name)                                                                        \
  t[#name] = reinterpret_cast<const void*>(static_cast<double (*)(double, double)>(name)); \
  t[#name "f"] = reinterpret_cast<const void*>(static_cast<float (*)(float, float)>(name##f));
    GART_IMPORTS_1(ADD_1)
    GART_IMPORTS_2(ADD_2)
#undef ADD_1
#undef ADD_2
    return t;
  }();
  auto it = table.find(name);
  GCG_CHECK(it != table.end(), "import ", name, " is not on the list");
  return it->second;
}

size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/// 64-byte aligned bytes; after them (rounded up to 64) lies a page that may not be touched.
class FencedBytes {
 public:
  explicit FencedBytes(size_t bytes) : bytes_(bytes), room_(round_up(std::max<size_t>(bytes, 1), 64)) {
    mapped_ = round_up(room_, page()) + page();
    map_ = static_cast<uint8_t*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    GCG_CHECK(map_ != MAP_FAILED, "mmap of ", mapped_, " bytes");
    GCG_CHECK(mprotect(map_ + mapped_ - page(), page(), PROT_NONE) == 0, "mprotect");
    mark();
  }
  ~FencedBytes() { munmap(map_, mapped_); }
  FencedBytes(const FencedBytes&) = delete;
  FencedBytes& operator=(const FencedBytes&) = delete;

  uint8_t* data() { return map_ + mapped_ - page() - room_; }
  size_t bytes() const { return bytes_; }
  void mark() { std::memset(data(), kMark, room_); }
  void check_padding() {
    for (size_t i = bytes_; i < room_; ++i) GCG_CHECK(data()[i] == kMark, "byte ", i, " after an operand was written");
  }

 private:
  static constexpr uint8_t kMark = 0xA5;
  size_t bytes_, room_, mapped_ = 0;
  uint8_t* map_ = nullptr;
};

}  // namespace

bool runs_here(const std::string& target) {
#if defined(__x86_64__)
  if (target == "x86-64-v3") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (target == "x86-64-v4") return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
  return false;
}

std::vector<std::string> runnable_targets() {
  std::vector<std::string> targets;
  for (const char* name : {"x86-64-v3", "x86-64-v4"})
    if (runs_here(name)) targets.push_back(name);
  return targets;
}

struct RunnableKernel::Code {
  void* memory = nullptr;
  std::vector<const void*> imports;
  std::unique_ptr<FencedBytes> scratch;  // of the last call; mapping it takes longer than a small kernel
};

RunnableKernel::RunnableKernel(const Kernel& kernel, const std::string& target)
    : kernel_(&kernel), code_(std::make_unique<Code>()) {
  verify_kernel(kernel);
  blob_ = cpu::make_cpu_backend()->compile({&kernel}, *find_target(target), 1);
  code_->memory = mmap(nullptr, blob_.code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GCG_CHECK(code_->memory != MAP_FAILED, "mmap of ", blob_.code.size(), " bytes of code");
  std::memcpy(code_->memory, blob_.code.data(), blob_.code.size());
  GCG_CHECK(mprotect(code_->memory, blob_.code.size(), PROT_READ | PROT_EXEC) == 0, "mprotect");
  for (const std::string& name : blob_.imports) code_->imports.push_back(import_address(name));
}

RunnableKernel::~RunnableKernel() { munmap(code_->memory, blob_.code.size()); }

int32_t RunnableKernel::call(const std::vector<void*>& buffers, const SymbolValues& symbols, int64_t begin,
                             int64_t end) const {
  std::vector<int64_t> params;
  for (const Dim& d : info().params) params.push_back(d.evaluate(symbols));
  const auto scratch_bytes = static_cast<size_t>(info().scratch_bytes.evaluate(symbols));
  std::unique_ptr<FencedBytes>& scratch = code_->scratch;
  if (!scratch || scratch->bytes() != scratch_bytes) scratch.reset();
  if (scratch) scratch->mark();
  if (!scratch && scratch_bytes > 0) scratch = std::make_unique<FencedBytes>(scratch_bytes);
  const gart_kernel_args args{buffers.data(), params.data(), scratch ? scratch->data() : nullptr,
                              code_->imports.data()};
  auto* entry = reinterpret_cast<gart_kernel>(static_cast<uint8_t*>(code_->memory) + info().offset);
  return entry(&args, begin, end);
}

int32_t RunnableKernel::run(std::vector<Tensor>& operands, const SymbolValues& symbols, bool split) const {
  std::vector<std::unique_ptr<FencedBytes>> memory;
  std::vector<void*> buffers;
  for (const Tensor& t : operands) {
    memory.push_back(std::make_unique<FencedBytes>(static_cast<size_t>(t.bytes())));
    if (t.bytes() > 0) std::memcpy(memory.back()->data(), t.data(), static_cast<size_t>(t.bytes()));
    buffers.push_back(memory.back()->data());
  }
  const int64_t count = tasks(symbols);
  int32_t status = GART_KERNEL_OK;
  if (!split)
    status = call(buffers, symbols, 0, count);
  else
    for (int64_t t = count; t-- > 0;) status |= call(buffers, symbols, t, t + 1);
  for (size_t i = 0; i < operands.size(); ++i) {
    memory[i]->check_padding();
    if (!kernel_->operands[i].written || operands[i].bytes() == 0) continue;
    Tensor result(operands[i].dtype(), operands[i].shape());
    std::memcpy(result.mutable_data(), memory[i]->data(), static_cast<size_t>(result.bytes()));
    operands[i] = result;
  }
  return status;
}

}  // namespace gcg::test
