#include "tests/artifact/artifact_builder.h"

#include <stdexcept>

namespace gart::test {

uint64_t KernelBlob::offset_of(const std::string& name) const {
  for (const auto& [kernel, offset] : offsets) {
    if (kernel == name) return offset;
  }
  throw std::out_of_range("no test kernel " + name);
}

ArtifactBuilder::ArtifactBuilder(const KernelBlob* blob) : blob_(blob) {
  content.manifest.entry_points.push_back(std::make_unique<fb::EntryPointT>());
  entry().name = "main";
  entry().plans.push_back(std::make_unique<fb::PlanT>());
  auto target = std::make_unique<fb::TargetT>();
#if defined(__aarch64__)
  target->name = "aarch64";
  target->features = kFeaturesAarch64;
#else
  target->name = "x86-64";
  target->features = kCpuX86_64;
#endif
  content.manifest.targets.push_back(std::move(target));
  content.manifest.provenance = std::make_unique<fb::ProvenanceT>();
  content.manifest.provenance->compiler = "test";
  if (blob != nullptr) content.code.push_back(blob->code);
}

uint32_t ArtifactBuilder::symbol(const std::string& name, int input, int axis) {
  auto symbol = std::make_unique<fb::SymbolT>();
  symbol->name = name;
  symbol->input = input;
  symbol->axis = axis;
  entry().symbols.push_back(std::move(symbol));
  plan().fixed.push_back(-1);
  return uint32_t(entry().symbols.size() - 1);
}

uint32_t ArtifactBuilder::constant(int64_t value) {
  entry().program.emplace_back(fb::ExprOp::constant, 0, 0, value);
  plan().program = entry().program;
  return uint32_t(entry().symbols.size() + entry().program.size() - 1);
}

uint32_t ArtifactBuilder::instruction(fb::ExprOp op, uint32_t a, uint32_t b) {
  entry().program.emplace_back(op, a, b, 0);
  plan().program = entry().program;
  return uint32_t(entry().symbols.size() + entry().program.size() - 1);
}

namespace {
std::unique_ptr<fb::TensorInfoT> tensor(const std::string& name, fb::DType dtype, std::vector<uint32_t> dims) {
  auto info = std::make_unique<fb::TensorInfoT>();
  info->name = name;
  info->dtype = dtype;
  info->dims = std::move(dims);
  return info;
}
}  // namespace

void ArtifactBuilder::input(const std::string& name, fb::DType dtype, std::vector<uint32_t> dims) {
  entry().inputs.push_back(tensor(name, dtype, std::move(dims)));
}
void ArtifactBuilder::output(const std::string& name, fb::DType dtype, std::vector<uint32_t> dims) {
  entry().outputs.push_back(tensor(name, dtype, std::move(dims)));
}

uint32_t ArtifactBuilder::buffer(fb::BufferKind kind, uint32_t index, uint32_t size_slot, uint64_t offset) {
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->kind = kind;
  buffer->index = index;
  buffer->size = size_slot;
  buffer->offset = offset;
  plan().buffers.push_back(std::move(buffer));
  return uint32_t(plan().buffers.size() - 1);
}

uint32_t ArtifactBuilder::view(uint32_t base, uint32_t size_slot, uint32_t offset_slot) {
  const fb::BufferT& of = *plan().buffers[base];
  const uint32_t index = buffer(of.kind, of.index, size_slot);
  plan().buffers[index]->alias_of = int(base);
  plan().buffers[index]->alias_offset = offset_slot;
  return index;
}

uint32_t ArtifactBuilder::kernel(const std::string& name, uint32_t operands, uint32_t params, uint32_t scratch_slot) {
  auto kernel = std::make_unique<fb::KernelT>();
  kernel->name = name;
  kernel->offset = blob_->offset_of(name);
  kernel->size = 1;
  kernel->operands = operands;
  kernel->params = params;
  kernel->scratch = scratch_slot;
  plan().kernels.push_back(std::move(kernel));
  return uint32_t(plan().kernels.size() - 1);
}

fb::StepT& ArtifactBuilder::step(fb::StepKind kind, std::vector<uint32_t> operands, uint32_t tasks) {
  open_.push_back(std::make_unique<fb::StepT>());
  open_.back()->kind = kind;
  open_.back()->operands = std::move(operands);
  open_.back()->tasks = tasks;
  return *open_.back();
}

fb::StepT& ArtifactBuilder::launch(uint32_t kernel, std::vector<uint32_t> operands, std::vector<uint32_t> params,
                                   uint32_t tasks, std::vector<uint32_t> writes) {
  fb::StepT& launch = step(fb::StepKind::launch, std::move(operands), tasks);
  launch.kernel = kernel;
  launch.params = std::move(params);
  launch.writes = std::move(writes);
  launch.source = plan().kernels[kernel]->name;
  return launch;
}

uint32_t ArtifactBuilder::close_sequence() {
  auto sequence = std::make_unique<fb::SequenceT>();
  sequence->steps = std::move(open_);
  open_.clear();
  plan().sequences.push_back(std::move(sequence));
  return uint32_t(plan().sequences.size() - 1);
}

fb::PlanT& ArtifactBuilder::copy_plan() {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &plan()));
  entry().plans.emplace_back(flatbuffers::GetRoot<fb::Plan>(builder.GetBufferPointer())->UnPack());
  return *entry().plans.back();
}

