#include "tests/runtime/models.h"

#include <deque>
#include <mutex>

#include "tests/runtime/test_kernels.h"

namespace gart::test {

using enum fb::BufferKind;
using Kind = fb::StepKind;

const KernelBlob& kernels() {
  static const KernelBlob blob = [] {
    const auto* begin = reinterpret_cast<const uint8_t*>(test_kernels_begin());
    KernelBlob out{{begin, begin + test_kernels_size()}, {}};
#define GART_KERNEL_OFFSET(name) out.offsets.emplace_back(#name, reinterpret_cast<const uint8_t*>(&name) - begin);
    GART_TEST_KERNELS(GART_KERNEL_OFFSET)
#undef GART_KERNEL_OFFSET
    return out;
  }();
  return blob;
}

namespace {

/// Slots that all the models need, for f32[n] tensors.
struct Extents {
  uint32_t n, zero, one, bytes, tasks, scratch;
};

Extents extents(ArtifactBuilder& b, uint32_t n) {
  Extents e{n, b.constant(0), b.constant(1), 0, 0, b.constant(64)};
  const uint32_t fifteen = b.constant(15), sixteen = b.constant(16);
  e.bytes = b.instruction(fb::ExprOp::mul, n, b.constant(4));
  e.tasks = b.instruction(fb::ExprOp::floor_div, b.instruction(fb::ExprOp::add, n, fifteen), sixteen);
  return e;
}

}  // namespace

ArtifactBuilder add_and_double() {
  ArtifactBuilder b(&kernels());
  const uint32_t n = b.symbol("n", 0, 0);
  const Extents e = extents(b, n);
  b.input("x", fb::DType::f32, {n});
  b.input("y", fb::DType::f32, {n});
  b.output("out", fb::DType::f32, {n});
  const uint32_t x = b.buffer(input, 0, e.bytes), y = b.buffer(input, 1, e.bytes), out = b.buffer(output, 0, e.bytes);
  const uint32_t sum = b.buffer(temporary, 0, e.bytes);
  b.plan().placement = {sum};
  const uint32_t add = b.kernel("test_add", 3, 1, e.zero), twice = b.kernel("test_double", 2, 1, e.scratch);
  b.launch(add, {x, y, sum}, {n}, e.tasks, {2});
  b.launch(twice, {sum, out}, {n}, e.tasks, {1});
  b.close_sequence();
  return b;
}

ArtifactBuilder with_static_plan(int64_t extent) {
  ArtifactBuilder b = add_and_double();
  fb::PlanT& plan = b.copy_plan();
  plan.fixed = {extent};
  plan.placement.clear();
  plan.buffers[3]->offset = 64;
  plan.arena_bytes = uint64_t(64 + extent * 4);
  plan.arena_lower_bound = uint64_t(extent * 4);
  plan.sequences[0]->steps[0]->operands[1] = 0;
  return b;
}

ArtifactBuilder positives() {
  ArtifactBuilder b(&kernels());
  const uint32_t n = b.symbol("n", 0, 0), k = b.symbol("k");
  const Extents e = extents(b, n);
  const uint32_t found_bytes = b.instruction(fb::ExprOp::mul, k, b.constant(4)), eight = b.constant(8);
  const uint32_t found_tasks =
      b.instruction(fb::ExprOp::floor_div, b.instruction(fb::ExprOp::add, k, b.constant(15)), b.constant(16));
  b.input("x", fb::DType::f32, {n});
  b.output("out", fb::DType::f32, {k});
  const uint32_t x = b.buffer(input, 0, e.bytes), out = b.buffer(output, 0, found_bytes);
  const uint32_t count = b.buffer(temporary, 0, eight), found = b.buffer(temporary, 0, found_bytes);
  b.plan().placement = {count};
  const uint32_t counting = b.kernel("test_count_positive", 2, 1, e.zero),
                 picking = b.kernel("test_positives", 2, 1, e.zero);
  b.launch(counting, {x, count}, {n}, e.one, {1});
  b.step(Kind::bind, {count}, e.one).params = {k};
  b.launch(picking, {x, found}, {n}, e.one, {1});
  b.step(Kind::copy, {out, found}, found_tasks);
  b.close_sequence();
  return b;
}

ArtifactBuilder doubling_loop() {
  ArtifactBuilder b(&kernels());
  const uint32_t n = b.symbol("n", 0, 0);
  const Extents e = extents(b, n);
  const uint32_t ten = b.constant(10), eight = b.constant(8);
  b.content.weights = {8, 0, 0, 0, 0, 0, 0, 0};
  b.input("x", fb::DType::f32, {n});
  b.output("y", fb::DType::f32, {n});
  const uint32_t x = b.buffer(input, 0, e.bytes), y = b.buffer(output, 0, e.bytes),
                 trips = b.buffer(constant, 0, eight);
  const uint32_t below = b.buffer(temporary, 0, e.one), next = b.buffer(temporary, 0, e.bytes);
  b.plan().buffers[next]->conflicts = {below};
  b.plan().placement = {below, next};
  const uint32_t compare = b.kernel("test_below", 2, 1, e.zero), twice = b.kernel("test_double", 2, 1, e.scratch);
  b.launch(twice, {y, next}, {n}, e.tasks, {1});
  b.launch(compare, {next, below}, {ten}, e.one, {1});
  const uint32_t body = b.close_sequence();
  b.step(Kind::copy, {y, x}, e.tasks);
  b.launch(compare, {y, below}, {ten}, e.one, {1});
  fb::StepT& loop = b.step(Kind::loop, {}, e.one);
  loop.bodies = {body};
  loop.loop = std::make_unique<fb::LoopT>();
  loop.loop->trip_count = int(trips);
  loop.loop->condition = int(below);
  loop.loop->carried_from = {next};
  loop.loop->carried_to = {y};
  b.close_sequence();
  return b;
}

ArtifactBuilder picking_loop() {
  ArtifactBuilder b(&kernels());
  const uint32_t m = b.symbol("m", 0, 0);
  const uint32_t zero = b.constant(0), one = b.constant(1), four = b.constant(4), eight = b.constant(8);
  const uint32_t data_bytes = b.instruction(fb::ExprOp::mul, m, four);
  b.input("data", fb::DType::f32, {m});
  b.input("trips", fb::DType::i64, {});
  b.output("out", fb::DType::f32, {one});
  const uint32_t data = b.buffer(input, 0, data_bytes), trips = b.buffer(input, 1, eight),
                 out = b.buffer(output, 0, four);
  const uint32_t turn = b.buffer(temporary, 0, eight), picked = b.buffer(temporary, 0, four),
                 next = b.buffer(temporary, 0, four);
  b.plan().placement = {turn, picked, next};
  b.plan().buffers[picked]->conflicts = {turn};
  b.plan().buffers[next]->conflicts = {turn, picked};
  const uint32_t gather = b.kernel("test_gather", 3, 2, zero), add = b.kernel("test_add", 3, 1, zero);
  b.launch(gather, {data, turn, picked}, {one, m}, one, {2});
  b.launch(add, {out, picked, next}, {one}, one, {2});
  const uint32_t body = b.close_sequence();
  b.step(Kind::fill, {out}, one);
  fb::StepT& loop = b.step(Kind::loop, {}, one);
  loop.bodies = {body};
  loop.loop = std::make_unique<fb::LoopT>();
  loop.loop->trip_count = int(trips);
  loop.loop->iteration = int(turn);
  loop.loop->carried_from = {next};
  loop.loop->carried_to = {out};
  b.close_sequence();
  return b;
}

ArtifactBuilder gathering_twice() {
  ArtifactBuilder b(&kernels());
  const uint32_t n = b.symbol("n", 1, 0), m = b.symbol("m", 0, 0);
  const Extents e = extents(b, n);
  const uint32_t data_bytes = b.instruction(fb::ExprOp::mul, m, b.constant(4)),
                 index_bytes = b.instruction(fb::ExprOp::mul, n, b.constant(8));
  b.input("data", fb::DType::f32, {m});
  b.input("index", fb::DType::i64, {n});
  b.output("y", fb::DType::f32, {n});
  const uint32_t data = b.buffer(input, 0, data_bytes), index = b.buffer(input, 1, index_bytes),
                 y = b.buffer(output, 0, e.bytes), gathered = b.buffer(temporary, 0, e.bytes);
  b.plan().placement = {gathered};
  fb::StepT& gather = b.launch(b.kernel("test_gather", 3, 2, e.zero), {data, index, gathered}, {n, m}, e.tasks, {2});
  gather.source = "Gather_1";
  gather.indices.push_back(std::make_unique<fb::IndexCheckT>());
  gather.indices[0]->operand = 1;
  gather.indices[0]->dtype = fb::DType::i64;
  gather.indices[0]->limit = m;
  b.launch(b.kernel("test_double", 2, 1, e.scratch), {gathered, y}, {n}, e.tasks, {1}).source = "Mul_2";
  b.close_sequence();
  return b;
}

Result<Program> load_model(ArtifactBuilder& builder, const LoadOptions& options) {
  static std::mutex mutex;
  static std::deque<std::vector<uint8_t>> kept;
  const std::lock_guard lock(mutex);
  kept.push_back(builder.write());
  return load(std::span<const uint8_t>(kept.back()), options);
}

}  // namespace gart::test
