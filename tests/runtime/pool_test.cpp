// Pools of CPU cores: their names, and the cores that their threads use.
#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "runtime/cpu/cores.h"
#include "runtime/cpu/device.h"
#include "runtime/cpu/quota.h"
#include "runtime/errors.h"
#include "tests/runtime/models.h"

namespace gart {
namespace {

using cpu::Cores;
using test::ramp;
using test::view;

std::string error_of(const std::string& device, ErrorCode code) {
  test::ArtifactBuilder b = test::add_and_double();
  Result<Program> program = test::load_model(b, {.device = device});
  if (program) return "";
  EXPECT_EQ(program.error().code, code) << device;
  return program.error().message;
}

TEST(CpuPool, MalformedNamesAreRefused) {
  for (const std::string device :
       {"cpu:", "cpu:x", "cpu:-1", "cpu:0-", "cpu:0,", "cpu:0x", "cpu:0-0-0", "cpu: 0", "cpu:99999999999"}) {
    EXPECT_EQ(error_of(device, ErrorCode::invalid_argument),
              "device '" + device + "' names no cores; expected 'cpu:0', 'cpu:0-3' or 'cpu:0-3,8'");
  }
  EXPECT_EQ(error_of("cpu:1-0", ErrorCode::invalid_argument), "device 'cpu:1-0' names cores 1 to 0, an empty range");
  EXPECT_EQ(error_of("cpux", ErrorCode::unsupported),
            "this runtime has no device 'cpux', only 'cpu', 'cpu:0-1' (these cores), 'cuda' and 'cuda:1'");
}

TEST(CpuPool, CoresThatAreNotAllowedAreNamedWithThoseThatAre) {
  EXPECT_EQ(error_of("cpu:5000", ErrorCode::unsupported),
            "device 'cpu:5000' names core 5000; this process may use " + Cores::allowed().text());
  EXPECT_EQ(error_of("cpu:0-2147483647", ErrorCode::unsupported).find("; this process may use ") == std::string::npos,
            false);
}

/// A thread that may use only one core cannot choose another.
TEST(CpuPool, TheAllowedSetIsTheThreads) {
  const Cores all = Cores::allowed();
  if (all.count() < 2) GTEST_SKIP() << "one core";
  const std::string text = all.text(), first = text.substr(0, text.find_first_of(",-"));
  std::thread([&] {
    ASSERT_TRUE(Cores::of_device("cpu:" + first).bind());
    EXPECT_EQ(Cores::allowed().text(), first);
    EXPECT_EQ(
        error_of("cpu:" + text, ErrorCode::unsupported).find("this process may use " + first) == std::string::npos,
        false);
  }).join();
}

/// Two pools work at the same time, each only on its own cores. Afterwards the caller may use all its cores again.
TEST(CpuPool, ThreadsStayOnTheirCores) {
  const Cores all = Cores::allowed();
  for (int core = 0, found = 0; core < CPU_SETSIZE && found < 2; ++core) {
    if (!all.has(core)) continue;
    ++found;
    cpu::Device pool("cpu:" + std::to_string(core), 3);
    const cpu::Shift shift(pool);
    ASSERT_NE(shift.team(), nullptr);
    int where[3] = {-1, -1, -1};
    const auto job = [](void* data, int share, uint32_t) {
      static_cast<int*>(data)[share] = sched_getcpu();
      return uint32_t{1};
    };
    shift.team()->run(job, where, 0, 1);
    for (const int at : where) EXPECT_EQ(at, core);
  }
  EXPECT_EQ(Cores::allowed().text(), all.text());
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

/// Cases: without /proc and /sys, with limits of both cgroup versions in the group or above it, and in a container that
/// sees only its own group.
TEST(CpuPool, ThreadsAreWithinTheQuota) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "gart_quota";
  const auto quota = [&] { return cpu::within_quota(8, root.string()); };
  std::filesystem::remove_all(root);
  EXPECT_EQ(quota(), 8);
  write(root / "proc/self/cgroup", "0::/a/b\n4:cpu,cpuacct:/c\n");
  EXPECT_EQ(quota(), 8);
  write(root / "sys/fs/cgroup/a/cpu.max", "350000 100000\n");
  EXPECT_EQ(quota(), 3);
  write(root / "sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 3);
  write(root / "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  write(root / "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 1);
  write(root / "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota(), 3);
  write(root / "sys/fs/cgroup/a/cpu.max", "nonsense");
  EXPECT_EQ(quota(), 8);
  write(root / "sys/fs/cgroup/a/cpu.max", "10000000 100000\n");
  EXPECT_EQ(quota(), 8);
  std::filesystem::remove_all(root);
}

/// Pools with the same cores and counts share threads; others have their own.
TEST(CpuPool, ThreadsAreSharedWithinTheProcess) {
  cpu::Device a("cpu", 3), b("cpu", 3), c("cpu", 2), d("cpu", 3, {.replicas = 3}), e("cpu", 6, {.replicas = 2});
  EXPECT_EQ(a.pool(), b.pool());
  EXPECT_NE(a.pool(), c.pool());
  EXPECT_NE(a.pool(), cpu::Device("cpu", 3, {}, false).pool());
  EXPECT_EQ(d.threads(), 1);
  EXPECT_EQ(d.pool(), nullptr);
  EXPECT_EQ(e.threads(), 3);
}

/// Processor time, in microseconds, of a pool's second thread over 20 jobs. Jobs are 3 ms apart, and in each the thread
/// waits 3 ms for the first thread.
double waiting_us(bool spin) {
  cpu::Device pool("cpu", 2, {}, spin);
  const cpu::Shift shift(pool);
  timespec now[2] = {};
  const auto job = [](void* data, int share, uint32_t) {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, static_cast<timespec*>(data) + share);
    if (share == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return uint32_t{1};
  };
  shift.team()->run(job, now, 0, 1);
  const timespec begin = now[1];
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    shift.team()->run(job, now, 0, 1);
  }
  return static_cast<double>(now[1].tv_sec - begin.tv_sec) * 1e6 +
         static_cast<double>(now[1].tv_nsec - begin.tv_nsec) / 1e3;
}

TEST(CpuPool, ThreadsThatMayNotSpinSleepAtOnce) { EXPECT_LT(waiting_us(false), 4000); }

/// Threads that may spin do so, which shows that the test above can detect spinning. The second thread needs a second
/// core.
TEST(CpuPool, ThreadsThatMaySpinDo) {
  if (Cores::allowed().count() < 2) GTEST_SKIP() << "one core";
  EXPECT_GT(waiting_us(true), 4000);
}

TEST(CpuPool, CountsOutOfRangeAreRefused) {
  test::ArtifactBuilder b = test::add_and_double();
  const Result<Program> program = test::load_model(b, {.device = "cpu", .parallel = {.intra = -1}});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().message, "intra is -1; 0 to 1024 are possible");
}

TEST(CpuPool, HasAsManyThreadsAsCores) {
  test::ArtifactBuilder b = test::add_and_double();
  const Cores all = Cores::allowed();
  Result<Program> program = test::load_model(b, {.device = "cpu:" + all.text()});
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->device(), "cpu:" + all.text());
  EXPECT_EQ(program->threads(), all.count());
  const std::vector<float> x = ramp(5000);
  EXPECT_EQ(program->run(std::vector<TensorView>{view(x), view(x)})->at(0).elements<float>()[4999], 4 * 4999.0f);
}

}  // namespace
}  // namespace gart
