// Sessions in files.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/states/stateful.h"

namespace gart {
namespace {

using test::loaded;
using test::state;
using test::view;

std::string file(const char* name) {
  return (std::filesystem::path(::testing::TempDir()) / (std::to_string(getpid()) + name)).string();
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST(SavedSessions, RoundTrip) {
  const Program program = loaded(test::failing(), {"rows=rows_next", "total=total_next"});
  const Session session = *program.new_session();
  const std::vector<float> rows = {1, 2, 3, 4, 5, 6}, total = {7, 8, 9};
  ASSERT_TRUE(session.set_state("rows", view(rows, {2, 3})));
  ASSERT_TRUE(session.set_state("total", view(total, {1, 3})));
  const std::string path = file("round.safetensors");
  ASSERT_TRUE(session.save(path));
  // The text of the header, as the format's reference implementation writes it.
  const std::string written = bytes_of(path);
  const std::string header =
      R"({"rows":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"total":{"dtype":"F32","shape":[1,3],"data_offsets":[24,36]}})";
  ASSERT_GT(written.size(), 8 + header.size());
  EXPECT_EQ(written.substr(8, header.size()), header);
  const Session other = *program.new_session();
  ASSERT_TRUE(other.load(path));
  EXPECT_EQ(state(other, "rows"), rows);
  EXPECT_EQ(state(other, "total"), total);
  std::filesystem::remove(path);
}

TEST(SavedSessions, WrongFilesChangeNothing) {
  const Program program = loaded(test::failing(), {"rows=rows_next", "total=total_next"});
  const Session session = *program.new_session();
  const std::vector<float> rows = {1, 2, 3};
  ASSERT_TRUE(session.set_state("rows", view(rows, {1, 3})));
  const std::string path = file("wrong.safetensors");
  ASSERT_TRUE(session.save(path));
  const std::string good = bytes_of(path);
  std::mt19937 random(1);
  int refused = 0;
  for (size_t i = 0; i < good.size() * 3; ++i) {
    std::string bad = good;
    if (i < good.size()) {
      bad.resize(i);
    } else {
      bad[random() % 80] = static_cast<char>(random());
    }
    write(path, bad);
    const Result<void> done = session.load(path);
    if (done) continue;  // the change affected only a row, or spaces
    ++refused;
    EXPECT_NE(done.error().message.find(path), std::string::npos) << done.error().message;
    const Result<Tensor> value = session.state("rows");
    ASSERT_TRUE(value);
  }
  EXPECT_GT(refused, static_cast<int>(good.size()));
  const auto message = [&](const std::string& header) {
    uint64_t length = header.size();
    std::string text(8, ' ');
    std::memcpy(text.data(), &length, 8);
    write(path, text + header + std::string(24, '\0'));
    return session.load(path).error().message;
  };
  const std::string cannot = "cannot load '" + path + "': ";
  EXPECT_EQ(message("{\"rows\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,20]}}"),
            cannot +
                "its safetensors header is wrong at byte 59: tensor 'rows' of f32[2,3] does not fit its offsets in "
                "24 bytes");
  EXPECT_EQ(message("{\"row\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}"),
            cannot + "the model has no state 'row', only 'rows', 'total'");
  EXPECT_EQ(message("{\"rows\":{\"dtype\":\"F31\",\"shape\":[2,3],\"data_offsets\":[0,24]}}"),
            cannot + "its safetensors header is wrong at byte 22: tensor 'rows' has the unknown type F31");
  EXPECT_EQ(message("{\"rows\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}")
                .substr(0, cannot.size()),
            cannot);
  std::filesystem::remove(path);
}

/// If a process is killed while it saves, the file has its old or its new contents.
TEST(SavedSessions, KilledWhileSaving) {
  const std::string path = file("killed.safetensors");
  const Program program = loaded(test::summing(), {"total=next"});
  const Session session = *program.new_session();
  const std::vector<float> values(1 << 18, 1.0f);
  ASSERT_TRUE(session.set_state("total", view(values, {1 << 18})));
  ASSERT_TRUE(session.save(path));
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) (void)session.save(path);
    }
    usleep(static_cast<useconds_t>(500 + 700 * i));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const Session other = *program.new_session();
    const Result<void> done = other.load(path);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(state(other, "total"), values);
  }
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    if (entry.path().string().starts_with(path)) std::filesystem::remove(entry.path());
}

}  // namespace
}  // namespace gart
