// Behaviour without a suitable GPU, without memory, after the device is lost, and when any call fails.
#include "runtime/cuda/driver/driver.h"
#include "tests/cuda/runtime/cuda_models.h"
#include "tests/cuda/runtime/sim.h"

namespace gart {
namespace {

using test::floats;
using test::ramp;
using test::view;

class CudaError : public test::OnSim {
 protected:
  static Result<Program> load(test::ArtifactBuilder builder, const LoadOptions& options = {}) {
    return test::load_model(builder, options);
  }
  static void expect_error(const Result<Program>& result, ErrorCode code, const std::string& message) {
    ASSERT_FALSE(result.ok()) << message;
    EXPECT_EQ(result.error().message, message);
    EXPECT_EQ(int(result.error().code), int(code));
  }
};
using CudaChoice = CudaError;

TEST_F(CudaChoice, TheBestDeviceOrTheOneNamed) {
  const auto model = [] { return test::with_cuda(test::add_and_double()); };
  EXPECT_EQ(load(model())->device(), "cuda:0");
  EXPECT_EQ(load(model(), {.device = "cuda"})->device(), "cuda:0");
  EXPECT_EQ(load(model(), {.device = "cuda:1"})->device(), "cuda:1");
  EXPECT_EQ(load(model(), {.device = "cpu"})->device(), "cpu");
  EXPECT_EQ(load(model(), {.target = "sm_80"})->device(), "cuda:0");
  const std::string cpu = load(model(), {.device = "cpu"})->target();
  EXPECT_EQ(load(model(), {.target = cpu})->device(), "cpu");
  sim.set_sm(86);  // code for 80 runs there
  EXPECT_EQ(load(model())->device(), "cuda:0");
  sim.set_sm(75);
  EXPECT_EQ(load(model())->device(), "cpu");
}

TEST_F(CudaChoice, SaysWhyNot) {
  const auto model = [] { return test::on_cuda(test::add_and_double()); };
  expect_error(load(model(), {.device = "cuda:2"}), ErrorCode::unsupported,
               "there is no device 'cuda:2', only cuda:0 to cuda:1");
  expect_error(load(model(), {.device = "cuda:x"}), ErrorCode::unsupported,
               "there is no device 'cuda:x', only cuda:0 to cuda:1");
  const auto both = [] { return test::with_cuda(test::add_and_double()); };
  const std::string cpu = load(both(), {.device = "cpu"})->target();
  expect_error(load(both(), {.device = "cuda", .target = cpu}), ErrorCode::unsupported,
               "the model has no GPU code for target '" + cpu + "', only for: sm_80");
  expect_error(load(both(), {.device = "cpu", .target = "sm_80"}), ErrorCode::unsupported,
               "the model has no CPU code for target 'sm_80', only for: " + cpu);
  expect_error(load(both(), {.target = "sm_90"}), ErrorCode::unsupported,
               "the model has no CPU code for target 'sm_90', only for: " + cpu +
                   "; on GPUs: the model has no GPU code for target 'sm_90', only for: sm_80");
  sim.set_sm(90);
  expect_error(load(model(), {.device = "cuda:1"}), ErrorCode::unsupported,
               "cuda:1: the GPU is an sm_90; the model has code for sm_80");
  Result<Program> any = load(model());
  ASSERT_FALSE(any);
  EXPECT_NE(any.error().message.find("; on GPUs: cuda:0: the GPU is an sm_90; the model has code for sm_80; cuda:1: "),
            std::string::npos)
      << any.error().message;
  sim.set_sm(80);
  test::ArtifactBuilder newer = model();
  newer.content.manifest.targets[0]->driver = 13010;
  expect_error(load(std::move(newer), {.device = "cuda:0"}), ErrorCode::unsupported,
               "cuda:0: its code for sm_80 needs a driver for CUDA 13.1 or newer, this one is for 13.0");
}

TEST_F(CudaChoice, AnUnsoundModuleIsRefused) {
  test::ArtifactBuilder model = test::on_cuda(test::add_and_double());
  model.plan().kernels[1]->symbol = "no_such_kernel";
  expect_error(load(std::move(model)), ErrorCode::unsupported,
               "cuModuleGetFunction failed on cuda:0 in no_such_kernel: named symbol not found (CUDA_ERROR_NOT_FOUND)");
  model = test::on_cuda(test::add_and_double());
  model.plan().kernels[1]->threads = 1024;  // its launch bounds allow 16 threads
  expect_error(load(std::move(model)), ErrorCode::unsupported,
               "kernel 'test_double' would have 1024 threads per block on cuda:0, where it can have 16");
  model = test::on_cuda(test::add_and_double());
  model.plan().kernels[0]->shared = 300 << 10;
  expect_error(load(std::move(model)), ErrorCode::unsupported,
               "kernel 'test_add' needs 307200 bytes of shared memory, cuda:0 has 166912");
  model = test::on_cuda(test::add_and_double());
  model.content.code[0].assign(model.content.code[0].size(), 'x');
  expect_error(load(std::move(model)), ErrorCode::invalid_artifact,
               "the module of kernel 'test_add' is not terminated");
  sim.reports();
}

/// The driver is not told a module's size, so the sizes in the module's headers must be right.
TEST_F(CudaChoice, AModuleCutShortIsRefused) {
  for (const size_t cut : {size_t{1}, size_t{64}, size_t{4096}}) {
    test::ArtifactBuilder model = test::on_cuda(test::add_and_double());
    for (auto& kernel : model.plan().kernels) kernel->size -= cut;
    expect_error(load(std::move(model)), ErrorCode::invalid_artifact,
                 "the module of kernel 'test_add' is not terminated");
  }
}

TEST_F(CudaError, ADeadDeviceStaysDeadForItsProgramAlone) {
  const auto model = [] { return test::on_cuda(test::add_and_double()); };
  {
    const Program program = *load(model(), {.device = "cuda:0"}), other = *load(model(), {.device = "cuda:1"});
    const std::vector<float> x = ramp(100);
    const std::vector<TensorView> inputs = {view(x), view(x)};
    auto waiting = program.new_invocation();
    ASSERT_TRUE(program.run(inputs));
    sim.forget_counts();
    sim.fail("kernels:2:700");
    auto out = program.run(inputs);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, ErrorCode::device_lost);
    EXPECT_EQ(out.error().message,
              "the device is lost: cuStreamSynchronize failed on cuda:0 in one of the 2 steps 'test_add' to "
              "'test_double' (load with `blocking` to see which): an illegal memory access was encountered "
              "(CUDA_ERROR_ILLEGAL_ADDRESS)");
    sim.fail("");
    sim.forget_counts();
    for (int i = 0; i < 2; ++i) {
      auto again = program.run(inputs);
      ASSERT_FALSE(again);
      EXPECT_EQ(again.error().message, out.error().message);
      auto invocation = program.new_invocation();
      ASSERT_FALSE(invocation);
      EXPECT_EQ(invocation.error().code, ErrorCode::device_lost);
      for (size_t input = 0; input < 2; ++input) ASSERT_TRUE(waiting->set_input(input, inputs[input]));
      Result<void> run = waiting->run_async(nullptr);
      ASSERT_FALSE(run);
      EXPECT_EQ(run.error().message, out.error().message);
    }
    EXPECT_EQ(sim.count("cuGraphLaunch"), 0u);
    std::vector<float> expected = x;
    for (float& value : expected) value *= 4;
    EXPECT_EQ(floats(other.run(inputs)->at(0)), expected);
  }
  sim.reports();
  sim.revive();
}

/// Allocations that fail, a context that other code destroyed, and a kernel with a wrong address.
TEST_F(CudaError, WhatTheDeviceDoesNotSurviveIsItsLoss) {
  const std::vector<float> x = ramp(100);
  const auto is_lost = [&](const std::string& failure) {
    const Program program = *load(test::on_cuda(test::add_and_double()), {.device = "cuda:0"});
    sim.forget_counts();
    sim.fail(failure.c_str());
    EXPECT_FALSE(program.run(std::vector<TensorView>{view(x), view(x)})) << failure;
    sim.fail("");
    auto again = program.run(std::vector<TensorView>{view(x), view(x)});
    return !again && again.error().code == ErrorCode::device_lost;
  };
  for (const char* code : {"214", "220", "709", "719", "999"}) {
    EXPECT_TRUE(is_lost(std::string("cuGraphLaunch:1:") + code)) << code;
    sim.revive();
  }
  EXPECT_FALSE(is_lost("cuGraphLaunch:1:801"));
}

TEST_F(CudaError, MemoryRunsOutInWords) {
  sim.set_memory(64 << 10);
  const Program program = *load(test::on_cuda(test::add_and_double()));
  const std::vector<float> small = ramp(100), big = ramp(10000);
  EXPECT_TRUE(program.run(std::vector<TensorView>{view(small), view(small)}));
  auto out = program.run(std::vector<TensorView>{view(big), view(big)});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(out.error().message.find("no memory for 40000 bytes: "), 0u) << out.error().message;
  EXPECT_NE(out.error().message.find(" of 65536 bytes are free on cuda:0"), std::string::npos) << out.error().message;
  EXPECT_TRUE(program.run(std::vector<TensorView>{view(small), view(small)}));
  sim.set_memory(1 << 20);
  EXPECT_TRUE(program.run(std::vector<TensorView>{view(big), view(big)}));
}

/// The simulation reports any use of a destroyed stream.
TEST_F(CudaError, ARunThatFailsForgetsTheCallersStream) {
  const Program program = load(test::on_cuda(test::add_and_double())).value();
  const std::vector<float> x = ramp(100);
  Result<Invocation> invocation = program.new_invocation();
  for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(invocation->set_input(i, view(x)));
  ASSERT_TRUE(invocation->run());
  const cuda::Driver& driver = *cuda::open_driver().value();
  cuda::CUcontext context = nullptr;
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), cuda::CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSetCurrent(context), cuda::CUDA_SUCCESS);
  for (const char* failure : {"cuGraphLaunch:1:2", "cuEventRecord:1:2"}) {
    cuda::CUstream stream = nullptr;
    ASSERT_EQ(driver.cuStreamCreateWithPriority(&stream, 1, 0), cuda::CUDA_SUCCESS);
    sim.forget_counts();
    sim.fail(failure);
    Result<void> run = invocation->run_async(stream);
    sim.fail("");
    ASSERT_FALSE(run) << failure;
    EXPECT_EQ(driver.cuStreamDestroy_v2(stream), cuda::CUDA_SUCCESS);
    ASSERT_TRUE(invocation->run()) << failure;
    std::vector<float> expected = x;
    for (float& value : expected) value *= 4;
    EXPECT_EQ(floats(invocation->output(0)), expected);
  }
  EXPECT_EQ(driver.cuCtxSetCurrent(nullptr), cuda::CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), cuda::CUDA_SUCCESS);
}

