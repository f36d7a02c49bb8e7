#include "tools/gcc-graph/train/training_log.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {
namespace {

constexpr double kRefresh = 0.1;  // seconds between changes of the line on a terminal

/// The lines of the file for steps 1, 2, ... up to `line_count`. A killed run may have written lines for later steps.
std::string kept_lines(const std::string& path, int64_t line_count) {
  std::ifstream file(path);
  std::string out, line;
  for (int64_t i = 1; i <= line_count && std::getline(file, line); ++i) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || json.value("step", int64_t{0}) != i)
      fail("--metrics ", path, ": line ", i, " is not step ", i, " of the run that --resume continues");
    out += line + '\n';
  }
  return out;
}

}  // namespace

TrainingLog::TrainingLog(const std::string& metrics, int64_t line_count, int64_t epochs, int64_t steps, bool quiet)
    : epochs_(epochs), steps_(steps), terminal_(!quiet && isatty(STDERR_FILENO) != 0), quiet_(quiet), path_(metrics) {
  if (metrics.empty()) return;
  const std::string lines = kept_lines(metrics, line_count);
  check_writable(metrics);
  write_file(metrics, {lines.begin(), lines.end()});
  metrics_.open(metrics, std::ios::app);
}

double TrainingLog::seconds(Clock::time_point since) const {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

void TrainingLog::step(const TrainingStep& step) {
  if (first_ < 0) first_ = step.step - 1;
  const double took = std::max(seconds(last_), 1e-9);
  last_ = Clock::now();
  sum_ += step.loss;
  samples_ += step.samples;
  ++in_epoch_;
  if (metrics_.is_open()) {
    nlohmann::ordered_json line = {{"step", step.step},
                                   {"epoch", step.epoch},
                                   {"loss", step.loss},
                                   {"samples_per_s", static_cast<double>(step.samples) / took}};
    if (step.scaling) line["loss_scale"] = step.scaling->scale;
    if (step.scaling) line["skipped"] = step.scaling->skipped;
    metrics_ << json_text(line, -1) << std::endl;
    if (!metrics_) fail("cannot write ", path_);
  }
  if (terminal_ && (seconds(shown_) >= kRefresh || step.step == steps_)) show(step);
}

void TrainingLog::show(const TrainingStep& step) {
  shown_ = Clock::now();
  const double spent = seconds(begin_);
  const auto done = static_cast<double>(step.step - first_);
  const auto left = static_cast<int64_t>(std::ceil(spent / done * static_cast<double>(steps_ - step.step)));
  std::fprintf(stderr, "\r\033[Kepoch %lld/%lld, step %lld/%lld: loss %.6g, %.4g samples/s, ETA %lld:%02lld:%02lld",
               static_cast<long long>(step.epoch), static_cast<long long>(epochs_), static_cast<long long>(step.step),
               static_cast<long long>(steps_), step.loss, static_cast<double>(samples_) / std::max(spent, 1e-9),
               static_cast<long long>(left / 3600), static_cast<long long>(left / 60 % 60),
               static_cast<long long>(left % 60));
  std::fflush(stderr);
}

void TrainingLog::end_epoch(int64_t epoch) {
  clear();
  if (!quiet_ && in_epoch_ > 0)
    std::printf("epoch %lld/%lld: loss %.6g, %.4g samples/s\n", static_cast<long long>(epoch),
                static_cast<long long>(epochs_), sum_ / static_cast<double>(in_epoch_),
                static_cast<double>(samples_) / std::max(seconds(begin_), 1e-9));
  std::fflush(stdout);
  sum_ = 0;
  in_epoch_ = 0;
}

void TrainingLog::clear() const {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

}  // namespace gcg::tools
