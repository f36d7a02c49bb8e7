// The C API of queues.
#include "gart/queue.h"
#include "gart/queue.hpp"
#include "runtime/api/c_handles.h"
#include "runtime/c_status.h"
#include "runtime/fleet/c_handles.h"

struct gart_queue {
  gart::RunQueue queue;
};

namespace {

using gart::fleet::last_error;

template <class Program>
gart_status make_queue(const Program* program, int runs, size_t waiting, gart_queue** queue) {
  return gart::status_of(last_error(), [&] {
    gart::require(program, queue);
    *queue = nullptr;
    *queue = new gart_queue{value_or_fail(gart::RunQueue::of(program->program, {runs, waiting}))};
  });
}

/// Converts outputs for the caller's function.
class Teller {
 public:
  Teller(gart_done done, void* user) : done_(done), user_(user) {}

  void operator()(const gart::Result<std::span<const gart::NamedTensor>>& outputs) const {
    if (!outputs)
      return done_(user_, static_cast<gart_status>(outputs.error().code), outputs.error().message.c_str(), nullptr, 0);
    std::vector<std::string> names;
    std::vector<gart_named_tensor> tensors;
    const gart::Result<void> converted = gart::guarded([&] {
      for (const gart::NamedTensor& output : *outputs) names.emplace_back(output.name);
      for (size_t i = 0; i < names.size(); ++i)
        tensors.push_back({names[i].c_str(), gart::fleet::tensor_of((*outputs)[i].tensor)});
    });
    if (!converted) return done_(user_, GART_OUT_OF_MEMORY, "out of memory", nullptr, 0);
    done_(user_, GART_OK, "", tensors.data(), tensors.size());
  }

 private:
  gart_done done_;
  void* user_;
};

/// Checks the arguments that both kinds of runs have, and submits the run.
template <class Submit>
gart_status submitted(const gart_queue* queue, int64_t timeout_us, gart_done done, uint64_t* run, Submit&& submit) {
  return gart::status_of(last_error(), [&] {
    gart::require(queue);
    if (done == nullptr) gart::fail(gart::ErrorCode::invalid_argument, "the run has no function for its end");
    if (timeout_us > INT64_MAX / 1000)
      gart::fail(gart::ErrorCode::invalid_argument, "the timeout is ", timeout_us, " us, the limit is ",
                 INT64_MAX / 1000);
    const uint64_t number = value_or_fail(submit(std::chrono::microseconds(timeout_us)));
    if (run != nullptr) *run = number;
  });
}

}  // namespace

gart_status gart_queue_new(const gart_program* program, int runs, size_t waiting, gart_queue** queue) {
  return make_queue(program, runs, waiting, queue);
}

gart_status gart_queue_new_fleet(const gart_fleet* fleet, int runs, size_t waiting, gart_queue** queue) {
  return make_queue(fleet, runs, waiting, queue);
}

void gart_queue_free(gart_queue* queue) { delete queue; }

gart_status gart_queue_submit(const gart_queue* queue, const char* entry, const gart_named_tensor* inputs,
                              size_t input_count, int64_t timeout_us, gart_done done, void* user, uint64_t* run) {
  return submitted(queue, timeout_us, done, run, [&](std::chrono::nanoseconds timeout) {
    std::vector<gart::NamedTensor> given;
    for (size_t i = 0; i < input_count; ++i) {
      gart::require(inputs[i].name);
      given.push_back({inputs[i].name, gart::fleet::view_of(inputs[i].tensor)});
    }
    gart::SubmitOptions options;
    if (entry != nullptr) options.entry = entry;
    options.timeout = timeout;
    return queue->queue.submit(given, Teller(done, user), options);
  });
}

gart_status gart_queue_submit_invocation(const gart_queue* queue, gart_invocation* invocation, int64_t timeout_us,
                                         gart_done done, void* user, uint64_t* run) {
  return submitted(queue, timeout_us, done, run, [&](std::chrono::nanoseconds timeout) {
    gart::require(invocation);
    return queue->queue.submit(invocation->invocation, Teller(done, user), timeout);
  });
}

void gart_queue_cancel(const gart_queue* queue, uint64_t run) {
  if (queue != nullptr) queue->queue.cancel(run);
}

size_t gart_queue_waiting(const gart_queue* queue) { return queue == nullptr ? 0 : queue->queue.waiting(); }