TEST_F(CudaError, WeightsThatDoNotFit) {
  test::ArtifactBuilder model = test::on_cuda(test::doubling_loop());
  model.content.weights.resize(100000);
  sim.set_memory(16 << 10);
  EXPECT_TRUE(load(std::move(model)));  // only weights that the plans use are uploaded
  sim.set_memory(1);
  expect_error(load(test::on_cuda(test::doubling_loop())), ErrorCode::out_of_memory,
               "no memory for 64 bytes: 1 of 1 bytes are free on cuda:0");
}

/// Loads and runs a model in every way. Each failure must be an Error.
std::string use_everything(test::ArtifactBuilder model, size_t inputs) {
  Result<Program> program = test::load_model(model, {.device = "cuda:0"});
  if (!program) return program.error().message;
  const std::vector<float> x = ramp(100, -20), longer = ramp(200, -20);
  const std::vector<TensorView> views(inputs, view(x));
  Result<std::vector<Tensor>> first = program->run(views);
  if (!first) return first.error().message;
  Result<Invocation> invocation = program->new_invocation();
  if (!invocation) return invocation.error().message;
  for (const std::vector<float>* values : {&x, &longer}) {
    for (size_t i = 0; i < inputs; ++i) EXPECT_TRUE(invocation->set_input(i, view(*values)));
    Result<void> run = invocation->run_async(nullptr);
    if (run) run = invocation->wait();
    if (run) run = invocation->run();
    if (!run) return run.error().message;
  }
  return "";
}

