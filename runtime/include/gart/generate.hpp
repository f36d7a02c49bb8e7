// Generates tokens with a language model whose caches are states of a session. libgart_generate.so, over libgart.
//
//   auto model = gart::load("model.gart");              // gcc-graph compile model.onnx --state auto
//   auto generator = gart::Generator::create(*model, *model->new_session());
//   auto done = generator->generate(prompt, {.max_tokens = 20}, [](int64_t id) { return print(id); });
//   if (!done) return say(done.error().message);
//   use(done->ids);
//
// Every call reports failure through Result (result.h); none throws.
//
// The model's inputs are supplied by their names: token ids, masks, positions and lengths (runtime/generate/feed.cpp
// has the table). Its output "logits" f32, f16 or bf16 [1, tokens, vocabulary] gives the next token. One sequence at a
// time.
//
// Threads: a Generator is for one thread at a time, except cancel().
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gart/gart.hpp"

namespace gart {

/// How the next token is chosen from the logits, in this order: penalties, temperature, top_k, top_p, min_p. The same
/// logits, options and position give the same token on every machine.
struct GenerateOptions {
  int64_t max_tokens = 128;       ///< tokens to generate, at least 1
  float temperature = 0;          ///< logits are divided by it; 0: the most likely token, the first one of equals
  int64_t top_k = 0;              ///< only the k most likely tokens; 0: all
  float top_p = 1;                ///< only the most likely tokens that have this probability together; in (0, 1]
  float min_p = 0;                ///< only tokens with this fraction of the highest probability; in [0, 1]
  float repetition_penalty = 1;   ///< of tokens in the prompt or generated: divides positive logits, multiplies others
  float presence_penalty = 0;     ///< subtracted from the logits of tokens that were generated
  uint64_t seed = 0;              ///< of the random numbers. The number for a token depends on it and on the position
  std::vector<int64_t> stop_ids;  ///< the generation ends with a token of these, which it includes
  int64_t chunk = 0;              ///< most tokens of a prompt in one run; 0: all at once
  /// Most tokens that are guessed after each new one and read in the same run: those that followed the same tokens
  /// earlier in `ids` or in the new tokens. The tokens are the same as without, except where two logits differ by
  /// rounding alone. Text that repeats itself takes fewer runs. Needs states that only grow by appended rows, and
  /// logits of all tokens. 0: none.
  int64_t lookup = 0;
};

enum class StopReason : int32_t { max_tokens, stop_id, callback };

/// The result of a generation.
struct Generated {
  std::vector<int64_t> ids;  ///< the new tokens
  StopReason reason = StopReason::max_tokens;
  double first_token_ms = 0;  ///< from the call to the first token
  double total_ms = 0;        ///< from the call to the last token
  int64_t runs = 0;           ///< of the model, after those that read the prompt
};

/// The entry points that a generator runs. "": an entry point of that name if the file has it; otherwise the first one,
/// which also does the work of missing ones.
struct GenerateEntries {
  std::string decode = {};   ///< for one token, or any number of them
  std::string prefill = {};  ///< for the first tokens of an empty session
  std::string extend = {};   ///< for several tokens, of which it gives the last one's logits
};

struct GeneratorState;

/// Generates tokens in a session. Keeps the program and the session alive. If all caches have fixed extents, only the
/// generator knows how many tokens they hold: it begins with an empty session.
class GART_API Generator {
 public:
  /// Fails if the program has no states, an input that no rule can supply, or no logits.
  static Result<Generator> create(const Program& program, const Session& session, const GenerateEntries& entries = {});
  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;
  ~Generator();

  /// Appends `ids` (at least one) to the session, then generates. `on_token` gets each new token as soon as it is
  /// chosen; the generation ends if it returns false. Afterwards the session has read `ids` and all new tokens but the
  /// last, which is therefore the first of the next call's ids. A run that fails or is cancelled leaves the session
  /// after the run before it.
  Result<Generated> generate(std::span<const int64_t> ids, const GenerateOptions& options = {},
                             const std::function<bool(int64_t)>& on_token = {});

  /// May be called by any thread, while the generator lives. The current generate() fails with ErrorCode::cancelled.
  /// Without one it does nothing.
  void cancel();

  /// Tokens that the session has read.
  Result<int64_t> length() const;

  explicit Generator(std::unique_ptr<GeneratorState> state);

 private:
  std::unique_ptr<GeneratorState> state_;
};

}  // namespace gart
