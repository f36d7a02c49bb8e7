#include "runtime/cuda/program.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "runtime/cuda/graphs/conditional_graph.h"
#include "runtime/errors.h"
#include "runtime/executor.h"

namespace gart::cuda {
namespace {

struct Range {
  uint64_t begin = UINT64_MAX, end = 0;
};

/// Extends `range` by the bytes of the weights that the plan's constants use.
void cover_constants(const Plan& plan, uint64_t weight_bytes, Range& range) {
  Slots slots(plan.symbols + plan.program.size());
  const bool evaluated = evaluate(plan.program, plan.symbols, slots).ok();
  for (uint32_t i = 0; i < count_of(plan.manifest->buffers()); ++i) {
    const fb::Buffer& buffer = plan.buffer(i);
    if (buffer.kind() != fb::BufferKind::constant || buffer.alias_of() >= 0 || buffer.offset() > weight_bytes) continue;
    const bool known = evaluated && slots.known[buffer.size()] && slots[buffer.size()] >= 0;
    const uint64_t left = weight_bytes - buffer.offset();
    range.begin = std::min(range.begin, buffer.offset());
    range.end = std::max(range.end, buffer.offset() + (known ? std::min(uint64_t(slots[buffer.size()]), left) : left));
  }
}

/// Checks the sizes in the headers of an ELF file, because the driver gets no size and trusts the headers. Section
/// types of the driver's own are not checked.
bool is_whole_elf(std::span<const uint8_t> image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof header || std::memcmp(image.data(), ELFMAG, SELFMAG) != 0) return false;
  std::memcpy(&header, image.data(), sizeof header);
  const auto has = [&](uint64_t offset, uint64_t bytes) {
    return offset <= image.size() && bytes <= image.size() - offset;
  };
  if (!has(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)) ||
      !has(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
    return false;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type < SHT_LOOS && section.sh_type != SHT_NOBITS && !has(section.sh_offset, section.sh_size))
      return false;
  }
  return true;
}

}  // namespace

Program::~Program() {
  const CurrentContext current(device_, std::nothrow);
  if (!current.is_current()) return;
  for (const Module& module : modules_) device_.driver.cuModuleUnload(module.handle);
}

void Program::load(const ArtifactView& artifact, std::span<Entry> entries) {
  const CurrentContext current(device_);
  manifest_ = artifact.manifest;
  const fb::Target& target = *artifact.manifest->targets()->Get(DeviceProgram::target());
  ptx_ = target.kind() == fb::TargetKind::cuda_ptx;
  if (target.code_section() >= 0) code_ = artifact.section(static_cast<size_t>(target.code_section()));
  host_weights_ = artifact.weights();
  shared_limit_ = device_.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  for (Entry& entry : entries) {
    for (Plan& plan : entry.plans) load_plan(plan);
  }
  if (target.conditional_kernel() != nullptr && device_.driver.version >= kOldestConditionalDriver)
    load_conditional_kernel(*target.conditional_kernel());
  if (const fb::EntryPoint* packing = artifact.manifest->load_time_packing()) pack_weights(*packing);
  weights_ = upload_weights(entries);
}

void Program::pack_weights(const fb::EntryPoint& packing) {
  Entry entry = make_entry(packing);
  for (uint32_t i = 0; i < count_of(packing.plans()); ++i) {
    if (packing.plans()->Get(i)->target() == target())
      entry.plans.push_back(make_plan(packing, *packing.plans()->Get(i)));
  }
  if (entry.plans.empty()) return;
  load_plan(entry.plans[0]);
  packed_.reserve(entry.plans[0].manifest->packed_bytes());
  const Block sources = upload_weights({&entry, 1});
  Inputs inputs({}, device_.site);
  Outputs outputs({}, device_.site, inputs);
  Block arena(&device_.memory);
  const auto plan = std::make_unique<BoundPlan>(entry, host_weights_.size(), device_.site);
  plan->bind({});
  arena.reserve(size_t(plan->arena_bytes()));
  const BaseAddresses all{weights_base_, arena.data(), packed_.data()};
  const Run run{*plan, inputs, outputs, all};
  const std::unique_ptr<gart::Lane> lane = new_lane();
  lane->adopt(*plan);
  lane->open(run, {});
  plan->link(all, inputs, outputs);
  Executor(run, *lane).run();
  lane->close();
  lane->finish();
}

