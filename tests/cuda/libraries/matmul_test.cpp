// Matrix products by cuBLASLt, compared with the CPU's.
#include "tests/cuda/libraries/bound_model.h"
#include "tests/cuda/sim/end_to_end/simulation.h"

namespace gart::test {
namespace {

struct Product {
  const char* name;
  std::string gir;
  std::vector<Shape> inputs;
  uint64_t calls;  // number of cublasLtMatmul calls in one run; 0: the library cannot do all of the kernel's work
};

const Product kProducts[] = {
    {"BiasAndRelu",
     R"(graph g(%x: f32[5,24]) -> (%y) {
       constant %w: f32[24,36] = random(1)
       constant %b: f32[36] = random(2)
       %p = MatMul(%x, %w)
       %s = Add(%p, %b)
       %y = Relu(%s)
     })",
     {{5, 24}},
     1},
    {"GeluByTanh",
     R"(graph g(%x: f32[7,16]) -> (%y) {
       constant %w: f32[16,20] = random(1)
       %p = MatMul(%x, %w)
       %y = Gelu(%p) {approximate = "tanh"}
     })",
     {{7, 16}},
     1},
    {"GeluByErfIsOurs",
     R"(graph g(%x: f32[7,16]) -> (%y) {
       constant %w: f32[16,20] = random(1)
       %p = MatMul(%x, %w)
       %y = Gelu(%p)
     })",
     {{7, 16}},
     0},
    {"ResidualAndBias",
     R"(graph g(%x: f32[3,4,16], %r: f32[3,4,20]) -> (%y) {
       constant %w: f32[16,20] = random(1)
       constant %b: f32[20] = random(3)
       %p = MatMul(%x, %w)
       %s = Add(%p, %b)
       %y = Add(%r, %s)
     })",
     {{3, 4, 16}, {3, 4, 20}},
     1},
    {"Scaled",
     R"(graph g(%x: f32[5,8], %w: f32[8,9]) -> (%y) {
       constant %c: f32[] = {0.125}
       %p = MatMul(%x, %w)
       %y = Mul(%p, %c)
     })",
     {{5, 8}, {8, 9}},
     1},
    {"Transposed",
     R"(graph g(%x: f32[8,5], %w: f32[9,8]) -> (%y) {
       %a = Transpose(%x) {perm = [1,0]}
       %b = Transpose(%w) {perm = [1,0]}
       %y = MatMul(%a, %b)
     })",
     {{8, 5}, {9, 8}},
     1},
    {"Batches",
     R"(graph g(%x: f32[6,5,8], %w: f32[6,9,8]) -> (%y) {
       %b = Transpose(%w) {perm = [0,2,1]}
       %y = MatMul(%x, %b)
     })",
     {{6, 5, 8}, {6, 9, 8}},
     1},
    {"OneRow",
     R"(graph g(%x: f32[1,40], %w: f32[40,9]) -> (%y) {
       %y = MatMul(%x, %w)
     })",
     {{1, 40}, {40, 9}},
     1},
    {"HeadsInRowsAreTwoBatchAxes",
     R"(graph g(%x: f32[2,5,3,8], %w: f32[2,6,3,8]) -> (%y) {
       %a = Transpose(%x) {perm = [0,2,1,3]}
       %b = Transpose(%w) {perm = [0,2,3,1]}
       %y = MatMul(%a, %b)
     })",
     {{2, 5, 3, 8}, {2, 6, 3, 8}},
     0},
    {"ChainOfSymbolicRows",
     R"(graph g(%x: f32[n,24]) -> (%y) {
       constant %w: f32[24,36] = random(1)
       constant %b: f32[36] = random(2)
       constant %v: f32[36,10] = random(4)
       %p = MatMul(%x, %w)
       %s = Add(%p, %b)
       %h = Relu(%s)
       %y = MatMul(%h, %v)
     })",
     {{11, 24}},
     2},
    {"BranchesOfTheModel",
     R"(graph g(%x: f32[5,8], %w: f32[8,9], %v: f32[8,9]) -> (%y) {
       %p = MatMul(%x, %w)
       %q = MatMul(%x, %v)
       %s = Softmax(%q) {axis = -1}
       %y = Mul(%p, %s)
     })",
     {{5, 8}, {8, 9}, {8, 9}},
     1},
};

class MatMul : public WithLibraries, public testing::WithParamInterface<Product> {};
INSTANTIATE_TEST_SUITE_P(Products, MatMul, testing::ValuesIn(kProducts),
                         [](const auto& test) { return test.param.name; });

TEST_P(MatMul, EqualsTheCpus) {
  const Product& product = GetParam();
  const auto data = noise(product.inputs);
  const auto inputs = views(data, product.inputs);
  for (const bool fallbacks : {false, true}) {
    const auto artifact = compile_bound(product.gir, {{"cublasLt"}, fallbacks});
    gart_sim::sim_forget_counts();
    const Program program = *load_on(artifact, "cuda");
    auto invocation = program.new_invocation();
    for (size_t i = 0; i < inputs.size(); ++i) ASSERT_TRUE(invocation->set_input(i, inputs[i]));
    for (const char* order : {"first_in", "last_in", "random:3", "delay:1", "delay:2"}) {
      gart_sim::sim_set_order(order);
      const Result<void> run = invocation->run();
      ASSERT_TRUE(run) << run.error().message;
      expect_close(floats(invocation->output(0)), on_cpu(artifact, inputs));
    }
    EXPECT_GE(gart_sim::sim_count("cublasLtMatmul"), product.calls);
    EXPECT_EQ(gart_sim::sim_count("cublasLtMatmul") > 0, product.calls > 0);
    EXPECT_EQ(gart_sim::sim_count("graph_launches"), 5u);
  }
}

/// In 16-bit precision, a chain of products reads and writes 16-bit numbers; the first product reads the caller's f32
/// rows.
TEST_F(WithLibraries, PrecisionsHold) {
  constexpr const char* kChain = R"(graph g(%x: f32[8,64]) -> (%y) {
    constant %u: f32[64,64] = random(1)
    constant %v: f32[64,64] = random(2)
    constant %w: f32[64,64] = random(3)
    %p = MatMul(%x, %u)
    %h = Relu(%p)
    %q = MatMul(%h, %v)
    %i = Relu(%q)
    %y = MatMul(%i, %w)
  })";
  const std::vector<Shape> shapes = {{8, 64}};
  const auto data = noise(shapes);
  const auto inputs = views(data, shapes);
  for (const auto precision : {gcg::Precision::tf32, gcg::Precision::fp16, gcg::Precision::bf16}) {
    const auto artifact = compile_bound(kChain, {{"cublasLt"}, false}, precision);
    gart_sim::sim_forget_counts();
    auto out = load_on(artifact, "cuda")->run(std::span<const TensorView>(inputs));
    ASSERT_TRUE(out) << out.error().message;
    expect_close(floats(out->at(0)), on_cpu(artifact, inputs), precision == gcg::Precision::bf16 ? 3e-2 : 3e-3);
    EXPECT_EQ(gart_sim::sim_count("cublasLtMatmul"), precision == gcg::Precision::tf32 ? 3u : 2u);
  }
}

}  // namespace
}  // namespace gart::test
