#include "tools/serve/job.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "tools/serve/infer_reply.h"
#include "tools/serve/refusal.h"

namespace gcg::serve {
namespace {

using Jobs = std::span<const std::unique_ptr<InferJob>>;

std::vector<gart::NamedTensor> inputs_of(const InferJob& job) {
  std::vector<gart::NamedTensor> inputs;
  for (const GivenTensor& t : job.request.inputs) inputs.push_back({t.name, t.view()});
  return inputs;
}

std::vector<std::string> wanted_by(const InferJob& job) {
  std::vector<std::string> names;
  for (const WantedOutput& output : job.request.outputs) names.push_back(output.name);
  return names;
}

void answer(InferJob& job, HttpReply reply) {
  job.times.written = Clock::now();
  job.times.succeeded = reply.status == 200;
  job.model->statistics.count(job.times);
  job.answer(std::move(reply));
}

/// The inputs of all jobs, concatenated along the first axis.
class JoinedInputs {
 public:
  explicit JoinedInputs(Jobs jobs) {
    for (size_t i = 0; i < jobs[0]->request.inputs.size(); ++i) {
      std::vector<int64_t> shape = jobs[0]->request.inputs[i].shape;
      shape[0] = 0;
      std::vector<uint8_t>& bytes = bytes_.emplace_back();
      for (const auto& job : jobs) {
        const GivenTensor& t = job->request.inputs[i];
        shape[0] += t.shape[0];
        bytes.insert(bytes.end(), t.bytes.begin(), t.bytes.end());
      }
      const GivenTensor& first = jobs[0]->request.inputs[i];
      inputs_.push_back({first.name, {bytes.data(), first.dtype, gart::Shape(shape), "cpu"}});
    }
  }
  std::span<const gart::NamedTensor> get() const { return inputs_; }

 private:
  std::vector<std::vector<uint8_t>> bytes_;  // moving an inner vector does not move its elements, so `inputs_` may
                                             // point to them
  std::vector<gart::NamedTensor> inputs_;
};

/// The rows `first` to `first + rows` of a tensor.
gart::TensorView rows_of(const gart::TensorView& tensor, int64_t first, int64_t rows) {
  const int64_t row = tensor.shape[0] == 0 ? 0
                                           : tensor.shape.elements() / tensor.shape[0] *
                                                 static_cast<int64_t>(gart::size_of(tensor.dtype));
  std::vector<int64_t> shape(tensor.shape.extents().begin(), tensor.shape.extents().end());
  shape[0] = rows;
  return {static_cast<const uint8_t*>(tensor.data) + first * row, tensor.dtype, gart::Shape(shape), "cpu"};
}

void run_alone(InferJob& job, const gart::Session* session) {
  const auto inputs = inputs_of(job);
  const auto requested = wanted_by(job);
  InferReply reply(job.request, job.model->id(), job.model->version());
  job.times.ready = Clock::now();
  bool is_first = true;
  const auto take = [&](const std::string& name, const gart::TensorView& tensor) {
    if (is_first) job.times.ran = Clock::now();
    is_first = false;
    reply.add(name, tensor);
  };
  if (session != nullptr)
    job.model->run(*session, job.request.entry, inputs, requested, take);
  else
    job.model->run(job.request.entry, inputs, requested, take);
  if (is_first) job.times.ran = Clock::now();
  job.model->statistics.count_run(job.rows, job.times.ran - job.times.ready);
  answer(job, reply.take());
}

void run_joined(Jobs jobs) {
  Model& model = *jobs[0]->model;
  const JoinedInputs inputs(jobs);
  std::vector<InferReply> replies;
  int64_t rows = 0;
  const Clock::time_point ready = Clock::now();
  for (const auto& job : jobs) {
    replies.emplace_back(job->request, model.id(), model.version());
    job->times.ready = job->times.ran = ready;
    rows += job->rows;
  }
  Clock::time_point ran = {};
  std::vector<std::optional<Refusal>> refused(jobs.size());
  model.run(jobs[0]->request.entry, inputs.get(), {}, [&](const std::string& name, const gart::TensorView& tensor) {
    if (ran == Clock::time_point()) ran = Clock::now();
    int64_t first = 0;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const auto& outputs = jobs[i]->request.outputs;
      if (outputs.empty() || std::ranges::find(outputs, name, &WantedOutput::name) != outputs.end()) try {
          replies[i].add(name, rows_of(tensor, first, jobs[i]->rows));
        } catch (const Refusal& refusal) {
          refused[i] = refusal;
        }
      first += jobs[i]->rows;
    }
  });
  model.statistics.count_run(rows, ran - ready);
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i]->times.ran = ran;
    if (refused[i])
      refuse_job(*jobs[i], refused[i]->status(), refused[i]->what());
    else
      answer(*jobs[i], replies[i].take());
  }
}

}  // namespace

void refuse_job(InferJob& job, unsigned status, const std::string& message) {
  answer(job, error_reply(status, message));
}

void find_group(InferJob& job) {
  const std::vector<GivenTensor>& inputs = job.request.inputs;
  const bool is_first_entry = job.request.entry.empty();
  if (job.model->stored().rows <= 1 || !is_first_entry || inputs.empty()) return;
  job.rows = inputs[0].shape[0];  // axis 0 exists, because only models whose inputs have a first axis may join rows
  std::string group = job.model->id() + "@" + job.model->version();
  for (const GivenTensor& t : inputs) {
    if (t.shape[0] != job.rows || job.rows < 1)
      return;  // runs alone: the run will refuse it, or there are no rows to
               // join
    for (size_t axis = 1; axis < t.shape.size(); ++axis) group += "," + std::to_string(t.shape[axis]);
    group += ";";
  }
  if (job.rows < job.model->stored().rows) job.group = std::move(group);
}

void run_jobs(std::vector<std::unique_ptr<InferJob>>& jobs, const gart::Session* session) {
  const Clock::time_point now = Clock::now();
  for (auto& job : jobs) job->times.taken = job->times.ready = job->times.ran = now;
  if (jobs.size() > 1) try {
      return run_joined(jobs);
    } catch (const std::exception&) {  // one of the jobs may be at fault, so each runs alone
    }
  for (auto& job : jobs) try {
      run_alone(*job, session);
    } catch (const Refusal& refusal) {
      refuse_job(*job, refusal.status(), refusal.what());
    } catch (const std::bad_alloc&) {
      refuse_job(*job, 503, "not enough memory for this request");
    } catch (const std::exception& error) {
      refuse_job(*job, 500, error.what());
    }
}

}  // namespace gcg::serve