/// If the driver refuses to free an object, the object stays.
bool gives_back(const std::string& name) {
  for (const char* part : {"Free", "Destroy", "Unload", "Release", "cuCtxSetCurrent"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

struct Case {
  const char* name;
  test::ArtifactBuilder (*model)();
  size_t inputs;
  bool may_fall_back = false;  // the failing call may have been an optional attempt
  int sm = 80;
};

class CudaAnyCall : public CudaError, public testing::WithParamInterface<Case> {
 protected:
  std::string use_everything_with(const std::string& failure) {
    sim.forget_counts();
    sim.fail(failure.c_str());
    const std::string error = use_everything(GetParam().model(), GetParam().inputs);
    sim.fail("");
    return error;
  }
};

INSTANTIATE_TEST_SUITE_P(Models, CudaAnyCall,
                         testing::Values(Case{"TwoStreams", test::two_streams, 2},
                                         Case{"Loop", [] { return test::on_cuda(test::doubling_loop()); }, 1},
                                         Case{"ConditionalLoop",
                                              [] { return test::with_conditional_kernel(test::doubling_loop()); }, 1,
                                              true},
                                         Case{"Static", [] { return test::on_cuda(test::with_static_plan(100)); }, 2},
                                         Case{"Overlap", [] { return test::overlapping(); }, 1, false, 90},
                                         Case{"Bind", [] { return test::on_cuda(test::positives()); }, 1}),
                         [](const auto& test_case) { return test_case.param.name; });

/// Makes each call of each function fail in turn: with out of memory, with a temporary error, and with an error that
/// loses the device.
TEST_P(CudaAnyCall, MayFail) {
  sim.set_sm(GetParam().sm);
  ASSERT_EQ(use_everything(GetParam().model(), GetParam().inputs), "");
  sim.forget_counts();
  ASSERT_EQ(use_everything(GetParam().model(), GetParam().inputs), "");
  std::vector<std::pair<std::string, uint64_t>> functions;
#define GART_COUNT(name, ...) functions.emplace_back(#name, sim.count(#name));
  GART_CUDA_FUNCTIONS(GART_COUNT)
#undef GART_COUNT
  constexpr int kCodes[] = {2, 999, 700};
  size_t turn = 0;
  for (const auto& [name, calls] : functions) {
    for (uint64_t k = 1; k <= calls; ++k) {
      const std::string failure = name + ":" + std::to_string(k) + ":" + std::to_string(kCodes[turn++ % 3]);
      const std::string error = use_everything_with(failure);
      const std::vector<std::string> reports = sim.reports();
      if (gives_back(name)) {
        use_everything_with("kernels:1:700");  // a lost device also frees the remaining objects
        sim.reports();
        sim.revive();
        continue;
      }
      const bool builds_anew = name == "cuGraphExecNodeSetParams" && !failure.ends_with(":700");
      EXPECT_TRUE(!error.empty() || GetParam().may_fall_back || builds_anew) << failure;
      EXPECT_EQ(reports, std::vector<std::string>{}) << failure << ": " << error;
      ASSERT_STREQ(sim.alive(), "") << failure << ": " << error;
    }
  }
}

}  // namespace
}  // namespace gart
