#include "runtime/generate/entry_runs.h"

#include <algorithm>

#include "runtime/errors.h"

namespace gart::detail {
namespace {

bool is_logits_type(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

/// The number of the output "logits", or of the only output if none has this name.
size_t find_logits(std::span<const TensorInfo> outputs) {
  size_t at = 0;
  while (at < outputs.size() && outputs[at].name != "logits") ++at;
  if (at == outputs.size() && outputs.size() == 1) at = 0;
  if (at == outputs.size()) {
    std::string names;
    for (const TensorInfo& output : outputs) names.append(names.empty() ? "'" : ", '").append(output.name).append("'");
    fail(ErrorCode::unsupported, "the model has no output 'logits', only ", names);
  }
  if (!is_logits_type(outputs[at].dtype) || outputs[at].dims.empty()) {
    fail(ErrorCode::unsupported, outputs[at].text(), " holds no logits: expected f32, f16 or bf16, one row per token");
  }
  return at;
}

}  // namespace

EntryRuns::EntryRuns(const Program& program, const Session& session, std::string_view entry)
    : invocation_(value_or_fail(session.new_invocation(entry))), logits_(find_logits(program.outputs(entry))) {
  const std::span<const TensorInfo> inputs = program.inputs(entry);
  for (size_t i = 0; i < inputs.size(); ++i) {
    feeds_.emplace_back(i, inputs[i]);
    tokens_per_run_ = std::max(tokens_per_run_, feeds_.back().tokens_per_run());
  }
  if (std::ranges::count(feeds_, FeedKind::tokens, &Feed::kind) != 1) {
    fail(ErrorCode::unsupported, "the model needs one input of token ids ('input_ids')");
  }
}

void EntryRuns::run(int64_t past, std::span<const int64_t> tokens) {
  for (Feed& feed : feeds_) {
    if (Result<void> set = invocation_.set_input(feed.index(), feed.value(past, tokens)); !set) {
      throw Failure{set.error()};
    }
  }
  if (Result<void> done = invocation_.run(); !done) throw Failure{done.error()};
  const TensorView logits = invocation_.output(logits_);
  const int64_t elements = logits.shape.elements();
  const int64_t vocabulary = logits.shape[logits.shape.rank() - 1];
  if (vocabulary < 1 || elements < vocabulary) {
    fail(ErrorCode::run_failed, "output 'logits' has the shape ", logits.shape.text(), ", which has no row");
  }
  rows_ = elements / vocabulary;
}

std::span<const float> EntryRuns::logits(int64_t row) {
  const TensorView logits = invocation_.output(logits_);
  const auto vocabulary = size_t(logits.shape[logits.shape.rank() - 1]);
  const size_t from = size_t(row) * vocabulary * size_of(logits.dtype);
  return row_.read(static_cast<const uint8_t*>(logits.data) + from, logits.dtype, vocabulary);
}

std::string batch_symbol(const Program& program, std::string_view entry) {
  for (const TensorInfo& input : program.inputs(entry)) {
    if (input.dims.size() == 2) return input.dims[0];
  }
  return {};
}

}  // namespace gart::detail
