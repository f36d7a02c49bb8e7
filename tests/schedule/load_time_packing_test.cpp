// The weights in the file, the weights that GPUs make from them at load, and the report about weights stored twice.
#include "compiler/weights/load_time_packing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/plan/rounded_constant.h"
#include "compiler/weights/weights_section.h"

namespace gcg::test {
namespace {

TensorRef weights(std::vector<int64_t> shape) {
  Tensor t(DType::f32, std::move(shape));
  for (int64_t i = 0; i < t.elements(); ++i) t.set_double(i, double(i % 251));
  return std::make_shared<const Tensor>(std::move(t));
}

/// The tensor that folding computes from `from` by the operator.
TensorRef made(const OpDef& by, const std::map<std::string, Attribute>& attributes, const TensorRef& from) {
  Graph graph;
  const ValueId constant = graph.add_constant("c", *from);
  graph.outputs.push_back(graph.node(graph.add_node(by, "n", {constant}, 1, attributes)).outputs[0]);
  infer_graph(graph);
  fold_constants(graph);
  Tensor t = *graph.value(graph.outputs[0]).constant;
  t.set_rearrangement(std::make_shared<const Rearrangement>(Rearrangement{&by, attributes, from}));
  return std::make_shared<const Tensor>(std::move(t));
}

TensorRef transposed(const TensorRef& from) {
  return made(op("Transpose"), {{"perm", std::vector<int64_t>{1, 0}}}, from);
}
TensorRef packed(const TensorRef& from) { return made(op("PackMatMul", "gart"), {}, from); }

Plan plan_with(DeviceClass device, const std::vector<TensorRef>& constants) {
  Plan plan;
  plan.device = device;
  for (size_t i = 0; i < constants.size(); ++i)
    plan.buffers.push_back({Buffer::Kind::constant, 0, Dim(constants[i]->bytes()), constants[i], concat("w", i)});
  return plan;
}

struct Packing {
  explicit Packing(std::vector<Plan> given)
      : plans(std::move(given)), sources(plan_load_time_packing(plans)), section(place_weights(plans, sources)) {}

  bool makes(const TensorRef& t) const {
    return std::any_of(plans.begin(), plans.end(), [&](const Plan& plan) {
      return std::any_of(plan.buffers.begin(), plan.buffers.end(),
                         [&](const Buffer& b) { return b.kind == Buffer::Kind::packed && b.constant == t; });
    });
  }
  /// The number of buffers that weight relayout at load writes.
  size_t made() const {
    const auto& all = plans.back().buffers;
    return static_cast<size_t>(
        std::count_if(all.begin(), all.end(), [](const Buffer& b) { return b.kind == Buffer::Kind::packed; }));
  }
  int64_t twice() const {
    int64_t bytes = 0;
    for (const StoredTwice& s : section.stored_twice()) bytes += s.bytes;
    return bytes;
  }

  std::vector<Plan> plans;
  std::set<const Tensor*> sources;
  WeightsSection section;
};

TEST(LoadTimePacking, AGpusOwnFormsAreMadeFromOneOfThem) {
  const TensorRef table = weights({128, 80}), turned = transposed(table);
  for (const bool first : {true, false}) {
    Packing p({plan_with(DeviceClass::cuda, first ? std::vector{table, turned} : std::vector{turned, table})});
    ASSERT_EQ(p.plans.size(), 2u);
    EXPECT_TRUE(p.plans[1].is_load_time_packing);
    EXPECT_TRUE(p.makes(turned) && !p.makes(table));
    EXPECT_EQ(p.sources, std::set<const Tensor*>{table.get()});
    EXPECT_EQ(p.twice(), 0);
    EXPECT_EQ(static_cast<int64_t>(p.section.bytes()), table->bytes());
  }
}

TEST(LoadTimePacking, WhatACpuReadsIsTheSource) {
  const TensorRef table = weights({128, 80}), block = packed(transposed(table)),
                  rounded = rounded_constant(table, DType::f16);
  Packing p({plan_with(DeviceClass::cuda, {table, rounded}), plan_with(DeviceClass::cpu, {block})});
  EXPECT_TRUE(p.makes(table) && p.makes(rounded));
  EXPECT_EQ(p.sources, std::set<const Tensor*>{block.get()});
  EXPECT_EQ(p.twice(), 0);
}

TEST(LoadTimePacking, RoundedOnesComeFromTheirOwnTypeOrAWiderOne) {
  const TensorRef table = weights({128, 160}), turned = transposed(table);
  const TensorRef f16 = rounded_constant(table, DType::f16), f16_turned = rounded_constant(turned, DType::f16),
                  bf16_turned = rounded_constant(turned, DType::bf16);
  Packing same({plan_with(DeviceClass::cuda, {f16_turned, f16})});
  EXPECT_TRUE(same.makes(f16_turned) && !same.makes(f16));
  EXPECT_EQ(same.twice(), 0);

  Packing other({plan_with(DeviceClass::cuda, {f16, bf16_turned})});
  EXPECT_EQ(other.plans.size(), 1u);
  EXPECT_EQ(other.twice(), f16->bytes());
  ASSERT_EQ(other.section.stored_twice().size(), 1u);
  EXPECT_EQ(other.section.stored_twice()[0].name, "w0");

  Packing wider({plan_with(DeviceClass::cuda, {f16, bf16_turned, turned})});
  EXPECT_TRUE(wider.makes(f16) && wider.makes(bf16_turned) && !wider.makes(turned));
  EXPECT_EQ(wider.twice(), 0);
}

TEST(LoadTimePacking, EqualOnesOfOtherShapesAreTheSame) {
  const TensorRef table = weights({128, 80}), flat = weights({80, 128});
  Packing p({plan_with(DeviceClass::cuda, {table, transposed(flat), transposed(table)})});
  EXPECT_EQ(p.made(), 2u);
  EXPECT_EQ(p.twice(), 0);
}

TEST(LoadTimePacking, EveryPlansCopiesAreOne) {
  const TensorRef table = weights({128, 160});
  const auto half = [&] { return rounded_constant(table, DType::f16); };
  const auto turned = [&] { return rounded_constant(transposed(table), DType::f16); };
  Packing p({plan_with(DeviceClass::cuda, {half(), turned()}), plan_with(DeviceClass::cuda, {half(), turned()})});
  EXPECT_EQ(p.made(), 1u);
  EXPECT_EQ(p.sources.size(), 2u);  // one source per plan
  EXPECT_EQ(p.twice(), 0);
}

TEST(LoadTimePacking, SmallOnesAndThoseOfCpusAreStoredTwice) {
  const TensorRef small = weights({16, 8}), table = weights({128, 96}), block = packed(table);
  Packing p({plan_with(DeviceClass::cuda, {small, transposed(small)}), plan_with(DeviceClass::cpu, {table, block})});
  EXPECT_EQ(p.plans.size(), 2u);
  const std::vector<StoredTwice> twice = p.section.stored_twice();
  ASSERT_EQ(twice.size(), 2u);  // most bytes first
  EXPECT_EQ(twice[0].bytes, table->bytes());
  EXPECT_EQ(twice[1].bytes, small->bytes());
}

}  // namespace
}  // namespace gcg::test
