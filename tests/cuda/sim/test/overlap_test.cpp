// Launches that may start while the previous launch runs (programmatic edges, sm_90). Tests the faults that the driver
// refuses, and planted bugs that the simulation must find in any order of execution.
#include <cstdlib>

#include "tests/cuda/sim/test/driver.h"

namespace gart_sim {
namespace {

constexpr size_t kBytes = 128;  // elements of every buffer: 32 floats

/// A kernel that reads `in` and weights, and writes `out`. `before` and `after`: its text before and after the wait.
std::string kernel(const char* name, const std::string& before, const std::string& after,
                   const std::string& wait = "gart_griddepcontrol_wait();") {
  return "extern \"C\" __global__ void __launch_bounds__(32) " + std::string(name) +
         "(const float* in, const float* weights, float* out) {\n"
         "  gart_griddepcontrol_launch_dependents();\n"
         "  __shared__ __align__(16) float tile[32];\n"
         "  const int i = threadIdx.x;\n"
         "  float w = 2.0f;\n" +
         before + "\n" + wait + "\n" + after + "\n}\n";
}

const char* const kUse = "out[i] = w * in[i];";
const char* const kSound = "w = weights[i];";

struct Buffers {
  DevicePointer a, b, c, weights;
};

class Overlap : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    cu<void>("gart_sim_set_sm", 90);
    const void* start = load_for(kernel("start", "", "out[i] = weights[i];"), "start");
    start_ = const_cast<void*>(start);
    buffers_ = {allocate(kBytes), allocate(kBytes), allocate(kBytes), allocate(kBytes)};
    host_ = pinned(32);
    for (int i = 0; i < 32; ++i) host_[i] = 3.0f;
    EXPECT_EQ(cu("cuMemcpyHtoDAsync_v2", buffers_.weights, static_cast<const void*>(host_), kBytes, stream_), 0);
    EXPECT_EQ(cu("cuMemsetD32Async", buffers_.c, 0u, size_t{32}, stream_), 0);
    EXPECT_EQ(synchronize(), 0);
  }
  void TearDown() override {
    cu<void>("gart_sim_set_sm", 90);
    if (!lost_) {
      for (const DevicePointer p : {buffers_.a, buffers_.b, buffers_.c, buffers_.weights}) free_device(p);
      EXPECT_EQ(cu("cuMemFreeHost", static_cast<void*>(host_)), 0);
    }
    DriverTest::TearDown();
    cu<void>("gart_sim_set_sm", 80);
  }

  void* load_for(const std::string& text, const char* name) { return load(text, name, {90}); }

  static NodeParams launch_of(void* function, void** pointers) {
    NodeParams params = GraphBuilder::params(kKernelNode);
    params.kernel = {function, {1, 1, 1}, {32, 1, 1}, 0, pointers, nullptr, nullptr, nullptr};
    return params;
  }

  /// Adds a node that follows `after` by one edge, programmatic or full. Stores the error in error_.
  void* add(GraphBuilder& graph, void* function, void* after, bool overlaps, DevicePointer in, DevicePointer out) {
    DevicePointer weights = buffers_.weights;
    void* pointers[] = {&in, &weights, &out, nullptr};
    NodeParams params = launch_of(function, pointers);
    const EdgeData edge = {static_cast<unsigned char>(overlaps), 0, static_cast<unsigned char>(overlaps), {}};
    void* node = nullptr;
    error_ = cu("cuGraphAddNode_v2", &node, graph.graph(), &after, &edge, size_t{after != nullptr}, &params);
    return node;
  }

  /// Runs the graph in several orders, until it fails.
  int run(GraphBuilder& graph) {
    void* exec = graph.instantiate();
    int error = 0;
    for (const char* order : {"first_in", "last_in", "random:3", "delay:0", "delay:1", "delay:2"}) {
      if (error) break;
      EXPECT_EQ(cu("gart_sim_set_order", order), 1);
      EXPECT_EQ(cu("cuGraphLaunch", exec, stream_), 0);
      error = synchronize();
    }
    if (error) {
      lost_ = true;
      is_lost();
    } else {
      EXPECT_EQ(cu("cuGraphExecDestroy", exec), 0);
    }
    return error;
  }

  float result(DevicePointer from) {
    EXPECT_EQ(cu("cuMemcpyDtoHAsync_v2", static_cast<void*>(host_), from, kBytes, stream_), 0);
    EXPECT_EQ(synchronize(), 0);
    return host_[31];
  }

  /// start -> a, then (programmatic edge) `text` a -> b, then (an edge of the given kind) b -> c.
  int run_chain(const std::string& text, bool last_overlaps) {
    void* const middle = load_for(text, "middle");
    void* const end = load_for(kernel("end", kSound, "out[i] = w * in[i];"), "end");
    GraphBuilder graph(context_);
    void* first = add(graph, start_, nullptr, false, buffers_.weights, buffers_.a);
    void* second = add(graph, middle, first, true, buffers_.a, buffers_.b);
    EXPECT_EQ(error_, 0);
    add(graph, end, second, last_overlaps, buffers_.b, buffers_.c);
    EXPECT_EQ(error_, 0);
    return run(graph);
  }

