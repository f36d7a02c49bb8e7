// The quotas of control groups of both versions, from files as the kernel writes them.
#include "tools/gcc-graph/devices/quota.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "compiler/support/error.h"

namespace gcg::tools {
namespace {

namespace fs = std::filesystem;

class QuotaTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_); }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  const fs::path root_ = fs::path(testing::TempDir()) / concat("gcc-graph-quota-", getpid());
};

TEST_F(QuotaTest, NothingIsNoLimit) {
  EXPECT_EQ(read_quota(root_).cpus, 0);
  write("proc/self/cgroup", "0::/");
  write("sys/fs/cgroup/cpu.max", "max 100000");
  write("sys/fs/cgroup/memory.max", "max");
  EXPECT_EQ(read_quota(root_).cpus, 0);
  EXPECT_EQ(read_quota(root_).memory_bytes, 0);
}

TEST_F(QuotaTest, TheLeastOfAGroupAndThoseAboveIt) {
  write("proc/self/cgroup", "0::/box/job");
  write("sys/fs/cgroup/box/cpu.max", "150000 100000");
  write("sys/fs/cgroup/box/job/cpu.max", "400000 100000");
  write("sys/fs/cgroup/box/job/memory.max", "1073741824");
  EXPECT_EQ(read_quota(root_).cpus, 1.5);
  EXPECT_EQ(read_quota(root_).memory_bytes, 1 << 30);
}

TEST_F(QuotaTest, VersionOne) {
  write("proc/self/cgroup", "5:memory:/docker/1\n4:cpu,cpuacct:/docker/1");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000");  // a container sees its own group as the root
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "536870912");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(read_quota(root_).cpus, 0.5);
  EXPECT_EQ(read_quota(root_).memory_bytes, 1 << 29);
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(read_quota(root_).cpus, 0);
}

}  // namespace
}  // namespace gcg::tools
