#include "tools/serve/generation.h"

#include <algorithm>
#include <new>

#include "tools/serve/json_elements.h"
#include "tools/serve/log.h"
#include "tools/serve/refusal.h"

namespace gcg::serve {
namespace {

// A step lasts this long, if other requests wait. Each step costs a copy of a cache, so steps are not single tokens.
constexpr std::chrono::milliseconds kTurn{20};

}  // namespace

Generation::Generation(CompletionRequest request, std::shared_ptr<TextModel> text, Answer answer, Generations& all)
    : request_(std::move(request)),
      text_(std::move(text)),
      all_(all),
      reply_(request_, std::move(answer)),
      stops_(request_.stops) {
  times_.arrived = Clock::now();
  times_.taken = times_.ready = times_.ran = times_.written = times_.arrived;
}

void Generation::cancel() {
  is_cancelled_ = true;
  const std::lock_guard lock(mutex_);
  if (generator_) generator_->cancel();
}

bool Generation::step() {
  turn_ = Clock::now();
  if (counts_.prompt == 0) times_.taken = turn_;
  try {
    if (!is_cancelled_ && counts_.prompt == 0) prepare();
    if (!is_cancelled_ && run()) return true;
    if (is_cancelled_) refuse(503, "the client has left");  // only for the log, because the client is gone
  } catch (const Refusal& refusal) {
    refuse(refusal.status(), refusal.what(), refusal.parameter());
  } catch (const std::bad_alloc&) {
    refuse(503, "not enough memory for this request");
  } catch (const std::exception& error) {
    refuse(500, error.what());
  }
  return false;
}

std::vector<int64_t> Generation::prompt_ids() try {
  if (!request_.ids.empty()) return request_.ids;
  tools::Tokenizer& tokenizer = text_->tokenizer;
  if (!request_.is_chat) return tokenizer.encode(request_.prompt, true);
  return tokenizer.encode(tokenizer.as_chat(request_.messages, text_->folder.path), false);
} catch (const std::exception& error) {  // for example, the template refuses the order of the roles
  throw Refusal(400, error.what(), request_.is_chat ? "messages" : "prompt");
}

void Generation::limit_tokens(int64_t prompt) {
  gart::GenerateOptions& options = request_.options;
  if (request_.max_tokens) options.max_tokens = *request_.max_tokens;
  const tools::ModelFolder& folder = text_->folder;
  if (folder.context_length == 0) return;
  if (prompt > folder.context_length)
    serve::refuse(400, "the prompt has ", prompt, " tokens, but the model reads at most ", folder.context_length);
  const int64_t room = folder.context_length - prompt + 1;  // the model does not read the last one
  options.max_tokens = request_.max_tokens ? std::min(options.max_tokens, room) : room;
}

void Generation::prepare() {
  next_ = prompt_ids();
  if (next_.empty()) throw Refusal(400, "the tokenizer makes no token of the prompt", "prompt");
  limit_tokens(static_cast<int64_t>(next_.size()));
  request_.options.stop_ids = text_->end_ids;
  tokens_.emplace(text_->tokenizer, next_);
  gart::Generator made = model_->new_generator();
  const std::lock_guard lock(mutex_);
  generator_.emplace(std::move(made));
  counts_.prompt = static_cast<int64_t>(next_.size());
  times_.ready = Clock::now();
}

/// Returns false to end the step.
bool Generation::add_token(int64_t id) try {
  if (++counts_.generated == 1) reply_.begin();
  const bool is_end = std::ranges::count(request_.options.stop_ids, id) != 0;
  if (!is_end) reply_.add(stops_.add(tokens_->add(id)));
  if (is_end || stops_.has_stopped() || is_cancelled_) return false;
  return Clock::now() - turn_ < kTurn || !all_.lanes_.wants_turn();
} catch (const std::exception&) {
  failure_ = std::current_exception();
  return false;
}

/// Returns true if tokens are left.
bool Generation::run() {
  const auto done = generator_->generate(next_, request_.options, [this](int64_t id) { return add_token(id); });
  if (failure_) std::rethrow_exception(failure_);
  if (is_cancelled_) return false;
  const gart::Generated generated = value_or_refuse(done);
  if (stops_.has_stopped() || generated.reason == gart::StopReason::stop_id) {
    finish("stop");
    return false;
  }
  request_.options.max_tokens -= static_cast<int64_t>(generated.ids.size());
  if (generated.reason == gart::StopReason::max_tokens || request_.options.max_tokens == 0) {
    finish("length");
    return false;
  }
  next_ = {generated.ids.back()};
  return true;
}

void Generation::finish(const std::string& reason) {
  times_.ran = Clock::now();
  if (!stops_.has_stopped()) reply_.add(stops_.add(tokens_->end()));
  if (!stops_.has_stopped()) reply_.add(stops_.held_back());
  count(true);
  reply_.finish(reason, counts_);
}

void Generation::refuse(unsigned status, const std::string& message, const std::string& parameter) {
  count(false);
  reply_.refuse(status, message, parameter);
}

void Generation::count(bool succeeded) {
  times_.written = Clock::now();
  times_.succeeded = succeeded;
  if (!succeeded) times_.ran = times_.written;
  if (model_) model_->statistics.count(times_);
  if (model_) model_->statistics.count_tokens(counts_.prompt, counts_.generated);
  if (!all_.logs_) return;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(times_.written - times_.arrived).count();
  log_event("generation", {{"model", in_quotes(request_.model)},
                           {"user", in_quotes(request_.user)},
                           {"succeeded", succeeded ? "true" : "false"},
                           {"cancelled", is_cancelled_ ? "true" : "false"},
                           {"prompt_tokens", std::to_string(counts_.prompt)},
                           {"generated_tokens", std::to_string(counts_.generated)},
                           {"us", std::to_string(us)}});
}

void Generations::begin(const std::shared_ptr<Generation>& generation) {
  const std::lock_guard lock(mutex_);
  lanes_.admit(waiting_.size());
  if (running_ == most_) {
    waiting_.push_back(generation);
    return;
  }
  ++running_;
  submit(generation);
}

void Generations::submit(const std::shared_ptr<Generation>& generation) {
  lanes_.submit_step([this, generation] { run_step(generation); });
}

void Generations::run_step(const std::shared_ptr<Generation>& generation) {
  if (generation->step()) return submit(generation);
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    --running_;
    return;
  }
  submit(waiting_.front());
  waiting_.pop_front();
}

void Generations::drop(const std::shared_ptr<Generation>& generation) {
  generation->cancel();
  bool was_waiting = false;
  {
    const std::lock_guard lock(mutex_);
    was_waiting = std::erase(waiting_, generation) != 0;
  }
  if (was_waiting) generation->refuse(503, "the client has left");
}

size_t Generations::count() const {
  const std::lock_guard lock(mutex_);
  return running_ + waiting_.size();
}

}  // namespace gcg::serve