  void* start_ = nullptr;
  Buffers buffers_ = {};
  float* host_ = nullptr;
  int error_ = 0;
  bool lost_ = false;
};

TEST_F(Overlap, SoundKernelsRunInEveryOrder) {
  EXPECT_EQ(run_chain(kernel("middle", kSound, kUse), true), 0);
  EXPECT_EQ(result(buffers_.c), 27.0f);
  EXPECT_EQ(cu<uint64_t>("gart_sim_count", "programmatic_edges"), 2u);
}

TEST_F(Overlap, WeightsMayBeOnTheirWayToSharedMemory) {
  const std::string copy = "if (i < 8) gart_cp_async_16(tile + 4 * i, weights + 4 * i, 16); gart_cp_async_commit();";
  const std::string use = "gart_cp_async_wait<0>(); __syncthreads(); out[i] = tile[i] * in[i];";
  EXPECT_EQ(run_chain(kernel("middle", copy, use), false), 0);
  EXPECT_EQ(result(buffers_.c), 27.0f);
}

/// Later nodes may read the first one's results, because every launch in between has waited.
TEST_F(Overlap, ChainsOfLaunchesThatWaitKeepTheOrder) {
  void* const middle = load_for(kernel("middle", kSound, kUse), "middle");
  GraphBuilder graph(context_);
  void* node = add(graph, start_, nullptr, false, buffers_.weights, buffers_.a);
  node = add(graph, middle, node, true, buffers_.weights, buffers_.b);
  node = add(graph, middle, node, true, buffers_.weights, buffers_.b);
  add(graph, middle, node, true, buffers_.a, buffers_.c);
  EXPECT_EQ(run(graph), 0);
  EXPECT_EQ(result(buffers_.c), 9.0f);
}

TEST_F(Overlap, UpdatesOfTheExecutableKeepTheEdges) {
  void* const middle = load_for(kernel("middle", "w = in[i];", "out[i] = w;"), "middle");
  GraphBuilder graph(context_);
  void* first = add(graph, start_, nullptr, false, buffers_.weights, buffers_.a);
  void* second = add(graph, middle, first, true, buffers_.weights, buffers_.b);
  void* exec = graph.instantiate();
  EXPECT_EQ(cu("cuGraphLaunch", exec, stream_), 0);
  EXPECT_EQ(synchronize(), 0);
  EXPECT_EQ(result(buffers_.b), 3.0f);
  DevicePointer in = buffers_.a, out = buffers_.c;
  void* pointers[] = {&in, &in, &out, nullptr};
  NodeParams params = launch_of(middle, pointers);
  EXPECT_EQ(cu("cuGraphExecNodeSetParams", exec, second, &params), 0);
  EXPECT_EQ(cu("cuGraphLaunch", exec, stream_), 0);
  EXPECT_EQ(synchronize(), kLaunchFailed);
  expect_report("graph_race");
  lost_ = true;
  is_lost();
}

