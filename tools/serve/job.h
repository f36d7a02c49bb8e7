// A request that waits for a lane, and its place in the order.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tools/serve/infer_request.h"
#include "tools/serve/messages.h"
#include "tools/serve/model.h"

namespace gcg::serve {

/// The order of requests in the queue: the smallest comes first.
struct Order {
  uint64_t priority = 0, number = 0;
  auto operator<=>(const Order&) const = default;
};

/// A request, or a step of other work, which then has no other members than `step` and `order`.
struct InferJob {
  std::function<void()> step;
  std::shared_ptr<Model> model;
  InferRequest request;
  Answer answer;
  RequestTimes times;
  Order order;
  Clock::time_point deadline = Clock::time_point::max();  // latest time for its run to begin
  std::string group;                                      // equal for jobs whose rows may be joined; empty: runs alone
  int64_t rows = 1;
  std::string sequence;  // key of its sequence, unique among all models; empty: none
};

/// Runs the jobs, which have the same model and group, and answers each. `session`: the session of the jobs' sequence,
/// or null.
void run_jobs(std::vector<std::unique_ptr<InferJob>>& jobs, const gart::Session* session);

/// Answers with an error, and counts it.
void refuse_job(InferJob& job, unsigned status, const std::string& message);

/// Sets `group` and `rows` of a job whose model joins rows.
void find_group(InferJob& job);

}  // namespace gcg::serve
