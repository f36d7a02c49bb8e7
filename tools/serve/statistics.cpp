#include "tools/serve/statistics.h"

#include "tools/serve/json_elements.h"

namespace gcg::serve {
namespace {

constexpr size_t kMostRowCounts = 256;  // limit of the different numbers of rows that are counted separately

}  // namespace

void Statistics::count(const RequestTimes& t) {
  const std::lock_guard lock(mutex_);
  const Clock::duration whole = t.written - t.arrived;
  (t.succeeded ? success_ : fail_).add(whole);
  if (!t.succeeded) return;
  queue_.add(t.taken - t.arrived);
  input_.add(t.ready - t.taken);
  infer_.add(t.ran - t.ready);
  output_.add(t.written - t.ran);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(whole).count();
  for (size_t i = 0; i < kBucketsUs.size(); ++i) buckets_[i] += us <= kBucketsUs[i] ? 1 : 0;
  last_ms_ = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
                 .count();
}

void Statistics::count_run(int64_t rows, Clock::duration time) {
  const std::lock_guard lock(mutex_);
  ++runs_;
  rows_ += static_cast<uint64_t>(rows);
  if (by_rows_.size() < kMostRowCounts || by_rows_.count(rows) != 0) by_rows_[rows].add(time);
}

void Statistics::count_tokens(int64_t prompt, int64_t generated) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += prompt;
  generated_tokens_ += generated;
}

std::string Statistics::json(const Sum& sum) {
  return "{\"count\":" + std::to_string(sum.count) + ",\"ns\":" + std::to_string(sum.ns) + "}";
}

std::string Statistics::json(const std::string& model, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  std::string out =
      "{\"name\":" + in_quotes(model) + ",\"version\":" + in_quotes(version) +
      ",\"last_inference\":" + std::to_string(last_ms_) + ",\"inference_count\":" + std::to_string(rows_) +
      ",\"execution_count\":" + std::to_string(runs_) + ",\"inference_stats\":{\"success\":" + json(success_) +
      ",\"fail\":" + json(fail_) + ",\"queue\":" + json(queue_) + ",\"compute_input\":" + json(input_) +
      ",\"compute_infer\":" + json(infer_) + ",\"compute_output\":" + json(output_) + "},\"batch_stats\":[";
  bool is_first = true;
  for (const auto& [rows, sum] : by_rows_) {
    if (!is_first) out += ',';
    is_first = false;
    out += "{\"batch_size\":" + std::to_string(rows) + ",\"compute_infer\":" + json(sum) + "}";
  }
  return out + "]}";
}

void Statistics::add_metrics(std::map<std::string, std::string>& lines, const std::string& labels) const {
  const std::lock_guard lock(mutex_);
  const auto line = [&](const char* family, const char* suffix, const std::string& more, const std::string& value) {
    lines[family] += std::string(family) + suffix + "{" + labels + more + "} " + value + "\n";
  };
  const auto seconds = [](int64_t ns) { return std::to_string(static_cast<double>(ns) * 1e-9); };
  line("gart_requests_total", "", ",result=\"success\"", std::to_string(success_.count));
  line("gart_requests_total", "", ",result=\"failure\"", std::to_string(fail_.count));
  line("gart_runs_total", "", "", std::to_string(runs_));
  line("gart_rows_total", "", "", std::to_string(rows_));
  line("gart_queue_seconds_total", "", "", seconds(queue_.ns));
  line("gart_run_seconds_total", "", "", seconds(infer_.ns));
  line("gart_prompt_tokens_total", "", "", std::to_string(prompt_tokens_));
  line("gart_generated_tokens_total", "", "", std::to_string(generated_tokens_));
  const char* histogram = "gart_request_seconds";
  for (size_t i = 0; i < kBucketsUs.size(); ++i)
    line(histogram, "_bucket", ",le=\"" + std::to_string(static_cast<double>(kBucketsUs[i]) * 1e-6) + "\"",
         std::to_string(buckets_[i]));
  line(histogram, "_bucket", ",le=\"+Inf\"", std::to_string(success_.count));
  line(histogram, "_sum", "", seconds(success_.ns));
  line(histogram, "_count", "", std::to_string(success_.count));
}

}  // namespace gcg::serve
