#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <optional>

#include "gart/generate.hpp"
#include "runtime/errors.h"
#include "runtime/generate/entry_runs.h"
#include "runtime/generate/prompt_lookup.h"

namespace gart {

using detail::EntryRuns;
using detail::Sampler;

struct GeneratorState {
  GeneratorState(const Program& program, const Session& session, const GenerateEntries& entries);

  Generated generate(std::span<const int64_t> ids, const GenerateOptions& options,
                     const std::function<bool(int64_t)>& on_token);
  /// The number of tokens in the caches.
  int64_t length() const;
  /// Forgets a cancel() of an earlier generation, which must not end a run of the next one.
  void drop_cancels();

  Session session;
  EntryRuns decode;
  std::optional<EntryRuns> prefill, extend;
  std::string state;    // a state that has a row per token; empty: caches have fixed extents
  size_t axis = 0;      // the axis of the rows
  std::string any;      // the name of any state
  int64_t written = 0;  // number of tokens that this generator has written to caches of fixed extents
  enum class Use : uint8_t { none, runs, cancelled };
  std::atomic<Use> use = Use::none;

 private:
  EntryRuns& read(int64_t& past, std::span<const int64_t> ids, int64_t chunk);
  void read_with(int64_t& past, int64_t id, std::vector<int64_t>& guess);
  void shorten(int64_t& past, int64_t length);
  void check_lookup(const GenerateOptions& options, int64_t past) const;
  void check_cancelled() const;
};

namespace {

bool is_number(std::string_view dim) { return !dim.empty() && std::isdigit(static_cast<unsigned char>(dim[0])) != 0; }

/// The name of the wanted entry point. If `requested` is empty: `usual`, or "" (the first entry point) if `usual` does
/// not exist.
std::string entry_of(const Program& program, const std::string& requested, std::string_view usual) {
  const std::vector<std::string> all = program.entry_points();
  if (requested.empty()) return std::ranges::count(all, usual) != 0 ? std::string(usual) : std::string();
  if (std::ranges::count(all, requested) == 0) {
    fail(ErrorCode::invalid_argument, "the model has no entry point '", requested, "'");
  }
  return requested;
}

/// Finds a state with an extent that counts tokens: a symbolic extent other than the batch.
void find_rows(const Program& program, const std::string& batch, std::string& state, size_t& axis) {
  const bool is_open = !batch.empty() && !is_number(batch);
  for (const TensorInfo& info : program.states()) {
    for (size_t d = 0; d < info.dims.size(); ++d) {
      if (is_number(info.dims[d]) || (is_open && info.dims[d].find(batch) != std::string::npos)) continue;
      state = info.name;
      axis = d;
      return;
    }
  }
}

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

Program with_states(Program program) {
  if (program.states().empty()) {
    fail(ErrorCode::unsupported,
         "the model has no states, so nothing would be remembered between tokens: compile it with --state auto");
  }
  return program;
}

}  // namespace

GeneratorState::GeneratorState(const Program& program, const Session& s, const GenerateEntries& entries)
    : session(s), decode(with_states(program), s, entry_of(program, entries.decode, "decode")) {
  const std::string first = entry_of(program, entries.prefill, "prefill");
  if (!first.empty()) prefill.emplace(program, s, first);
  const std::string further = entry_of(program, entries.extend, "extend");
  if (!further.empty()) extend.emplace(program, s, further);
  find_rows(program, detail::batch_symbol(program, entry_of(program, entries.decode, "decode")), state, axis);
  any = state.empty() ? program.states()[0].name : state;
}

int64_t GeneratorState::length() const {
  const Result<Tensor> value = session.state(any);
  if (!value && value.error().code != ErrorCode::invalid_argument) throw Failure{value.error()};
  if (!value) return 0;  // the state has no value yet
  if (!state.empty()) return value->shape()[axis];
  if (written == 0) {
    fail(ErrorCode::invalid_argument,
         "the session has values, but no extent of its states tells how many tokens they hold: reset it");
  }
  return written;
}

void GeneratorState::drop_cancels() {
  decode.drop_cancel();
  if (prefill) prefill->drop_cancel();
  if (extend) extend->drop_cancel();
}

void GeneratorState::check_cancelled() const {
  if (use == Use::cancelled) fail(ErrorCode::cancelled, "the generation was cancelled");
}

/// Reads all ids in runs that the entry points allow, and adds their number to `past`. Returns the last run's entry.
EntryRuns& GeneratorState::read(int64_t& past, std::span<const int64_t> ids, int64_t chunk) {
  EntryRuns* runs = &decode;
  while (!ids.empty()) {
    check_cancelled();
    auto count = chunk > 0 ? std::min(size_t(chunk), ids.size()) : ids.size();
    runs = extend && count > 1 ? &*extend : &decode;
    const int64_t at_once = prefill && past == 0 ? prefill->tokens_per_run() : -1;
    if (at_once == 0 || (at_once > 0 && size_t(at_once) <= ids.size())) runs = &*prefill;
    if (runs->tokens_per_run() > 0) count = size_t(runs->tokens_per_run());
    if (count > ids.size()) {
      fail(ErrorCode::invalid_argument, "the model reads ", count, " tokens in each run, but ", ids.size(),
           " are left");
    }
    runs->run(past, ids.first(count));
    past += int64_t(count);
    written = past;
    ids = ids.subspan(count);
  }
  return *runs;
}

/// Reads token `id` and the guessed tokens after it. If the caches have no room for the guess, reads only `id`.
void GeneratorState::read_with(int64_t& past, int64_t id, std::vector<int64_t>& guess) {
  check_cancelled();
  std::vector<int64_t> ids = {id};
  ids.insert(ids.end(), guess.begin(), guess.end());
  if (!guess.empty()) {
    try {
      decode.run(past, ids);
      past += int64_t(ids.size());
      if (decode.rows() == int64_t(ids.size())) return;
      fail(ErrorCode::unsupported, "lookup needs the logits of all tokens, but the model gives ", decode.rows(), " of ",
           ids.size());
    } catch (const Failure& failure) {
      if (failure.error.code != ErrorCode::run_failed) throw;
      guess.clear();
    }
  }
  read(past, {&id, 1}, 0);
}

/// Removes all tokens after the first `length` from the caches.
void GeneratorState::shorten(int64_t& past, int64_t length) {
  if (past == length) return;
  if (const Result<void> done = session.shorten(length); !done) throw Failure{done.error()};
  past = length;
}

void GeneratorState::check_lookup(const GenerateOptions& options, int64_t past) const {
  if (options.lookup < 0) fail(ErrorCode::invalid_argument, "lookup must be 0 or more");
  if (options.lookup == 0) return;
  if (decode.tokens_per_run() != 0)
    fail(ErrorCode::unsupported, "lookup needs a model that reads any number of tokens in a run, but this one reads ",
         decode.tokens_per_run());
  if (const Result<void> can = session.shorten(past); !can)
    fail(ErrorCode::unsupported, "lookup needs states that only grow by appended rows: ", can.error().message);
}

Generated GeneratorState::generate(std::span<const int64_t> ids, const GenerateOptions& options,
                                   const std::function<bool(int64_t)>& on_token) {
  const auto begin = std::chrono::steady_clock::now();
  if (ids.empty()) fail(ErrorCode::invalid_argument, "generate needs at least one token id");
  Sampler sampler(options, ids);
  detail::PromptLookup lookup(options.lookup, ids);
  Generated out;
  int64_t past = length();
  check_lookup(options, past);
  std::vector<int64_t> guess;                    // guessed tokens: the last run read them after its first token
  int64_t counted = past + int64_t(ids.size());  // number of tokens before the next one to choose
  try {
    EntryRuns* runs = &read(past, ids, options.chunk);
    for (size_t row = 0;; ++counted) {
      const int64_t id = sampler.next(runs->logits(runs->rows() - 1 - int64_t(guess.size() - row)), uint64_t(counted));
      out.ids.push_back(id);
      out.total_ms = ms_since(begin);
      if (out.ids.size() == 1) out.first_token_ms = out.total_ms;
      const bool stays = !on_token || on_token(id);
      out.reason = sampler.stops(id) ? StopReason::stop_id : stays ? StopReason::max_tokens : StopReason::callback;
      const int64_t left = options.max_tokens - int64_t(out.ids.size());
      if (out.reason != StopReason::max_tokens || left == 0) break;
      lookup.add(id);
      if (row < guess.size() && guess[row] == id) {  // the model has already read this token
        ++row;
        continue;
      }
      shorten(past, counted);
      lookup.learn(guess.size(), row);
      guess = lookup.guess(left - 1);
      read_with(past, id, guess);
      runs = &decode;
      ++out.runs;
      row = 0;
    }
    shorten(past, counted);
    return out;
  } catch (const Failure& failure) {
    if (past > counted) shorten(past, counted);
    fail(failure.error.code, "token ", out.ids.size(), " of the generation, after ", past,
         " tokens: ", failure.error.message);
  }
}

namespace {

struct Release {
  std::atomic<GeneratorState::Use>& use;
  ~Release() { use = GeneratorState::Use::none; }
};

}  // namespace

Generator::Generator(std::unique_ptr<GeneratorState> state) : state_(std::move(state)) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

Result<Generator> Generator::create(const Program& program, const Session& session, const GenerateEntries& entries) {
  return guarded([&] { return Generator(std::make_unique<GeneratorState>(program, session, entries)); });
}

Result<Generated> Generator::generate(std::span<const int64_t> ids, const GenerateOptions& options,
                                      const std::function<bool(int64_t)>& on_token) {
  return guarded([&] {
    GeneratorState::Use expected = GeneratorState::Use::none;
    if (!state_->use.compare_exchange_strong(expected, GeneratorState::Use::runs)) {
      fail(ErrorCode::invalid_argument, "the generator is in use: its generations come one after the other");
    }
    const Release release{state_->use};
    state_->drop_cancels();
    return state_->generate(ids, options, on_token);
  });
}

void Generator::cancel() {
  GeneratorState::Use expected = GeneratorState::Use::runs;
  if (!state_->use.compare_exchange_strong(expected, GeneratorState::Use::cancelled)) return;
  state_->decode.cancel();
  if (state_->prefill) state_->prefill->cancel();
  if (state_->extend) state_->extend->cancel();
}

Result<int64_t> Generator::length() const {
  return guarded([&] { return state_->length(); });
}

}  // namespace gart
