// tests/codegen/loop_harness.h for GPUs: compiles the kernel's text for the host and runs it on the simulated device.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "artifact_schema/kernel_abi.h"
#include "codegen/cuda/assembler/assemble.h"
#include "codegen/cuda/text/kernel_text.h"
#include "compiler/support/error.h"
#include "tests/codegen/loop_harness.h"
#include "tests/cuda/sim/engine/block.h"
#include "tests/cuda/sim/engine/module.h"
#include "tests/cuda/sim/nvrtc/host_compiler.h"

namespace gcg::test {
namespace {

using gart_sim::DeviceMemory;
using gart_sim::LoadedModule;

/// The text's compiled module; each text is compiled once.
const LoadedModule& module_of(const std::string& source, const Target& target) {
  static std::map<std::string, std::unique_ptr<LoadedModule>> known;
  std::unique_ptr<LoadedModule>& module = known[source];
  if (module != nullptr) return *module;
  gart_sim::SourceText text{"kernel.cu", source, {}};
  for (const cuda::Header& h : cuda::device_headers()) text.headers.emplace_back(h.name, h.text);
  const gart_sim::Compiled compiled = gart_sim::compile_for_host(text, {target.sm, 0, false});
  std::string error = compiled.log;
  if (!compiled.module.empty()) module = LoadedModule::load(compiled.module, error);
  GCG_CHECK(module != nullptr, error, "\n", source);
  return *module;
}

class DeviceBytes {
 public:
  explicit DeviceBytes(size_t bytes) : address_(DeviceMemory::get().allocate(0, std::max<size_t>(bytes, 1))) {}
  ~DeviceBytes() { DeviceMemory::get().free(address_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  void* address() const { return reinterpret_cast<void*>(address_); }
  void write(const void* from, size_t bytes) { copy(address(), from, bytes); }
  void read(void* to, size_t bytes) const { copy(to, address(), bytes); }

 private:
  static void copy(void* to, const void* from, size_t bytes) {
    DeviceMemory::get().open();
    if (bytes > 0) std::memcpy(to, from, bytes);
    DeviceMemory::get().close();
  }
  uint64_t address_;
};

}  // namespace

struct RunnableKernel::Code {
  std::vector<cuda::KernelText> launches;
  std::vector<const LoadedModule*> modules;

  void launch(size_t i, const std::vector<void*>& buffers, void* workspace, void* status, const SymbolValues& symbols,
              uint64_t seed) const {
    const cuda::KernelText& text = launches[i];
    std::vector<void*> pointers = buffers;
    pointers.insert(pointers.end(), {workspace, status});
    std::vector<int64_t> numbers;
    for (const Dim& d : text.params) numbers.push_back(d.evaluate(symbols));
    std::vector<void*> parameters;
    for (size_t k = 0; k < buffers.size(); ++k) parameters.push_back(&pointers[k]);
    for (int64_t& n : numbers) parameters.push_back(&n);
    parameters.insert(parameters.end(), {&pointers[buffers.size()], &pointers[buffers.size() + 1]});
    gart_sim::Launch launch;
    launch.module = &modules[i]->module();
    launch.kernel = modules[i]->find(text.symbol);
    GCG_CHECK(launch.kernel != nullptr && launch.kernel->parameters == parameters.size(), "parameters of ",
              text.symbol);
    launch.grid.x = static_cast<unsigned>(text.tasks.evaluate(symbols));
    launch.block.x = static_cast<unsigned>(text.threads);
    launch.shared_bytes = static_cast<unsigned>(text.shared_bytes);
    launch.seed = seed;
    launch.parameters = parameters.data();
    if (launch.grid.x == 0) return;
    EXPECT_EQ(gart_sim::run_launch(launch).error, 0) << text.source;
  }
};

bool runs_here(const std::string& target) { return find_target(target)->device == DeviceClass::cuda; }

std::vector<std::string> runnable_targets() { return {"sm_80"}; }

RunnableKernel::RunnableKernel(const Kernel& kernel, const std::string& name)
    : kernel_(&kernel), code_(std::make_unique<Code>()) {
  verify_kernel(kernel);
  const Target target = *find_target(name);
  cuda::KernelText first = cuda::emit_kernel(kernel, target);
  blob_.kernels.emplace_back();
  blob_.kernels[0].tasks = first.tasks;
  blob_.kernels[0].params = first.params;
  for (std::vector<cuda::KernelText> next = {std::move(first)}; !next.empty();) {
    std::vector<cuda::KernelText> then = std::move(next.front().then);
    code_->launches.push_back(std::move(next.front()));
    next = std::move(then);
  }
  for (const cuda::KernelText& text : code_->launches) code_->modules.push_back(&module_of(text.source, target));
}

RunnableKernel::~RunnableKernel() = default;

/// Runs all tasks, whatever the range is. The order is reversed if the range does not begin at the first task.
int32_t RunnableKernel::call(const std::vector<void*>& buffers, const SymbolValues& symbols, int64_t begin,
                             int64_t) const {
  std::map<void*, std::unique_ptr<DeviceBytes>> memory;
  std::map<void*, size_t> sizes;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Operand& o = kernel_->operands[i];
    sizes[buffers[i]] =
        std::max(sizes[buffers[i]], static_cast<size_t>(product(o.shape).evaluate(symbols) * size_of(o.dtype)));
  }
  std::vector<void*> pointers;
  for (void* buffer : buffers) {
    std::unique_ptr<DeviceBytes>& bytes = memory[buffer];
    if (bytes == nullptr) {
      bytes = std::make_unique<DeviceBytes>(sizes[buffer]);
      bytes->write(buffer, sizes[buffer]);
    }
    pointers.push_back(bytes->address());
  }
  const DeviceBytes workspace(static_cast<size_t>(code_->launches[0].scratch_bytes.evaluate(symbols)));
  DeviceBytes status(sizeof(uint32_t));
  uint32_t failed = GART_KERNEL_OK;
  status.write(&failed, sizeof failed);
  for (size_t i = 0; i < code_->launches.size(); ++i)
    code_->launch(i, pointers, workspace.address(), status.address(), symbols, begin == 0 ? 0 : 1);
  for (const auto& [buffer, bytes] : memory) bytes->read(buffer, sizes[buffer]);
  status.read(&failed, sizeof failed);
  EXPECT_TRUE(failed == GART_KERNEL_OK || code_->launches[0].may_fail);
  for (const std::string& report : gart_sim::take_reports())
    ADD_FAILURE() << report << '\n' << code_->launches[0].source;
  return static_cast<int32_t>(failed);
}

int32_t RunnableKernel::run(std::vector<Tensor>& operands, const SymbolValues& symbols, bool split) const {
  std::vector<Tensor> copies;
  std::vector<void*> buffers;
  for (const Tensor& t : operands) {
    Tensor copy(t.dtype(), t.shape());
    if (t.bytes() > 0) std::memcpy(copy.mutable_data(), t.data(), static_cast<size_t>(t.bytes()));
    copies.push_back(copy);
  }
  std::vector<char> nothing(copies.size());  // provides an address for each tensor without elements
  for (size_t i = 0; i < copies.size(); ++i)
    buffers.push_back(copies[i].bytes() > 0 ? static_cast<void*>(copies[i].mutable_data()) : &nothing[i]);
  const int32_t status = call(buffers, symbols, split ? 1 : 0, tasks(symbols));
  for (size_t i = 0; i < operands.size(); ++i)
    if (kernel_->operands[i].written) operands[i] = copies[i];
  return status;
}

}  // namespace gcg::test