struct PlantedBug {
  const char* name;
  std::string middle;
  bool last_overlaps = false;
};
class OverlapBugs : public Overlap, public testing::WithParamInterface<PlantedBug> {};
INSTANTIATE_TEST_SUITE_P(
    Planted, OverlapBugs,
    testing::Values(
        PlantedBug{"reads_before_it_waits", kernel("middle", "w = in[i];", "out[i] = w;")},
        PlantedBug{
            "copies_before_it_waits",
            kernel("middle", "if (i < 8) gart_cp_async_16(tile + 4 * i, in + 4 * i, 16); gart_cp_async_commit();",
                   "gart_cp_async_wait<0>(); __syncthreads(); out[i] = tile[i];")},
        PlantedBug{"writes_before_it_waits", kernel("middle", "const_cast<float*>(in)[i] = 1.0f;", "out[i] = w;")},
        PlantedBug{"atomic_before_it_waits",
                   kernel("middle", "atomicAdd(const_cast<float*>(in) + i, 1.0f);", "out[i] = w;")},
        PlantedBug{"never_waits", kernel("middle", "", kUse, "")},
        PlantedBug{"half_of_the_threads_wait", kernel("middle", "", kUse, "if (i < 16) gart_griddepcontrol_wait();")},
        PlantedBug{"waits_behind_its_reads", kernel("middle", kUse, "gart_griddepcontrol_wait();", "")}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(OverlapBugs, are_found_in_every_order) {
  EXPECT_EQ(run_chain(GetParam().middle, false), kLaunchFailed);
  expect_report("graph_race");
}

/// The second launch does not touch the results of the first one, but the third launch relies on the second one's wait.
class BrokenOrder : public Overlap, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Edges, BrokenOrder, testing::Bool());

TEST_P(BrokenOrder, OfALaunchThatDoesNotWaitIsFoundAtItsSuccessor) {
  void* const middle = load_for(kernel("middle", "", "out[i] = weights[i];", ""), "middle");
  void* const end = load_for(kernel("end", kSound, kUse), "end");
  GraphBuilder graph(context_);
  void* node = add(graph, start_, nullptr, false, buffers_.weights, buffers_.a);
  node = add(graph, middle, node, true, buffers_.weights, buffers_.b);
  add(graph, end, node, GetParam(), buffers_.a, buffers_.c);
  EXPECT_EQ(run(graph), kLaunchFailed);
  expect_report("graph_race");
}

/// If only the overlapped launch is ordered after an operation, the operation may also run when the successor starts.
TEST_F(Overlap, AStartIsNotBehindWhatItsPredecessorIsBehind) {
  void* const end = load_for(kernel("end", "w = in[i];", "out[i] = w;"), "end");
  void* const middle = load_for(kernel("middle", kSound, kUse), "middle");
  GraphBuilder graph(context_);
  void* node = add(graph, start_, nullptr, false, buffers_.weights, buffers_.a);
  node = add(graph, middle, node, false, buffers_.weights, buffers_.b);
  add(graph, end, node, true, buffers_.a, buffers_.c);
  EXPECT_EQ(run(graph), kLaunchFailed);
  expect_report("graph_race");
}

/// A full edge to the launch itself also orders its start.
TEST_F(Overlap, AFullEdgeBesidesOrdersTheStart) {
  void* const end = load_for(kernel("end", "w = in[i];", "out[i] = w;"), "end");
  void* const middle = load_for(kernel("middle", kSound, kUse), "middle");
  GraphBuilder graph(context_);
  void* first = add(graph, start_, nullptr, false, buffers_.weights, buffers_.a);
  void* second = add(graph, middle, first, true, buffers_.weights, buffers_.b);
  void* third = add(graph, end, second, true, buffers_.a, buffers_.c);
  const EdgeData full = {0, 0, 0, {}};
  EXPECT_EQ(cu("cuGraphAddDependencies_v2", graph.graph(), static_cast<void* const*>(&first),
               static_cast<void* const*>(&third), &full, size_t{1}),
            0);
  EXPECT_EQ(run(graph), 0);
  EXPECT_EQ(result(buffers_.c), 3.0f);
}

struct WrongEdge {
  const char* name;
  EdgeData edge;
  int error = kInvalidValue;
};
class WrongEdges : public Overlap, public testing::WithParamInterface<WrongEdge> {};
INSTANTIATE_TEST_SUITE_P(Planted, WrongEdges,
                         testing::Values(WrongEdge{"reserved_byte", {1, 0, 1, {0, 0, 0, 0, 1}}},
                                         WrongEdge{"reserved_byte_of_a_full_edge", {0, 0, 0, {1, 0, 0, 0, 0}}},
                                         WrongEdge{"to_port", {1, 1, 1, {}}}, WrongEdge{"from_port_3", {3, 0, 1, {}}},
                                         WrongEdge{"programmatic_from_port_0", {0, 0, 1, {}}},
                                         WrongEdge{"full_from_port_1", {1, 0, 0, {}}},
                                         WrongEdge{"type_2", {1, 0, 2, {}}}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_P(WrongEdges, AreRefused) {
  GraphBuilder graph(context_);
  void* const first = add(graph, start_, nullptr, false, buffers_.weights, buffers_.a);
  DevicePointer weights = buffers_.weights, out = buffers_.b;
  void* pointers[] = {&weights, &weights, &out, nullptr};
  NodeParams params = launch_of(start_, pointers);
  void* node = nullptr;
  EXPECT_EQ(cu("cuGraphAddNode_v2", &node, graph.graph(), static_cast<void* const*>(&first), &GetParam().edge,
               size_t{1}, &params),
            GetParam().error);
  expect_report("api_misuse");
}

TEST_F(Overlap, OnlyKernelsOnlyOutsideOfConditionalsOnlyFromSm90On) {
  GraphBuilder graph(context_);
  void* const first = add(graph, start_, nullptr, false, buffers_.weights, buffers_.a);
  const EdgeData edge = {1, 0, 1, {}};
  NodeParams fill = GraphBuilder::params(kMemsetNode);
  fill.memset = {buffers_.b, 0, 0, 4, 32, 1, context_};
  void* node = nullptr;
  EXPECT_EQ(cu("cuGraphAddNode_v2", &node, graph.graph(), static_cast<void* const*>(&first), &edge, size_t{1}, &fill),
            kInvalidValue);
  expect_report("api_misuse");
  unsigned long long handle = 0;
  EXPECT_EQ(cu("cuGraphConditionalHandleCreate", &handle, graph.graph(), context_, 1u, 1u), 0);
  NodeParams conditional = GraphBuilder::params(kConditionalNode);
  conditional.conditional = {handle, kIf, 1, nullptr, context_};
  graph.add(conditional, {first});
  GraphBuilder body(context_, conditional.conditional.bodies[0]);
  node = add(body, start_, nullptr, false, buffers_.weights, buffers_.b);
  add(body, start_, node, true, buffers_.weights, buffers_.b);
  EXPECT_EQ(error_, kNotSupported);
  expect_report("api_misuse");
  cu<void>("gart_sim_set_sm", 80);
  add(graph, start_, first, true, buffers_.weights, buffers_.b);
  EXPECT_EQ(error_, kNotSupported);
  expect_report("api_misuse");
}

}  // namespace
}  // namespace gart_sim
