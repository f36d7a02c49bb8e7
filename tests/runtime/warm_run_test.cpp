// A warm run allocates nothing and, if no thread sleeps, makes no system call.
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "runtime/cpu/cores.h"
#include "tests/runtime/allocations.h"
#include "tests/runtime/models.h"

namespace gart {
namespace {

using test::ramp;
using test::view;

#if GART_COUNTS_ALLOCATIONS

void expect_no_allocation(test::ArtifactBuilder builder, size_t inputs, int threads,
                          const std::string& device = "cpu") {
  Result<Program> program = test::load_model(builder, {.device = device, .threads = threads});
  Result<Invocation> invocation = program->new_invocation();
  // Two shapes run in turn, one of them in unaligned memory; both must stay warm.
  const std::vector<float> small = ramp(101, -20), big = ramp(5000, -20);
  std::vector<float> out(5000);
  const auto run = [&](const std::vector<float>& x, size_t skip) {
    const TensorView tensor{x.data() + skip, DType::f32, Shape{int64_t(x.size() - skip)}};
    for (size_t i = 0; i < inputs; ++i) ASSERT_TRUE(invocation->set_input(i, tensor));
    ASSERT_TRUE(invocation->set_output(0, {out.data(), out.size() * 4, DType::f32}));
    ASSERT_TRUE(invocation->run());
  };
  run(small, 1);
  run(big, 0);
  const int64_t before = allocations;
  for (int i = 0; i < 20; ++i) run(small, 1), run(big, 0);
  EXPECT_EQ(allocations - before, 0);
}

TEST(WarmRun, AllocatesNothing) {
  for (const int threads : {1, 2}) {
    expect_no_allocation(test::add_and_double(), 2, threads);
    expect_no_allocation(test::with_static_plan(5000), 2, threads);
    expect_no_allocation(test::doubling_loop(), 1, threads);
    expect_no_allocation(test::positives(), 1, threads);
    expect_no_allocation(test::add_and_double(), 2, threads, "cpu:" + cpu::Cores::allowed().text());
  }
}

/// The kernel kills a process in strict seccomp mode at any call but read, write and exit.
void expect_no_system_call(test::ArtifactBuilder builder, size_t inputs) {
  const pid_t child = fork();
  if (child == 0) {
    Result<Program> program = test::load_model(builder, {.threads = 1});
    Result<Invocation> invocation = program->new_invocation();
    const std::vector<float> x = ramp(5000, -20);
    for (size_t i = 0; i < inputs; ++i) {
      if (!invocation->set_input(i, view(x))) _exit(2);
    }
    if (!invocation->run()) _exit(3);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) _exit(4);
    for (int i = 0; i < 10; ++i) {
      if (!invocation->run()) syscall(SYS_exit, 5);
    }
    syscall(SYS_exit, 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 4) GTEST_SKIP() << "no strict seccomp mode here";
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(WarmRun, MakesNoSystemCall) {
  expect_no_system_call(test::add_and_double(), 2);
  expect_no_system_call(test::doubling_loop(), 1);
  expect_no_system_call(test::positives(), 1);
}

#endif

}  // namespace
}  // namespace gart