std::vector<uint8_t> ArtifactBuilder::write(const WriteOptions& options) {
  // ArtifactContent is not copyable, so packing and unpacking the manifest makes the copy.
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Manifest::Pack(builder, &content.manifest));
  ArtifactContent copy;
  flatbuffers::GetRoot<fb::Manifest>(builder.GetBufferPointer())->UnPackTo(&copy.manifest);
  copy.code = content.code;
  copy.weights = content.weights;
  copy.assembly = content.assembly;
  return write_artifact(std::move(copy), options);
}

ArtifactBuilder small_artifact() {
  using enum fb::BufferKind;
  using Kind = fb::StepKind;
  ArtifactBuilder b;
  const uint32_t rows = b.symbol("rows", 0, 0), also_rows = b.symbol("also_rows", 1, 0);
  const uint32_t one = b.constant(1), four = b.constant(4), row_bytes = b.constant(64), flag_bytes = b.constant(1);
  const uint32_t zero = b.constant(0), eight = b.constant(8);
  const uint32_t bytes = b.instruction(fb::ExprOp::mul, rows, row_bytes);
  const uint32_t sixteen = b.constant(16);
  b.input("x", fb::DType::f32, {rows, sixteen});
  b.input("y", fb::DType::f32, {also_rows, sixteen});
  b.input("flag", fb::DType::boolean, {});
  b.output("out", fb::DType::f32, {rows, sixteen});
  auto constraint = std::make_unique<fb::ConstraintT>();
  constraint->a = rows;
  constraint->b = also_rows;
  constraint->reason = "node 'Add_0' adds them";
  b.entry().constraints.push_back(std::move(constraint));

  b.content.weights.assign(256, 0x3f);
  const uint32_t x = b.buffer(input, 0, bytes), y = b.buffer(input, 1, bytes), flag = b.buffer(input, 2, flag_bytes);
  const uint32_t out = b.buffer(output, 0, bytes), weights = b.buffer(constant, 0, row_bytes, 64);
  const uint32_t first = b.buffer(temporary, 0, bytes), second = b.buffer(temporary, 0, bytes);
  const uint32_t trips = b.buffer(constant, 0, eight, 0), iteration = b.buffer(temporary, 0, eight);
  const uint32_t head = b.view(out, row_bytes, zero);
  b.plan().buffers[second]->conflicts = {first};
  b.plan().buffers[iteration]->conflicts = {first, second};
  b.plan().placement = {first, second, iteration};
  b.content.weights[0] = 2;
  for (int i = 1; i < 8; ++i) b.content.weights[i] = 0;  // trips: 2

  b.step(Kind::copy, {first, x}, four);
  const uint32_t if_true = b.close_sequence();
  b.step(Kind::copy, {first, y}, one);
  const uint32_t if_false = b.close_sequence();
  b.step(Kind::copy, {second, first}, four);
  const uint32_t body = b.close_sequence();
  b.step(Kind::fill, {out}, one).value = 0xee;
  b.step(Kind::branch, {flag}, one).bodies = {if_true, if_false};
  fb::StepT& repeat = b.step(Kind::loop, {}, one);
  repeat.bodies = {body};
  repeat.loop = std::make_unique<fb::LoopT>();
  repeat.loop->trip_count = int(trips);
  repeat.loop->iteration = int(iteration);
  repeat.loop->carried_from = {second};
  repeat.loop->carried_to = {first};
  b.step(Kind::copy, {out, second}, four).waits = {0, 2};
  b.step(Kind::copy, {head, weights}, one);
  b.close_sequence();
  return b;
}

}  // namespace gart::test
