#include "tools/lazy/program.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "codegen/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/support/error.h"
#include "gcc_graph/fleet.h"
#include "tools/lazy/disk_cache.h"
#include "tools/lazy/graph_of_cut.h"

namespace gcc_graph::lazy {
namespace {

constexpr int64_t kRunsBeforePacking = 4;    // runs after which the lasting weights are known
constexpr double kWorkForThreads = 1 << 25;  // with less work, waking other threads takes longer than they save

gart::TensorView view(const Type& type, const void* data) {
  return {data, static_cast<gart::DType>(type.dtype), gart::Shape(type.shape())};
}

void release_all(const std::vector<Buffer*>& buffers) {
  for (Buffer* buffer : buffers) buffer->release();
}

}  // namespace

std::vector<uint8_t> compile_for(gcg::Graph graph, const std::vector<std::string>& targets,
                                 std::map<std::string, gcg::TensorRef> parameters) {
  gcg::CompileOptions options;
  options.parameters = std::move(parameters);
  options.targets = targets.empty() ? std::vector<std::string>{host_target()} : targets;
  options.passes.verify = false;
  gcg::Backends backends;
  backends.push_back(gcg::cpu::make_cpu_backend());
  return gcg::compile(std::move(graph), "", options, backends).artifact;
}

void Program::make(const Settings& settings) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    const int threads = settings.threads > 0 ? settings.threads : work < kWorkForThreads ? 1 : 0;
    const DiskCache disk(settings.cache_folder, settings.max_cache_bytes);
    const std::string key = disk.key(graph, host_target());
    if (std::optional<std::vector<uint8_t>> found = disk.find(key)) {
      try {
        load(std::move(*found), threads);
        from_disk = true;
      } catch (const gcg::CompileError&) {  // the file is damaged, so the graph is compiled again
        from_disk = false;
      }
    }
    if (!from_disk) {
      std::vector<uint8_t> bytes = compile_for(graph.clone(), {});
      disk.put(key, bytes);
      load(std::move(bytes), threads);
    }
    state = State::ready;
  } catch (const std::exception& failure) {
    error = failure.what();
    state = State::failed;
  }
  graph = gcg::Graph();
  milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

void Program::load(std::vector<uint8_t> bytes, int threads) {
  constexpr size_t kAlignment = 64;
  const size_t size = (bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  artifact_.reset(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, size)));
  if (artifact_ == nullptr) gcg::fail("out of memory: ", size, " bytes of compiled code");
  std::memcpy(artifact_.get(), bytes.data(), bytes.size());
  auto program = gart::load(std::span<const uint8_t>(artifact_.get(), bytes.size()),
                            {.verify = true, .device = "cpu", .threads = threads});
  if (!program.ok()) gcg::fail(program.error().message);
  auto invocation = program->new_invocation();
  if (!invocation.ok()) gcg::fail(invocation.error().message);
  invocation_.emplace(std::move(invocation).value());
}

Program& Program::variant_for(const Cut& cut) {
  if (weights.empty()) return *this;
  count_readings(cut, weights);
  const auto lasts = [&](const Weight& w) { return is_lasting(cut, w); };
  if (++runs > kRunsBeforePacking && packed == nullptr && std::any_of(weights.begin(), weights.end(), lasts))
    packed = packed_variant(cut, lasts);
  const bool is_ready = packed != nullptr && packed->state == State::ready;
  return is_ready && std::all_of(packed->panels.begin(), packed->panels.end(), lasts) ? *packed : *this;
}

std::shared_ptr<Program> Program::packed_variant(const Cut& cut,
                                                 const std::function<bool(const Weight&)>& lasts) const {
  auto variant = std::make_shared<Program>();
  std::copy_if(weights.begin(), weights.end(), std::back_inserter(variant->panels), lasts);
  variant->pattern = pattern;
  variant->work = work;
  variant->cause = gcg::concat(variant->panels.size(),
                               variant->panels.size() == 1 ? " matrix of a graph stays the same: it is"
                                                           : " matrices of a graph stay the same: they are",
                               " read packed");
  variant->graph = graph_of_cut(cut, pattern, nullptr, variant->panels);
  return variant;
}

gart::Result<std::vector<Buffer*>> Program::run(const Cut& cut, const std::vector<int64_t>& symbols) {
  static const uint8_t nothing[64] = {};
  size_t input = 0;
  for (const uint32_t at : cut.evaluated)
    if (auto set = invocation_->set_input(input++, view(*cut.nodes[at]->type, cut.nodes[at]->data())); !set.ok())
      return set.error();
  for (const int64_t s : symbols)
    if (auto set = invocation_->set_input(input++, {nothing, gart::DType::u8, {s}}); !set.ok()) return set.error();
  for (const Weight& w : panels) {
    const Buffer& packed_weight = panels_of(cut, w);
    if (auto set = invocation_->set_input(input++, view(*packed_weight.type, packed_weight.data)); !set.ok())
      return set.error();
  }
  std::vector<Buffer*> out;
  out.reserve(cut.results.size());
  for (const uint32_t at : cut.results) {
    const Type& type = *cut.nodes[at]->type;
    try {
      out.push_back(Buffer::allocate(type, cut.nodes[at]->op));
    } catch (...) {
      release_all(out);
      throw;
    }
    const gart::OutputBuffer place{out.back()->data, static_cast<size_t>(type.bytes),
                                   static_cast<gart::DType>(type.dtype)};
    if (auto set = invocation_->set_output(out.size() - 1, place); !set.ok()) {
      release_all(out);
      return set.error();
    }
  }
  if (auto done = invocation_->run(); !done.ok()) {
    release_all(out);
    return done.error();
  }
  return out;
}

}  // namespace gcc_graph::lazy