/// If a driver rejects this module, everything else still runs, and the host decides.
void Program::load_conditional_kernel(const fb::Kernel& kernel) try {
  conditional_kernel_ = load_kernel(kernel);
} catch (const Failure& failure) {
  if (failure.error.code != ErrorCode::unsupported) throw;
}

void Program::load_plan(Plan& plan) {
  libraries_.open(*manifest_, plan);
  std::vector<CUfunction> functions(count_of(plan.manifest->kernels()));
  for (uint32_t i = 0; i < functions.size(); ++i) functions[i] = load_kernel(*plan.manifest->kernels()->Get(i));
  for (PlanStep& step : plan.steps) {
    if (step.kind == fb::StepKind::launch) step.function = functions[step.manifest->kernel()];
  }
}

CUfunction Program::load_kernel(const fb::Kernel& kernel) {
  const auto& driver = device_.driver;
  const char* symbol = kernel.symbol()->c_str();
  CUfunction function = nullptr;
  device_.check(driver.cuModuleGetFunction(&function, load_module(kernel), symbol), "cuModuleGetFunction", symbol);
  int threads = 0, fixed_shared = 0, shared = 0;
  GART_CUDA(device_, cuFuncGetAttribute, &threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
  GART_CUDA(device_, cuFuncGetAttribute, &fixed_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  GART_CUDA(device_, cuFuncGetAttribute, &shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);
  if (kernel.threads() > uint32_t(threads)) {
    fail(ErrorCode::unsupported, "kernel '", symbol, "' would have ", kernel.threads(), " threads per block on ",
         device_.name, ", where it can have ", threads);
  }
  if (int64_t(kernel.shared()) + fixed_shared > shared_limit_) {
    fail(ErrorCode::unsupported, "kernel '", symbol, "' needs ", int64_t(kernel.shared()) + fixed_shared,
         " bytes of shared memory, ", device_.name, " has ", shared_limit_);
  }
  if (kernel.shared() > uint32_t(shared)) {
    GART_CUDA(device_, cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
              int(kernel.shared()));
  }
  return function;
}

CUmodule Program::load_module(const fb::Kernel& kernel) {
  const auto place = std::lower_bound(modules_.begin(), modules_.end(), kernel.offset(),
                                      [](const Module& module, uint64_t offset) { return module.offset < offset; });
  if (place != modules_.end() && place->offset == kernel.offset()) return place->handle;
  const std::span<const uint8_t> image = code_.subspan(kernel.offset(), kernel.size());
  if (ptx_ ? image.back() != 0 : !is_whole_elf(image)) {
    fail(ErrorCode::invalid_artifact, "the ", ptx_ ? "PTX" : "module", " of kernel '", view_of(kernel.symbol()),
         "' is not terminated");
  }
  char log[1024] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  modules_.reserve(modules_.size() + 1);
  CUmodule module = nullptr;
  const CUresult result = device_.driver.cuModuleLoadDataEx(&module, image.data(), 2, options, values);
  log[sizeof log - 1] = '\0';
  device_.check(result, "cuModuleLoadDataEx",
                result == CUDA_SUCCESS ? std::string()
                                       : text("kernel '", view_of(kernel.symbol()), *log == '\0' ? "'" : "' ", log));
  modules_.insert(std::lower_bound(modules_.begin(), modules_.end(), kernel.offset(),
                                   [](const Module& m, uint64_t offset) { return m.offset < offset; }),
                  {kernel.offset(), module});
  return module;
}

Block Program::upload_weights(std::span<const Entry> entries) {
  Range range;
  for (const Entry& entry : entries) {
    for (const Plan& plan : entry.plans) cover_constants(plan, host_weights_.size(), range);
  }
  Block block(&device_.memory);
  if (range.begin >= range.end) return block;
  block.reserve(range.end - range.begin);
  weights_base_ = block.data() - range.begin;
  const Stream stream(device_);
  GART_CUDA(device_, cuMemcpyHtoDAsync_v2, reinterpret_cast<CUdeviceptr>(block.data()),
            host_weights_.data() + range.begin, range.end - range.begin, stream.handle);
  GART_CUDA(device_, cuStreamSynchronize, stream.handle);
  return block;
}

}  // namespace gart::cuda
