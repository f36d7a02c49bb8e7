#include "tests/cuda/contractions/simulated_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "codegen/cuda/assembler/assemble.h"
#include "compiler/gir/gir.h"
#include "compiler/ops/infer.h"
#include "compiler/passes/pass.h"
#include "compiler/plan/constant_operands.h"
#include "compiler/plan/make_plan.h"
#include "compiler/reference/interpreter.h"
#include "compiler/support/error.h"
#include "tests/cuda/sim/engine/block.h"
#include "tests/cuda/sim/engine/module.h"
#include "tests/cuda/sim/engine/tensor_map.h"
#include "tests/cuda/sim/nvrtc/host_compiler.h"

namespace gcg::test {
namespace {

using cuda::KernelText;

/// A block of device memory.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes) : bytes_(bytes), address_(memory().allocate(0, std::max<size_t>(bytes, 1))) {}
  ~DeviceBuffer() { memory().free(address_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void write(const void* from) {
    memory().open();
    std::memcpy(reinterpret_cast<void*>(address_), from, bytes_);
    memory().close();
  }
  void read(void* to) const {
    memory().open();
    std::memcpy(to, reinterpret_cast<const void*>(address_), bytes_);
    memory().close();
  }
  uint64_t address() const { return address_; }

 private:
  static gart_sim::DeviceMemory& memory() { return gart_sim::DeviceMemory::get(); }
  size_t bytes_;
  uint64_t address_;
};

std::unique_ptr<gart_sim::LoadedModule> assemble(const KernelText& text, const Target& target) {
  gart_sim::SourceText source{"kernel.cu", text.source, {}};
  for (const cuda::Header& h : cuda::device_headers()) source.headers.emplace_back(h.name, h.text);
  const gart_sim::Compiled compiled =
      gart_sim::compile_for_host(source, {target.sm, target.name.back() == 'a' ? 'a' : '\0', false});
  std::string error = compiled.log;
  auto module = compiled.module.empty() ? nullptr : gart_sim::LoadedModule::load(compiled.module, error);
  GCG_CHECK(module != nullptr, error, "\n", text.source);
  return module;
}

struct alignas(128) EncodedMap {
  unsigned char bytes[gart_sim::TensorMap::kBytes];
};

/// The tensor map of an operand at this address, encoded as the driver encodes it for the runtime.
EncodedMap encoded(const TensorMap& map, uint64_t address, const SymbolValues& symbols) {
  gart_sim::TensorMap tensor;
  tensor.element_bytes = static_cast<unsigned>(size_of(map.dtype));
  tensor.address = address + static_cast<uint64_t>(map.offset.evaluate(symbols)) * tensor.element_bytes;
  tensor.rank = static_cast<unsigned>(map.extents.size());
  tensor.swizzle = static_cast<unsigned>(map.swizzle);
  tensor.is_im2col = map.kind == TensorMap::Kind::im2col;
  tensor.pixels = static_cast<unsigned>(map.pixels);
  std::copy(map.lower.begin(), map.lower.end(), tensor.lower);
  std::copy(map.upper.begin(), map.upper.end(), tensor.upper);
  std::copy(map.steps.begin(), map.steps.end(), tensor.steps);
  for (size_t d = 0; d < map.extents.size(); ++d) {
    tensor.extents[d] = static_cast<uint64_t>(map.extents[d].evaluate(symbols));
    tensor.strides[d] =
        (d == 0 ? 1 : static_cast<uint64_t>(map.strides[d - 1].evaluate(symbols))) * tensor.element_bytes;
    tensor.box[d] = static_cast<unsigned>(map.box[d]);
  }
  EXPECT_EQ(tensor.problem(), "");
  EncodedMap out;
  tensor.encode(out.bytes);
  return out;
}

class Runner {
 public:
  Runner(const Plan& plan, const Target& target, const SymbolValues& symbols, const Emit& emit)
      : plan_(plan), target_(target), symbols_(symbols), emit_(emit) {}

  SimulatedRun run(const std::vector<Tensor>& inputs, const Graph& graph) {
    for (const Buffer& b : plan_.buffers) {
      const auto bytes = static_cast<size_t>(b.bytes.evaluate(symbols_));
      buffers_.push_back(std::make_unique<DeviceBuffer>(bytes));
      if (b.constant) buffers_.back()->write(b.constant->data());
      if (b.kind == Buffer::Kind::input) buffers_.back()->write(inputs[static_cast<size_t>(b.index)].data());
    }
    GCG_CHECK(plan_.sequences.size() == 1, "only graphs without control flow are run");
    for (const Step& step : plan_.entry().steps) {
      const auto* of = step.as<Launch>();
      GCG_CHECK(of != nullptr, "only launches are run");
      const Kernel& kernel = plan_.kernels[of->kernel];
      for (const Operand& o : kernel.operands) out_.half_operands += o.flat_of < 0 && size_of(o.dtype) == 2 ? 1 : 0;
      launch(emit_ ? emit_(kernel) : cuda::emit_kernel(kernel, target_), of->operands);
    }
    for (ValueId v : graph.outputs) {
      std::vector<int64_t> shape;
      for (const Dim& d : *graph.value(v).shape) shape.push_back(d.evaluate(symbols_));
      out_.outputs.emplace_back(graph.value(v).memory_dtype(), shape);
    }
    for (BufferId i : plan_.buffers.ids()) {
      const Buffer& b = plan_.buffers[i];
      if (b.kind == Buffer::Kind::output)
        buffers_[static_cast<size_t>(i.index)]->read(out_.outputs[static_cast<size_t>(b.index)].mutable_data());
    }
    return std::move(out_);
  }

 private:
  void launch(const KernelText& text, const std::vector<BufferId>& operands) {
    const int64_t blocks = text.tasks.evaluate(symbols_);
    if (blocks == 0) return;
    if (const int64_t bytes = text.scratch_bytes.evaluate(symbols_); bytes > 0 && workspace_ == nullptr)
      workspace_ = std::make_unique<DeviceBuffer>(static_cast<size_t>(bytes));
    std::vector<uint64_t> values;
    for (BufferId b : operands) values.push_back(buffers_[static_cast<size_t>(b.index)]->address());
    for (const Dim& d : text.params) values.push_back(static_cast<uint64_t>(d.evaluate(symbols_)));
    values.push_back(workspace_ ? workspace_->address() : 0);
    DeviceBuffer status(4);
    values.push_back(status.address());
    std::vector<void*> parameters;
    for (uint64_t& v : values) parameters.push_back(&v);
    std::vector<EncodedMap> maps;
    for (const TensorMap& map : text.maps)
      maps.push_back(encoded(map, values[static_cast<size_t>(map.operand)], symbols_));
    for (EncodedMap& map : maps) parameters.push_back(&map);
    const auto module = assemble(text, target_);
    gart_sim::Launch launch;
    launch.module = &module->module();
    launch.kernel = module->find(text.symbol);
    launch.grid.x = static_cast<unsigned>(blocks);
    launch.block.x = static_cast<unsigned>(text.threads);
    launch.shared_bytes = static_cast<unsigned>(text.shared_bytes);
    launch.seed = 7;
    launch.parameters = parameters.data();
    launch.is_early = machine_of(target_).overlaps_launches;
    const gart_sim::LaunchResult result = gart_sim::run_launch(launch);
    EXPECT_EQ(result.error, 0) << text.source;
    if (launch.is_early) expect_waits(text, operands, result.footprint);
    EXPECT_EQ(gart_sim::take_reports(), std::vector<std::string>{}) << text.source;
    out_.kernels.push_back(text.symbol.substr(0, text.symbol.rfind('_')));
    out_.notes.push_back(text.note);
    for (const KernelText& then : text.then) this->launch(then, operands);
    if (!text.then.empty()) workspace_.reset();
  }

  /// Before its wait, the kernel must write nothing, and read only the constants that it declares.
  void expect_waits(const KernelText& text, const std::vector<BufferId>& operands,
                    const gart_sim::Footprint& footprint) {
    EXPECT_TRUE(footprint.has_waited && footprint.early_writes.empty()) << text.source;
    EXPECT_EQ(footprint.early_reads.empty(), text.ahead.empty()) << text.source;
    for (const gart_sim::Range& range : footprint.early_reads) {
      const bool is_ahead = std::any_of(text.ahead.begin(), text.ahead.end(), [&](int position) {
        const BufferId b = operands[static_cast<size_t>(position)];
        const uint64_t begin = buffers_[static_cast<size_t>(b.index)]->address();
        const Buffer& buffer = plan_.buffers[b];
        const auto bytes = static_cast<uint64_t>(buffer.bytes.evaluate(symbols_));
        return buffer.constant && begin <= range.begin && range.end <= begin + bytes;
      });
      EXPECT_TRUE(is_ahead) << text.source;
    }
  }

  const Plan& plan_;
  const Target& target_;
  const SymbolValues& symbols_;
  const Emit& emit_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::unique_ptr<DeviceBuffer> workspace_;
  SimulatedRun out_;
};

std::vector<Tensor> random_inputs(const Graph& graph, const SymbolValues& symbols) {
  std::mt19937 rng(5);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<Tensor> inputs;
  for (ValueId in : graph.inputs) {
    std::vector<int64_t> shape;
    for (const Dim& d : *graph.value(in).shape) shape.push_back(d.evaluate(symbols));
    Tensor t(graph.value(in).dtype, shape);
    for (int64_t i = 0; i < t.elements(); ++i) {
      if (is_float(t.dtype()))
        t.set_double(i, real(rng));
      else
        t.set_int(i, static_cast<int64_t>(rng() % (t.dtype() == DType::boolean ? 2 : 3)));
    }
    inputs.push_back(std::move(t));
  }
  return inputs;
}

/// The largest |got - want| / (1 + |want|); NaNs must be at the same places.
double worst_error(const Tensor& got, const Tensor& want) {
  double worst = 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double g = got.at_double(i), w = want.at_double(i);
    if (std::isnan(g) != std::isnan(w)) return INFINITY;
    if (g != w && !std::isnan(w)) worst = std::max(worst, std::abs(g - w) / (1 + std::abs(w)));
  }
  return worst;
}

}  // namespace

Target gpu_target(const std::string& name, Precision precision) {
  Target target = find_target(name).value();
  target.precision = precision;
  return target;
}

std::vector<cuda::ProductTile> loop_tiles(const cuda::Product& product, const Target& target) {
  std::vector<cuda::ProductTile> tiles;
  for (const cuda::ProductTile& tile : cuda::product_tiles(target, cuda::constraints_of(product, target)))
    if (tile.producers > 0) tiles.push_back(tile);
  return tiles;
}

std::string case_name(const testing::TestParamInfo<ContractionCase>& info) {
  static constexpr const char* names[] = {"fp32", "tf32", "fp16", "bf16"};
  return concat(info.param.target, "_", names[static_cast<int>(info.param.precision)]);
}

Plan cuda_plan(Graph& graph, const Target& target) {
  infer_graph(graph);
  run_passes(graph, model_passes(), nullptr, {});
  run_passes(graph, shape_passes(), nullptr, {});
  run_passes(graph, device_passes(DeviceClass::cuda), &target, {});
  Plan plan = make_plan(graph, DeviceClass::cuda);
  mark_constant_operands(plan);
  return plan;
}

SimulatedRun run_simulated(const Graph& graph, const std::vector<Tensor>& inputs, const Target& target,
                           const SymbolValues& symbols, const Emit& emit) {
  Graph g = graph.clone();
  const Plan plan = cuda_plan(g, target);
  return Runner(plan, target, symbols, emit).run(inputs, g);
}

SimulatedRun expect_simulates(const std::string& gir, const Target& target, double tolerance,
                              const SymbolValues& symbols, const Emit& emit) {
  Graph graph = parse_graph(gir);
  infer_graph(graph);
  const std::vector<Tensor> inputs = random_inputs(graph, symbols), want = interpret(graph, inputs);
  SimulatedRun run = run_simulated(graph, inputs, target, symbols, emit);
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(run.outputs[i].shape(), want[i].shape());
    const double error = worst_error(run.outputs[i], want[i]);
    EXPECT_LE(error, tolerance) << target.name << ", output " << i << ", " << (run.notes.empty() ? "" : run.notes[0]);
    testing::Test::RecordProperty("error", std::to_string(error));
    if (std::getenv("GCC_GRAPH_PRINT_ERRORS"))
      std::printf("%s %s: %g\n", target.name.c_str(), run.notes[0].c_str(), error);
  }
  return run;
}

}  // namespace gcg::test
