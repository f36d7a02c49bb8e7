// The store under concurrent processes that are killed at any moment.
#include "tools/store/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tools/store/store_error.h"

namespace {

namespace fs = std::filesystem;
using gart::store::NewVersion;
using gart::store::Store;
using gart::store::StoredVersion;
using Access = Store::Access;

const std::string kArtifact = GCC_GRAPH_SOURCE_DIR "/tests/artifact/golden/2.0.gart";

class StoreFolder : public testing::Test {
 protected:
  StoreFolder() {
    const fs::path memory = "/dev/shm";  // a file system in memory, where fsync costs nothing
    std::string name = (fs::is_directory(memory) ? memory : fs::temp_directory_path()) / "gart-store-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~StoreFolder() override { fs::remove_all(folder_); }
  std::string path() const { return folder_ / "store"; }

  fs::path folder_;
};

/// Adds, replaces and removes versions until it is killed.
[[noreturn]] void work(const std::string& path, unsigned seed) {
  std::mt19937 random(seed);
  for (;;) try {
      Store store(path, Access::write);
      const std::string id = "m" + std::to_string(random() % 5);
      const int64_t version = 1 + random() % 3;
      if (random() % 3 == 0)
        store.remove({id, version});
      else
        store.add({.model = {id, version}, .artifact = kArtifact, .replaces = true});
    } catch (const gart::store::StoreError&) {  // another process changed the store first
    }
}

std::vector<pid_t> start_workers(const std::string& path, unsigned round) {
  std::vector<pid_t> workers;
  for (unsigned i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) work(path, round * 8 + i);
    workers.push_back(child);
  }
  return workers;
}

TEST_F(StoreFolder, EightProcessesThatAreKilledLeaveWholeVersions) {
  std::mt19937 random(1);
  size_t seen = 0;
  for (unsigned round = 0; round < 12; ++round) {
    const std::vector<pid_t> workers = start_workers(path(), round);
    for (const pid_t worker : workers) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 40));
      kill(worker, SIGKILL);
    }
    for (const pid_t worker : workers) waitpid(worker, nullptr, 0);
    Store store(path(), Access::write);
    store.faults(true);  // removes the files that killed processes have left
    EXPECT_EQ(store.faults(false), std::vector<std::string>());
    seen += store.list().size();
  }
  EXPECT_GT(seen, 0U);
}

TEST_F(StoreFolder, AThousandModelsAreListedWithinASecond) {
  Store store(path(), Access::write);
  for (int i = 0; i < 1000; ++i) store.add({.model = {"model" + std::to_string(i), {}}, .artifact = kArtifact});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Store(path(), Access::read).list().size(), 1000U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  EXPECT_EQ(std::distance(fs::directory_iterator(path() + "/objects"), {}), 1) << "equal artifacts are kept once";
}

TEST_F(StoreFolder, NumbersAreNeverGivenTwice) {
  Store store(path(), Access::write);
  const NewVersion next = {.model = {"m", {}}, .artifact = kArtifact};
  EXPECT_EQ(store.add(next).version, 1);
  EXPECT_EQ(store.add(next).version, 2);
  EXPECT_EQ(store.remove({"m", {}}), 2);
  EXPECT_TRUE(fs::is_empty(path() + "/objects"));
  EXPECT_EQ(store.add(next).version, 3);
  EXPECT_EQ(store.find({"m", {}}).version, 3);
  EXPECT_THROW(store.find({"m", 1}), gart::store::StoreError);
}

TEST_F(StoreFolder, ADamagedFileIsRefusedAndReplacedByItsBytes) {
  Store store(path(), Access::write);
  const StoredVersion version = store.add({.model = {"m", {}}, .artifact = kArtifact});
  const std::string file = store.path_of(version);
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(file, 100);
  EXPECT_THROW(store.check(version), gart::store::StoreError);
  EXPECT_EQ(store.faults(false).size(), 1U);
  store.add({.model = {"m", 1}, .artifact = kArtifact, .replaces = true});
  EXPECT_EQ(store.faults(false), std::vector<std::string>());
}

TEST_F(StoreFolder, ForeignFoldersAndDatabasesAreRefused) {
  fs::create_directory(path());
  std::ofstream(path() + "/letter.txt") << "dear";
  EXPECT_THROW(Store(path(), Access::write), gart::store::StoreError);
  EXPECT_FALSE(fs::exists(path() + "/objects"));
  fs::remove(path() + "/letter.txt");
  std::ofstream(path() + "/store.sqlite") << std::string(5000, 'x');
  for (const Access access : {Access::read, Access::write})
    EXPECT_THROW(Store(path(), access), gart::store::StoreError);
  fs::remove(path() + "/store.sqlite");
  gart::store::Database(path() + "/store.sqlite", true).run("CREATE TABLE other (x)");
  for (const Access access : {Access::read, Access::write})
    EXPECT_THROW(Store(path(), access), gart::store::StoreError);
}

TEST_F(StoreFolder, TornFilesAreNotAdded) {
  Store store(path(), Access::write);
  const std::string torn = folder_ / "torn.gart";
  fs::copy_file(kArtifact, torn);
  fs::resize_file(torn, fs::file_size(torn) - 1);
  EXPECT_THROW(store.add({.model = {"m", {}}, .artifact = torn}), gart::store::StoreError);
  EXPECT_THROW(store.add({.model = {"m", {}}, .artifact = "/dev/zero"}), gart::store::StoreError);
  EXPECT_THROW(store.add({.model = {"m", {}}, .artifact = folder_}), gart::store::StoreError);
  EXPECT_TRUE(fs::is_empty(path() + "/objects"));
  EXPECT_TRUE(fs::is_empty(path() + "/incoming"));
}

TEST(StoreReference, IdsCannotLeaveTheFolder) {
  for (const char* text : {"", "../m", "a/b", "@1", "m@", "m@0", "m@-1", "m@1x", "m@99999999999999999999", ".m", "a b"})
    EXPECT_THROW(gart::store::parse_reference(text), gart::store::StoreError) << text;
  EXPECT_EQ(gart::store::parse_reference("m-1.0_x@12").version, 12);
}

}  // namespace
