// Counts and times of a model's requests, in the form of the protocol's statistics.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace gcg::serve {

using Clock = std::chrono::steady_clock;

/// The times at which a request reached each stage.
struct RequestTimes {
  Clock::time_point arrived, taken, ready, ran, written;  // ready: inputs joined; written: the reply was made
  bool succeeded = false;
};

class Statistics {
 public:
  /// Upper ends of the histogram's buckets, in microseconds.
  static constexpr std::array<int64_t, 12> kBucketsUs = {100,    250,    500,     1'000,   2'500,     5'000,
                                                         10'000, 25'000, 100'000, 500'000, 2'000'000, 10'000'000};

  void count(const RequestTimes& times);
  /// Counts a run of the model with `rows` rows.
  void count_run(int64_t rows, Clock::duration time);
  /// Counts a request for text.
  void count_tokens(int64_t prompt, int64_t generated);
  /// An entry of "model_stats".
  std::string json(const std::string& model, const std::string& version) const;
  /// A family of metrics in Prometheus' text format.
  struct Family {
    const char *name, *type, *help;
  };
  static constexpr Family kFamilies[] = {
      {"gart_requests_total", "counter", "Inference requests by result."},
      {"gart_runs_total", "counter", "Runs of the model; a run may serve several requests."},
      {"gart_rows_total", "counter", "Rows along the first axis in all runs."},
      {"gart_queue_seconds_total", "counter", "Time that requests waited for a lane."},
      {"gart_run_seconds_total", "counter", "Time of runs, once for each of their requests."},
      {"gart_prompt_tokens_total", "counter", "Tokens of prompts."},
      {"gart_generated_tokens_total", "counter", "Tokens that were generated."},
      {"gart_request_seconds", "histogram", "Time of successful requests from arrival to reply."},
  };
  /// Appends this model's lines to those of each family.
  void add_metrics(std::map<std::string, std::string>& lines, const std::string& labels) const;

 private:
  struct Sum {
    uint64_t count = 0;
    int64_t ns = 0;
    void add(Clock::duration time) {
      ++count;
      ns += std::chrono::nanoseconds(time).count();
    }
  };
  static std::string json(const Sum& sum);

  mutable std::mutex mutex_;
  Sum success_, fail_, queue_, input_, infer_, output_;
  uint64_t runs_ = 0, rows_ = 0;
  int64_t last_ms_ = 0, prompt_tokens_ = 0, generated_tokens_ = 0;
  std::array<uint64_t, kBucketsUs.size()> buckets_ = {};
  std::map<int64_t, Sum> by_rows_;
};

}  // namespace gcg::serve
